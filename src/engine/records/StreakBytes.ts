/** The bytes of streaks within those of a user's state (`UserCodec.ts`). */
import type { StreakCounts, StreakState } from "../../domain/user/Streak.ts"
import type { Names } from "./Names.ts"
import { bad, type Reader, writeByte, writeDays, writeName, writeNumber } from "./StateBytes.ts"

const brokenFlag = 1
const forgottenFlag = 2
const bestForgottenFlag = 4
const paidFlag = 8
const grantsFlag = 16
const waitingFlag = 32
const waitedBeforeFlag = 64
const warnedFlag = 128

export const writeStreak = (streak: StreakState): void => {
  const { best, bestForgotten, broken, days, first, forgotten, freezes, length, paid } = streak
  const { grants, waitedBefore, waiting, warned } = streak
  writeByte(
    (broken ? brokenFlag : 0) |
      (forgotten === undefined ? 0 : forgottenFlag) |
      (bestForgotten === undefined ? 0 : bestForgottenFlag) |
      (paid === undefined ? 0 : paidFlag) |
      (grants === undefined ? 0 : grantsFlag) |
      (waiting === undefined ? 0 : waitingFlag) |
      (waitedBefore === undefined ? 0 : waitedBeforeFlag) |
      (warned === undefined ? 0 : warnedFlag),
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
  if (paid !== undefined) {
    writeNumber(paid.length)
    for (const target of paid) writeNumber(target)
  }
  if (grants !== undefined) {
    writeNumber(grants.length)
    for (const [period, amount] of grants) {
      writeNumber(period)
      writeNumber(amount)
    }
  }
  if (waiting !== undefined) writeNumber(waiting)
  if (waitedBefore !== undefined) writeNumber(waitedBefore)
  if (warned !== undefined) writeNumber(warned)
  writeDays(days)
}

const allFlags =
  brokenFlag |
  forgottenFlag |
  bestForgottenFlag |
  paidFlag |
  grantsFlag |
  waitingFlag |
  waitedBeforeFlag |
  warnedFlag

export const readStreak = (reader: Reader): StreakState => {
  const flags = reader.flags(allFlags)
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
  const paid =
    (flags & paidFlag) === 0
      ? undefined
      : Array.from({ length: reader.count() }, () => reader.number())
  const grants =
    (flags & grantsFlag) === 0
      ? undefined
      : Array.from({ length: reader.count() }, () => [reader.number(), reader.number()] as const)
  const waiting = (flags & waitingFlag) === 0 ? undefined : reader.number()
  const waitedBefore = (flags & waitedBeforeFlag) === 0 ? undefined : reader.number()
  const warned = (flags & warnedFlag) === 0 ? undefined : reader.number()
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
    ...(grants !== undefined && { grants }),
    ...(waiting !== undefined && { waiting }),
    ...(waitedBefore !== undefined && { waitedBefore }),
    broken,
    ...(paid !== undefined && { paid }),
    ...(warned !== undefined && { warned }),
  }
}

export const writeStreakCounts = (counts: StreakCounts, names: Names): void => {
  writeNumber(counts.length)
  for (const { counts: byAction, period } of counts) {
    writeNumber(period)
    const actions = Object.keys(byAction)
    writeNumber(actions.length)
    for (const action of actions) {
      writeName(action, names)
      writeNumber(byAction[action]!)
    }
  }
}

export const readStreakCounts = (reader: Reader, names: Names): StreakCounts => {
  const periods = reader.count()
  if (periods === 0) throw bad("a streak has no counts")
  return Array.from({ length: periods }, () => {
    const period = reader.number()
    const entries = Array.from(
      { length: reader.count() },
      () => [reader.name(names), reader.number()] as const,
    )
    return { period, counts: Object.fromEntries(entries) }
  })
}
