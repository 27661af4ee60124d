/** How the facts of reminders change a user's state. */
import type { UserState } from "../user/User.ts"
import { type Folding, own } from "./Folding.ts"
import type { Fact, FactOf } from "./Record.ts"

type AnyReminder = FactOf<"currency.expiring" | "quest.ending" | "user.inactive">

export const isReminder = ({ kind }: Fact): boolean =>
  kind === "user.inactive" || kind === "quest.ending" || kind === "currency.expiring"

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
  }
}
