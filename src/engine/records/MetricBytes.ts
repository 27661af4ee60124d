/**
 * The bytes of a metric in a user's state (`UserCodec.ts`): the flags and the day; what was
 * forgotten; then the ranges of days, or which values there are, the values, and their times.
 */
import { type MetricState, slotCount } from "../../domain/user/MetricState.ts"
import { type Reader, writeByte, writeDays, writeNumber } from "./StateBytes.ts"

const timesFlag = 1
const daysFlag = 2
const forgottenDaysFlag = 4
const recalculatingFlag = 8
const backfilledFlag = 16

export const writeMetric = ({
  backfilled,
  day,
  days,
  forgotten,
  recalculating,
  times,
  values,
}: MetricState): void => {
  writeByte(
    (times === undefined ? 0 : timesFlag) |
      (days === undefined ? 0 : daysFlag) |
      (forgotten === undefined ? 0 : forgottenDaysFlag) |
      (recalculating === undefined ? 0 : recalculatingFlag) |
      (backfilled === undefined ? 0 : backfilledFlag),
  )
  writeNumber(day)
  if (backfilled !== undefined) writeNumber(backfilled)
  if (forgotten !== undefined) {
    writeNumber(forgotten.days)
    writeNumber(forgotten.through)
  }
  if (days !== undefined) {
    writeDays(days)
    return
  }
  let there = 0
  for (const [slot, value] of values.entries()) if (value !== null) there |= 1 << slot
  writeByte(there)
  for (const value of values) if (value !== null) writeNumber(value)
  for (const time of times ?? []) if (time !== null) writeNumber(time)
}

export const readMetric = (reader: Reader): MetricState => {
  const flags = reader.flags(
    timesFlag | daysFlag | forgottenDaysFlag | recalculatingFlag | backfilledFlag,
  )
  const day = reader.number()
  const backfilled = (flags & backfilledFlag) === 0 ? undefined : reader.number()
  const forgotten =
    (flags & forgottenDaysFlag) === 0
      ? undefined
      : { days: reader.number(), through: reader.number() }
  const more = {
    ...((flags & recalculatingFlag) !== 0 && ({ recalculating: true } as const)),
    ...(backfilled !== undefined && { backfilled }),
  }
  if ((flags & daysFlag) !== 0) {
    const days = reader.days()
    return { day, values: [], days, ...(forgotten !== undefined && { forgotten }), ...more }
  }
  const there = reader.flags((1 << slotCount) - 1)
  const values = readSlots(reader, there)
  // Usually there is nothing more, and a literal is faster than a spread.
  if (flags === 0) return { day, values }
  const times = (flags & timesFlag) === 0 ? undefined : readSlots(reader, there)
  return { day, values, ...(times !== undefined && { times }), ...more }
}

/** The values of all slots, null where `there` has no bit. */
const readSlots = (reader: Reader, there: number): ReadonlyArray<number | null> => {
  const values: Array<number | null> = []
  for (let slot = 0; slot < slotCount; slot++) {
    values.push((there & (1 << slot)) === 0 ? null : reader.number())
  }
  return values
}
