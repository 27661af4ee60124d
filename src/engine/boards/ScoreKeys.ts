/** The keys by which boards order scores: the highest key is first, and 0 is on no board. */
import type { BoardOrder } from "../../domain/project/BoardDefinition.ts"

/** The key by which a board orders a score, and the score of a key. */
export interface ScoreKeys {
  readonly keyOf: (score: number) => number
  readonly scoreOf: (key: number) => number
}

export const asItIs = (score: number): number => score

/** Keys of a board with the lowest score first: the higher the score, the lower its key. */
const reversed = (score: number): number => (score > 0 ? 2 ** 53 - score : 0)

/** Far above each value of a maximum, a minimum or a latest value, which may be 0 or negative. */
const shift = 2 ** 52
const shiftedUp = (score: number): number => score + shift
const shiftedDown = (key: number): number => key - shift
/** The lowest value first. It is its own reverse. */
const turned = (score: number): number => shift - score

/** `hasNegatives`: scores are 0 or negative too. */
export const keysOf = (order: BoardOrder, hasNegatives: boolean): ScoreKeys => {
  if (!hasNegatives) {
    const key = order === "desc" ? asItIs : reversed
    return { keyOf: key, scoreOf: key }
  }
  return order === "desc"
    ? { keyOf: shiftedUp, scoreOf: shiftedDown }
    : { keyOf: turned, scoreOf: turned }
}
