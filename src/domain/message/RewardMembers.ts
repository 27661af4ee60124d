/** A reward as the API shows it. */
import { Schema } from "effect"
import { text } from "./boardMembers.ts"

const count = (example: number, description: string) =>
  Schema.Int.annotate({ description, examples: [example] })

export const shownAmounts = (description: string, example: { readonly [key: string]: number }) =>
  Schema.Record(Schema.String, Schema.Int).annotate({ description, examples: [example] })

/** A reward, given or to be given. */
export const Reward = Schema.Struct({
  xp: count(100, "Experience points."),
  points: count(10, "Points."),
  currencies: Schema.optionalKey(
    shownAmounts("Amounts of further currencies, by key. Absent: none.", { gems: 5 }),
  ),
  badgeId: Schema.NullOr(Schema.String).annotate({
    description: "Id of a badge; null: none.",
    examples: [null],
  }),
  boost: Schema.optionalKey(
    Schema.Struct({
      key: text("Key of the boost.", "double-xp"),
      minutes: count(60, "How long it runs."),
    }).annotate({
      description: "A personal boost. Absent: none.",
      examples: [{ key: "double-xp", minutes: 60 }],
    }),
  ),
  freezes: Schema.optionalKey(
    shownAmounts("Freezes, by the key of the streak. Absent: none.", { daily: 1 }),
  ),
}).annotate({
  identifier: "Reward",
  description: "All parts of a reward.",
  examples: [{ xp: 100, points: 10, badgeId: null }],
})
