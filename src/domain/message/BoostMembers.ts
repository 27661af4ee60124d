/** What the API shows of a user's personal boost. */
import { Schema } from "effect"

const text = (description: string, example: string) =>
  Schema.String.annotate({ description, examples: [example] })

const boostOf = {
  boostId: text("The boost's id.", "bst_01a1fc1e64c07345932e273286b5ca30"),
  key: text("The boost's key.", "double-xp"),
  name: text("The boost's name.", "Double xp"),
}
const boostTimes = {
  startsAt: Schema.String.annotate({
    description: "From when it runs: when the event occurred, or the reward was granted.",
    format: "date-time",
    examples: ["2026-11-01T09:30:00.000Z"],
  }),
  endsAt: Schema.String.annotate({
    description: "Until when it runs.",
    format: "date-time",
    examples: ["2026-11-01T10:30:00.000Z"],
  }),
}

export const ownBoost = {
  boostId: "bst_01a1fc1e64c07345932e273286b5ca30",
  key: "double-xp",
  name: "Double xp",
  startsAt: "2026-11-01T09:30:00.000Z",
  endsAt: "2026-11-01T10:30:00.000Z",
} as const

/** A personal boost that a record gave, or revoked. */
export const OwnBoost = Schema.Struct({ ...boostOf, ...boostTimes }).annotate({
  identifier: "OwnBoost",
  description: "A personal boost of the user.",
  examples: [ownBoost],
})
