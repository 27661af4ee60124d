/**
 * The amount that an event adds to a quest step or a badge: 1, or where these sum, a number of its metadata. A number that is not
 * above 0, or is above `sumAmountMax`, adds nothing, as do other values: only an undo takes away, and one faulty value
 * completes no quest.
 *
 * Sums are exact: each number and each sum is rounded to `sumDecimals` decimals. Up to `sumMax` the nearest double of
 * such a decimal is further from the next one than the error of an addition, so numbers can be added and taken
 * away in any order.
 */
import { limits } from "../../Limits.ts"
import type { Metadata } from "../values/Metadata.ts"
import { valueAt } from "./Condition.ts"

/** The amount of an event with this metadata; 0: it does not count. */
export const amountOf = (
  { sumPath }: { readonly sumPath?: string },
  metadata: Metadata | undefined,
): number => {
  if (sumPath === undefined) return 1
  const value = valueAt(metadata, sumPath)
  const isAmount = typeof value === "number" && value > 0 && value <= limits.sumAmountMax
  return isAmount ? rounded(value) : 0
}

/** The sum or count with `amount` more: a sum stays at its maximum. */
export const plusAmount = (
  { sumPath }: { readonly sumPath?: string },
  before: number,
  amount: number,
): number =>
  sumPath === undefined ? before + amount : Math.min(limits.sumMax, rounded(before + amount))

/** The sum or count without `amount`, at least 0. */
export const minusAmount = (before: number, amount: number): number =>
  Math.max(0, rounded(before - amount))

const scale = 10 ** limits.sumDecimals

const rounded = (value: number): number =>
  Number.isInteger(value) ? value : Math.round(value * scale) / scale
