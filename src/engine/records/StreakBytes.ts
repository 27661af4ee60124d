/** The bytes of a streak within those of a user's state (`UserCodec.ts`). */
import type { StreakState } from "../../domain/user/Streak.ts"
import { type Reader, writeByte, writeDays, writeNumber } from "./StateBytes.ts"

const brokenFlag = 1
const forgottenFlag = 2
const bestForgottenFlag = 4

export const writeStreak = (streak: StreakState): void => {
  const { best, bestForgotten, broken, days, first, forgotten, freezes, length } = streak
  writeByte(
    (broken ? brokenFlag : 0) |
      (forgotten === undefined ? 0 : forgottenFlag) |
      (bestForgotten === undefined ? 0 : bestForgottenFlag),
  )
  writeNumber(first)
  writeNumber(length)
  writeNumber(freezes)
  writeNumber(best)
  if (forgotten !== undefined) {
    writeNumber(forgotten.first)
    writeNumber(forgotten.last)
    writeNumber(forgotten.days)
    writeNumber(forgotten.freezes)
  }
  if (bestForgotten !== undefined) writeNumber(bestForgotten)
  writeDays(days)
}

export const readStreak = (reader: Reader): StreakState => {
  const flags = reader.flags(brokenFlag | forgottenFlag | bestForgottenFlag)
  const first = reader.number()
  const length = reader.number()
  const freezes = reader.number()
  const best = reader.number()
  const forgotten =
    (flags & forgottenFlag) === 0
      ? undefined
      : {
          first: reader.number(),
          last: reader.number(),
          days: reader.number(),
          freezes: reader.number(),
        }
  const bestForgotten = (flags & bestForgottenFlag) === 0 ? undefined : reader.number()
  const days = reader.days()
  const broken = (flags & brokenFlag) !== 0
  return {
    days,
    first,
    length,
    freezes,
    best,
    ...(forgotten !== undefined && { forgotten }),
    ...(bestForgotten !== undefined && { bestForgotten }),
    broken,
  }
}
