/** How many reminders were sent, and how many users came back: the query and the reply. */
import { Schema } from "effect"
import { reminderKinds } from "../../domain/user/Comeback.ts"
import { date, oneOf } from "./Common.ts"
import { reminderResults } from "./examples/analyticsExamples.ts"

const count = (description: string, example: number) =>
  Schema.Int.annotate({ description, examples: [example] })

const counted = {
  kind: oneOf(reminderKinds).annotate({
    description: "The kind of reminder, which is that of its message.",
    examples: ["user.inactive"],
  }),
  sent: count("Reminders that were sent. A user may have got several.", 240),
  returned: count("Those after which the user had an event within 24 hours.", 36),
  share: Schema.NullOr(Schema.Finite).annotate({
    description: "`returned` / `sent`, to 4 decimals; null: none was sent.",
    examples: [0.15],
  }),
}

const ReminderDay = Schema.Struct({
  date: date("The day of UTC on which they were sent.", "2026-10-31"),
  ...counted,
  complete: Schema.Boolean.annotate({
    description: "Whether 24 hours have passed since the last reminder of the day.",
    examples: [true],
  }),
}).annotate({
  identifier: "ReminderDay",
  description: "The reminders of one kind that were sent on one day.",
})

export const ReminderResults = Schema.Struct({
  from: date("First day.", "2026-10-31"),
  to: date("Last day.", "2026-11-01"),
  totals: Schema.Array(
    Schema.Struct(counted).annotate({
      identifier: "ReminderTotal",
      description: "The reminders of one kind.",
    }),
  ).annotate({ description: "All days together, for every kind." }),
  days: Schema.Array(ReminderDay).annotate({
    description: "Oldest first. A day without reminders of a kind has no row for it.",
  }),
}).annotate({
  identifier: "ReminderResults",
  description: "How many reminders were sent, and how many users came back within a day.",
  examples: [reminderResults],
})
