/** What the API shows of a closed window of a leaderboard, and of a rank in it. */
import { Schema } from "effect"
import { boardWindows } from "../project/BoardDefinition.ts"

/** A text as the API shows it. */
export const text = (description: string, example: string) =>
  Schema.String.annotate({ description, examples: [example] })

const boundOf = (description: string, example: string) =>
  Schema.NullOr(Schema.String).annotate({ description, format: "date-time", examples: [example] })

/** A window of a leaderboard that has closed. */
export const closedWindow = {
  leaderboard: Schema.Struct({
    id: text("Id of the leaderboard.", "ldb_01a1fc1e64c07345932e273286b5ca30"),
    key: text("Key of the leaderboard.", "gem-hunters"),
  }).annotate({
    identifier: "LeaderboardRef",
    examples: [{ id: "ldb_01a1fc1e64c07345932e273286b5ca30", key: "gem-hunters" }],
    description: "The leaderboard; `xp` is that of `GET /v1/leaderboard`.",
  }),
  window: Schema.Literals(boardWindows).annotate({
    description: "Kind of window.",
    examples: ["weekly"],
  }),
  startsAt: boundOf("Start of the window; null for all time.", "2026-10-26T00:00:00.000Z"),
  endsAt: boundOf("End of the window; null for all time.", "2026-11-02T00:00:00.000Z"),
}

/** The user's rank in a closed window. */
export const rankWon = {
  ...closedWindow,
  rank: Schema.Int.annotate({
    description: "The user's rank when the window closed.",
    examples: [1],
  }),
}
