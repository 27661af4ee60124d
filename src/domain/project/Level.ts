/**
 * Levels. A curve derives the level from xp. Levels are never stored, so a new curve applies to all
 * users at once.
 *
 * Invariants: level 1 begins at 0 xp. The starts of levels are whole numbers, exact up to the
 * largest balance, and strictly increasing. No level begins above the largest balance, so every
 * curve has a top level.
 *
 * Cost: the start of a level is O(1). The level of an xp is O(1) for `quadratic` and `linear`, else
 * O(log n).
 */
import { limits } from "../../Limits.ts"
import { countUpTo } from "../values/countUpTo.ts"

export const levelCurveKinds = ["quadratic", "linear", "geometric", "table"] as const
export type LevelCurveKind = (typeof levelCurveKinds)[number]

export type LevelCurve =
  /** Level n begins at base·n·(n−1) xp, so with base 50 at 0, 100, 300, 600, 1000… */
  | { readonly kind: "quadratic"; readonly base: number }
  /** Every level takes `xpPerLevel` xp. */
  | { readonly kind: "linear"; readonly xpPerLevel: number }
  /**
   * Level 1 takes `base` xp, and each further level `factor` times as much as the level before it,
   * rounded to whole xp.
   */
  | { readonly kind: "geometric"; readonly base: number; readonly factor: number }
  /**
   * Level n begins at `thresholds[n − 1]`. The first threshold is 0, and the thresholds strictly
   * increase.
   */
  | { readonly kind: "table"; readonly thresholds: ReadonlyArray<number> }

export const defaultLevelCurve: LevelCurve = { kind: "quadratic", base: 50 }

/** Levels are safe integers. Only a curve of 1 xp per level reaches this limit. */
const levelMax = Number.MAX_SAFE_INTEGER

/** The xp at which `level` (≥ 1) begins; infinity above the top level of the curve. */
export const levelStart = (curve: LevelCurve, level: number): number => {
  const start = startOf(curve, level)
  // A product of whole numbers is either exact or at least 2^53.
  return level <= levelMax && start <= limits.balanceMax ? start : Number.POSITIVE_INFINITY
}

const startOf = (curve: LevelCurve, level: number): number => {
  switch (curve.kind) {
    case "quadratic":
      return curve.base * (level * (level - 1))
    case "linear":
      return curve.xpPerLevel * (level - 1)
    default:
      return thresholdsOf(curve)[level - 1] ?? Number.POSITIVE_INFINITY
  }
}

/** The level (≥ 1) of a user with `xp` (0 to the largest balance). */
export const levelAt = (curve: LevelCurve, xp: number): number => {
  switch (curve.kind) {
    case "quadratic": {
      let level = Math.floor((1 + Math.sqrt(1 + (4 * xp) / curve.base)) / 2)
      // The square root of a large number may be wrong by less than a level. Comparing starts
      // corrects this.
      while (startOf(curve, level + 1) <= xp) level++
      while (level > 1 && startOf(curve, level) > xp) level--
      return level
    }
    case "linear":
      // The quotient of large numbers is rounded, the remainder is exact.
      return Math.min((xp - (xp % curve.xpPerLevel)) / curve.xpPerLevel + 1, levelMax)
    default:
      return countUpTo(thresholdsOf(curve), xp)
  }
}

type ThresholdCurve = Extract<LevelCurve, { readonly kind: "geometric" | "table" }>

// The thresholds of geometric curves, cached with the curve.
const geometricThresholds = new WeakMap<LevelCurve, ReadonlyArray<number>>()

const thresholdsOf = (curve: ThresholdCurve): ReadonlyArray<number> => {
  if (curve.kind === "table") return curve.thresholds
  let thresholds = geometricThresholds.get(curve)
  if (thresholds === undefined) {
    thresholds = sumsOf(curve)
    geometricThresholds.set(curve, thresholds)
  }
  return thresholds
}

/**
 * The starts of the levels. Only products and sums, whose rounding IEEE 754 defines: all machines
 * get the same results.
 */
const sumsOf = ({
  base,
  factor,
}: Extract<LevelCurve, { readonly kind: "geometric" }>): ReadonlyArray<number> => {
  const sums: Array<number> = []
  let step = base
  for (let start = 0; start <= limits.balanceMax; start += Math.round(step), step *= factor) {
    sums.push(start)
  }
  return sums
}

export interface LevelProgress {
  readonly xpAtStart: number
  /** Null on the top level of the curve. */
  readonly xpAtNext: number | null
  readonly xpInto: number
  readonly xpToNext: number | null
  /** The completed share of the level, 0 to 1; 1 on the top level. */
  readonly ratio: number
}

export const levelProgress = (curve: LevelCurve, xp: number): LevelProgress => {
  const level = levelAt(curve, xp)
  const xpAtStart = levelStart(curve, level)
  const next = levelStart(curve, level + 1)
  const xpInto = xp - xpAtStart
  if (next === Number.POSITIVE_INFINITY) {
    return { xpAtStart, xpAtNext: null, xpInto, xpToNext: null, ratio: 1 }
  }
  return {
    xpAtStart,
    xpAtNext: next,
    xpInto,
    xpToNext: next - xp,
    ratio: xpInto / (next - xpAtStart),
  }
}
