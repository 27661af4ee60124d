/** The bytes of streaks within those of a user's state (`UserCodec.ts`). */
import type { StreakCounts, StreakState } from "../../domain/user/Streak.ts"
import type { Names } from "./Names.ts"
import { bad, type Reader, writeDays, writeName, writeNumber } from "./StateBytes.ts"

const flags = {
  broken: 1,
  forgotten: 2,
  bestForgotten: 4,
  paid: 8,
  grants: 16,
  waiting: 32,
  waitedBefore: 64,
  warned: 128,
  owed: 256,
  pauses: 512,
  seen: 1_024,
  repairs: 2_048,
  fresh: 4_096,
} as const
type Flag = keyof typeof flags

const allFlags = Object.values(flags).reduce((all, flag) => all | flag, 0)

export const writeStreak = (streak: StreakState): void => {
  const { best, bestForgotten, broken, days, first, forgotten, freezes, length } = streak
  const { fresh, grants, owed, paid, pauses, repairs, seen, waitedBefore, waiting, warned } = streak
  let found = broken ? flags.broken : 0
  for (const name in flags) {
    if (name !== "broken" && streak[name as Flag] !== undefined) found |= flags[name as Flag]
  }
  writeNumber(found)
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
  if (paid !== undefined) writeNumbers(paid)
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
  if (owed !== undefined) writeNumbers(owed)
  if (pauses !== undefined) writeDays(pauses)
  if (seen !== undefined) writeNumbers(seen)
  if (repairs !== undefined) writeDays(repairs)
  if (fresh !== undefined) writeNumber(fresh)
  writeDays(days)
}

const writeNumbers = (numbers: ReadonlyArray<number>): void => {
  writeNumber(numbers.length)
  for (const one of numbers) writeNumber(one)
}

const readNumbers = (reader: Reader): ReadonlyArray<number> =>
  Array.from({ length: reader.count() }, () => reader.number())

export const readStreak = (reader: Reader): StreakState => {
  const found = reader.number()
  if (!Number.isInteger(found) || found < 0 || (found & ~allFlags) !== 0 || found > allFlags)
    throw bad("a flag is unknown")
  const has = (flag: Flag): boolean => (found & flags[flag]) !== 0
  const number = (flag: Flag) => (has(flag) ? { [flag]: reader.number() } : undefined)
  const numbers = (flag: Flag) => (has(flag) ? { [flag]: readNumbers(reader) } : undefined)
  const first = reader.number()
  const length = reader.number()
  const freezes = reader.number()
  const best = reader.number()
  const forgotten = has("forgotten")
    ? {
        forgotten: {
          first: reader.number(),
          last: reader.number(),
          days: reader.number(),
          freezes: reader.number(),
        },
      }
    : undefined
  const bestForgotten = number("bestForgotten")
  const paid = numbers("paid")
  const grants = has("grants")
    ? {
        grants: Array.from(
          { length: reader.count() },
          () => [reader.number(), reader.number()] as const,
        ),
      }
    : undefined
  const further = {
    ...number("waiting"),
    ...number("waitedBefore"),
    ...number("warned"),
    ...numbers("owed"),
    ...(has("pauses") && { pauses: reader.days() }),
    ...numbers("seen"),
    ...(has("repairs") && { repairs: reader.days() }),
    ...number("fresh"),
  }
  const days = reader.days()
  return {
    days,
    first,
    length,
    freezes,
    best,
    broken: has("broken"),
    ...forgotten,
    ...bestForgotten,
    ...paid,
    ...grants,
    ...further,
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
