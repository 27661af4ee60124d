/** Levels, by counting up from the first. */
import type { CurrencyLevels } from "../../../src/domain/project/Currency.ts"
import type { LevelCurve } from "../../../src/domain/project/Level.ts"
import { holdingOf, type When } from "./holdings.ts"
import type { Log } from "./log.ts"

/** The xp at which `level` begins; `Infinity`: the curve does not have the level. */
export const beginsAt = (curve: LevelCurve, level: number): number => {
  switch (curve.kind) {
    case "quadratic":
      return curve.base * level * (level - 1)
    case "linear":
      return curve.xpPerLevel * (level - 1)
    case "geometric": {
      // Each level takes `factor` times as much as the one before it, and whole xp.
      let start = 0
      for (let below = 1; below < level; below++)
        start += Math.max(1, Math.round(curve.base * curve.factor ** (below - 1)))
      return start
    }
    case "table":
      return curve.thresholds[level - 1] ?? Number.POSITIVE_INFINITY
  }
}

export const levelOf = (curve: LevelCurve, xp: number): number => {
  let level = 1
  while (beginsAt(curve, level + 1) <= xp) level++
  return level
}

/** The amount that the levels of a currency compare. */
export const levelAmountOf = (
  log: Log,
  key: string,
  { of }: Pick<CurrencyLevels, "of">,
  when: When,
): number => {
  const { balance, expired, spent } = holdingOf(log, key, when)
  return of === "balance" ? balance : balance + spent + expired
}

/** The level of a currency that an amount reaches; 0: none. */
export const levelIn = ({ curve, table }: CurrencyLevels, amount: number): number =>
  table === undefined ? levelOf(curve, amount) : table.filter(({ from }) => from <= amount).length
