/** How the facts of reminders change a user's state. */
import { isReminderKind, openAt, type Unanswered } from "../user/Comeback.ts"
import type { UserState } from "../user/User.ts"
import { type Folding, own } from "./Folding.ts"
import { decidedAt, type Fact, type FactOf, type JournalRecord } from "./Record.ts"

type AnyReminder = FactOf<"currency.expiring" | "league.closing" | "quest.ending" | "user.inactive">

export const isReminder = ({ kind }: Fact): boolean =>
  kind === "user.inactive" ||
  kind === "quest.ending" ||
  kind === "currency.expiring" ||
  kind === "league.closing"

export const foldReminder = (state: Folding, before: UserState, fact: Fact): void => {
  const reminder = fact as AnyReminder
  switch (reminder.kind) {
    case "user.inactive":
      state.remindedOn = reminder.day
      break
    case "quest.ending":
      own(state, before, "reminded").set(reminder.questId, reminder.period)
      break
    case "currency.expiring":
      own(state, before, "reminded").set(reminder.currency, reminder.through)
      break
    case "league.closing":
      own(state, before, "reminded").set(reminder.leagueId, reminder.window)
      break
  }
}

/** The reminders that an event may still follow after a record: only the clock sends some. */
export const unansweredAfter = (
  { unanswered }: UserState,
  record: JournalRecord,
): UserState["unanswered"] => {
  const { cause, facts } = record
  if (cause.kind === "tick") {
    const at = decidedAt(record)
    const sent = facts.flatMap(
      ({ kind }): ReadonlyArray<Unanswered> => (isReminderKind(kind) ? [[kind, at]] : []),
    )
    return sent.length === 0 ? unanswered : [...openAt(unanswered, at), ...sent]
  }
  if (unanswered.length === 0 || cause.kind !== "event") return unanswered
  const followed = facts.find((fact) => fact.kind === "reminders.followed")
  if (followed === undefined) return unanswered
  const isFollowed = ([kind, at]: Unanswered) =>
    followed.reminders.some(([other, then]) => other === kind && then === at)
  return openAt(unanswered, decidedAt(record)).filter((one) => !isFollowed(one))
}
