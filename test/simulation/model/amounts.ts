/** Sums of numbers in metadata, as whole numbers of ten-thousandths. */
import type { Metadata } from "../../../src/domain/values/Metadata.ts"

/** The amount that an event adds: 1, or the number at the path. */
export const amountFor = (sumPath: string | undefined, metadata: Metadata | undefined): number => {
  if (sumPath === undefined) return 1
  const value = metadata?.[sumPath]
  if (typeof value !== "number" || value > 1_000_000_000) return 0
  return Math.max(0, Math.round(value * 10_000)) / 10_000
}

export const sumOf = (amounts: ReadonlyArray<number>): number =>
  amounts.reduce((sum, amount) => sum + Math.round(amount * 10_000), 0) / 10_000
