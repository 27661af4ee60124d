/** The setting `reminders`: which reminders are sent, and when. */
import { Schema } from "effect"
import { limits } from "../../Limits.ts"
import { distinct, faultAt, integer, list, text } from "./Common.ts"

const inactiveDays = list(integer(1, limits.reminderDaysMax), 0, limits.remindersMax)
  .check(distinct<number>([], (days) => `${days}`))
  .annotate({
    description:
      "The days without an event after which the message `user.inactive` is sent, in any order.",
    examples: [[3, 7, 30]],
  })
const daysBefore = integer(1, limits.reminderDaysBeforeMax)
const questDays = daysBefore.annotate({
  description:
    "How many days before the end of a quest, or of its period, the message `quest.ending` is sent to users who have begun and not completed it. 1: on the last day.",
  examples: [2],
})
const expiryDays = daysBefore.annotate({
  description:
    "How many days before amounts of a currency or points end the message `currency.expiring` is sent. 1: on the last day.",
  examples: [7],
})
const leagueDays = daysBefore.annotate({
  description:
    "How many days before the end of a window of a league the message `league.closing` is sent to the users of its cohorts. 1: on the last day.",
  examples: [1],
})
const hour = integer(0, 23).annotate({
  description:
    "The hour of the user's clock at which messages are sent. At a jump of the clock over it, they are sent after the jump.",
  examples: [10],
})
const unless = text(1, limits.attributeNameCharactersMax).annotate({
  description: "Users whose attribute with this name is `true` get none.",
  examples: ["noReminders"],
})

const one = {
  inactiveDays: [3, 7, 30],
  questDays: 2,
  expiryDays: 7,
  leagueDays: 1,
  unless: "noReminders",
}
const shown = { ...one, hour: 10 }

const someReminder = ({
  expiryDays,
  inactiveDays = [],
  leagueDays,
  questDays,
}: {
  readonly inactiveDays?: ReadonlyArray<number>
  readonly questDays?: number | null
  readonly expiryDays?: number | null
  readonly leagueDays?: number | null
}) =>
  inactiveDays.length === 0 && (questDays ?? expiryDays ?? leagueDays ?? null) === null
    ? [faultAt(["inactiveDays"], "missing", "is required, or questDays, expiryDays or leagueDays")]
    : []

export const NewReminders = Schema.Struct({
  inactiveDays: Schema.optionalKey(inactiveDays),
  questDays: Schema.optionalKey(Schema.NullOr(questDays)),
  expiryDays: Schema.optionalKey(Schema.NullOr(expiryDays)),
  leagueDays: Schema.optionalKey(Schema.NullOr(leagueDays)),
  hour: Schema.optionalKey(
    hour.annotate({
      description:
        "The hour of the user's clock at which messages are sent. At a jump of the clock over it, they are sent after the jump. Default: 10.",
    }),
  ),
  unless: Schema.optionalKey(Schema.NullOr(unless)),
})
  .check(Schema.makeFilter(someReminder, { toJsonSchema: () => [{}, true] }))
  .annotate({
    identifier: "NewReminders",
    description:
      "Messages about users who stay away, and about what ends, for other systems to send. At least one of `inactiveDays`, `questDays`, `expiryDays` and `leagueDays` is required. `user.inactive` is left out if it would be more than a day late, so switching it on reminds nobody of the past.",
    examples: [one],
  })

export const RemindersPatch = Schema.optionalKey(
  Schema.NullOr(NewReminders).annotate({
    description: "Replaces the reminders; null: none.",
    examples: [one],
  }),
)

export const Reminders = Schema.NullOr(
  Schema.Struct({
    inactiveDays,
    questDays: Schema.NullOr(questDays),
    expiryDays: Schema.NullOr(expiryDays),
    leagueDays: Schema.NullOr(leagueDays),
    hour,
    unless: Schema.NullOr(unless),
  }).annotate({
    identifier: "Reminders",
    description: "Messages about users who stay away, and about what ends. Null: none of the kind.",
    examples: [shown],
  }),
).annotate({
  description: "The messages about users who stay away, and about what ends; null: none.",
  examples: [shown],
})
