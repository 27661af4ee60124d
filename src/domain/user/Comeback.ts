/**
 * Whether users come back after a reminder: whether an event follows it within a day.
 *
 * - The state has the reminders of the last day that no event has followed (`unanswered`). The first event
 *   that occurs after a reminder, and is received within `comebackMs` of it, follows it; its record has
 *   the fact `reminders.followed`, which the counts of the environment count (`engine/actor/ReminderCounts.ts`).
 * - An imported event follows none, and an undo of the event changes nothing.
 * - A reminder that no event has followed in time leaves the state with the user's next reminder or event.
 *
 * Cost: a user without a reminder costs nothing. Each reminder of the last day takes 8 bytes of the state.
 */

/** The kinds of reminders, which are kinds of facts and messages. Their order is that of the state's bytes. */
export const reminderKinds = [
  "user.inactive",
  "streak.at_risk",
  "quest.ending",
  "currency.expiring",
  "league.closing",
] as const
export type ReminderKind = (typeof reminderKinds)[number]

const kinds: ReadonlySet<string> = new Set(reminderKinds)

export const isReminderKind = (kind: string): kind is ReminderKind => kinds.has(kind)

/** A reminder that was sent at `at`, epoch milliseconds. */
export type Unanswered = readonly [kind: ReminderKind, at: number]

/** How long after a reminder an event counts as its effect. */
export const comebackMs = 86_400_000

/** The reminders that an event follows which occurred at `occurredAt` and is received at `now`. */
export const followedBy = (
  unanswered: ReadonlyArray<Unanswered>,
  occurredAt: number,
  now: number,
): ReadonlyArray<Unanswered> =>
  unanswered.filter(([, at]) => at < occurredAt && now - at <= comebackMs)

/** The reminders that an event may still follow at `now`. */
export const openAt = (
  unanswered: ReadonlyArray<Unanswered>,
  now: number,
): ReadonlyArray<Unanswered> => unanswered.filter(([, at]) => now - at <= comebackMs)
