/** The local day of the event of a record, and when it gave what it gave. `user/ActiveDays.ts` has the days of a user. */
import { occurredAtOf } from "./MetricRecount.ts"
import { decidedAt, type JournalRecord } from "./Record.ts"

const dayMs = 86_400_000

/** The member of the fact of an event that names its day, unless it is that of UTC. */
export const dayMember = (occurredAt: number, day: number): { readonly day: number } | undefined =>
  day === Math.floor(occurredAt / dayMs) ? undefined : { day }

/** The day of the event of a record; `undefined`: the record is of no event. */
export const eventDayOf = (record: JournalRecord): number | undefined => {
  if (record.cause.kind !== "event") return undefined
  // A kept refusal has no facts. The sum of an event comes last, but for levels of currencies.
  const { facts } = record
  let place = facts.length - 1
  while (place >= 0 && facts[place]!.kind !== "event.tracked") place--
  const sum = facts[place]
  if (sum?.kind !== "event.tracked") return undefined
  return sum.day ?? Math.floor(occurredAtOf(record) / dayMs)
}

/**
 * When a record begins and completes quests and gives badges: imported history does when its event
 * occurred, all others when they are decided.
 */
export const gaveAt = (record: JournalRecord): number =>
  record.cause.kind === "event" && record.cause.imported === true
    ? occurredAtOf(record)
    : decidedAt(record)
