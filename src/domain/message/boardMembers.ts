/** What the API shows of a closed window of a leaderboard, and of a rank in it. */
import { Schema } from "effect"
import { boardWindows } from "../project/BoardDefinition.ts"

/** A text as the API shows it. */
export const text = (description: string, example: string) =>
  Schema.String.annotate({ description, examples: [example] })

const boundOf = (description: string, example: string) =>
  Schema.NullOr(Schema.String).annotate({ description, format: "date-time", examples: [example] })

/** A window of a leaderboard. */
export const windowMembers = {
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

const rankOrNull = (description: string, example: number) =>
  Schema.NullOr(Schema.Int).annotate({ description, examples: [example] })

/** The user's rank in an open window. */
export const rankChanged = {
  ...windowMembers,
  rank: rankOrNull(
    "The user's rank, by `ties` of the leaderboard; null: the user has left the first places.",
    2,
  ),
  previousRank: rankOrNull(
    "The rank in the message before; null: the user was not in the first places.",
    5,
  ),
  score: Schema.NullOr(Schema.Finite).annotate({
    description: "The user's score; null: the leaderboard does not list the user any more.",
    examples: [340],
  }),
}

/** The user's rank in a closed window. */
export const rankWon = {
  ...windowMembers,
  rank: Schema.Int.annotate({
    description: "The user's rank when the window closed.",
    examples: [1],
  }),
}
