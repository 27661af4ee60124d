/** The members of reminders in messages and in a history. */
import { Schema } from "effect"
import { text } from "./boardMembers.ts"

const time = (description: string, example: string) =>
  Schema.String.annotate({ description, format: "date-time", examples: [example] })
const amount = (description: string) => Schema.Int.annotate({ description, examples: [50] })

const expiresAt = "2026-11-08T00:00:00.000Z"

export const inactive = {
  days: Schema.Int.annotate({
    description: "Days since the user's last active day.",
    examples: [7],
  }),
  lastDay: Schema.String.annotate({
    description: "The last day with an event, in the user's time zone.",
    format: "date",
    examples: ["2026-10-25"],
  }),
}

export const questEnding = {
  endsAt: time("When the quest, or its present period, ends.", "2026-11-02T00:00:00.000Z"),
}

export const expiring = {
  currency: text("Key of the currency.", "gems"),
  amount: amount("How many end soon."),
  expiresAt: time("When the first of them end.", expiresAt),
  endings: Schema.Array(
    Schema.Struct({
      amount: amount("How many."),
      expiresAt: time("When they end.", expiresAt),
    }).annotate({ identifier: "ExpiringAmount" }),
  ).annotate({
    description: "The amounts by their ends, the first first.",
    examples: [[{ amount: 50, expiresAt }]],
  }),
}
