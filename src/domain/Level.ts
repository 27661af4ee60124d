/** Levels are always derived from xp by a curve, never stored, so a new curve counts for everybody at once. */

/** `quadratic`: level n begins at base·n·(n−1) xp, so with base 50 at 0, 100, 300, 600, 1000… */
export type LevelCurve = { readonly kind: "quadratic"; readonly base: number }

export const defaultLevelCurve: LevelCurve = { kind: "quadratic", base: 50 }

/** The xp at which `level` (≥ 1) begins. */
export const levelStart = (curve: LevelCurve, level: number): number =>
  curve.base * level * (level - 1)

/** The level (≥ 1) of a user with `xp` (≥ 0). */
export const levelAt = (curve: LevelCurve, xp: number): number => {
  let level = Math.floor((1 + Math.sqrt(1 + (4 * xp) / curve.base)) / 2)
  // Square roots of large numbers round: settle on the level that really holds xp.
  while (levelStart(curve, level + 1) <= xp) level++
  while (level > 1 && levelStart(curve, level) > xp) level--
  return level
}

export interface LevelProgress {
  readonly xpAtStart: number
  /** Null on a curve's top level. */
  readonly xpAtNext: number | null
  readonly xpInto: number
  readonly xpToNext: number | null
  /** The share of the level that is done, 0 to 1. */
  readonly ratio: number
}

export const levelProgress = (curve: LevelCurve, xp: number): LevelProgress => {
  const level = levelAt(curve, xp)
  const xpAtStart = levelStart(curve, level)
  const xpAtNext = levelStart(curve, level + 1)
  const xpInto = xp - xpAtStart
  return {
    xpAtStart,
    xpAtNext,
    xpInto,
    xpToNext: xpAtNext - xp,
    ratio: xpInto / (xpAtNext - xpAtStart),
  }
}
