/** How many reminders were sent on each day, and how many users came back. */
import { Effect } from "effect"
import { comebackMs, type ReminderKind, reminderKinds } from "../../domain/user/Comeback.ts"
import { dateOf, zoneOf } from "../../domain/values/Calendar.ts"
import type { ReminderCount } from "../../engine/actor/ReminderCounts.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { ActivityQuery } from "../api/Analytics.ts"
import type { ReminderResults } from "../api/ReminderResults.ts"
import { rangeOf, shareOf } from "./ranges.ts"

const dayMs = 86_400_000

export const remindersOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  query: typeof ActivityQuery.Type,
) {
  const now = engine.timeIn(environment)
  const { first, last } = yield* rangeOf(query, zoneOf("UTC"), now)
  const counts = yield* engine.readReminders(environment)
  const days = Array.from({ length: last - first + 1 }, (_, place) => first + place)
  return {
    from: dateOf(first),
    to: dateOf(last),
    totals: reminderKinds.map((kind) =>
      shown(kind, sumOf(days.map((day) => counts.on(day, kind)))),
    ),
    days: days.flatMap((day) =>
      reminderKinds.flatMap((kind) => {
        const count = counts.on(day, kind)
        if (count.sent === 0) return []
        const complete = now > (day + 1) * dayMs + comebackMs
        return [{ date: dateOf(day), ...shown(kind, count), complete }]
      }),
    ),
  } satisfies typeof ReminderResults.Type
})

const sumOf = (counts: ReadonlyArray<ReminderCount>): ReminderCount => ({
  sent: counts.reduce((sum, { sent }) => sum + sent, 0),
  returned: counts.reduce((sum, { returned }) => sum + returned, 0),
})

const shown = (kind: ReminderKind, { returned, sent }: ReminderCount) => ({
  kind,
  sent,
  returned,
  share: shareOf(returned, sent),
})

export const reminderColumns = ["date", "kind", "sent", "returned", "share", "complete"]
