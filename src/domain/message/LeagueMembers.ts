/** What the API shows of the facts of leagues. */
import { Schema } from "effect"
import { leagueOutcomes } from "../project/League.ts"
import { Reward } from "./RewardMembers.ts"

const text = (description: string, example: string) =>
  Schema.String.annotate({ description, examples: [example] })
const count = (example: number, description: string) =>
  Schema.Int.annotate({ description, examples: [example] })
const dateTime = (description: string, example: string) =>
  Schema.String.annotate({ description, format: "date-time", examples: [example] })

const divisionOf = (description: string, examples: readonly [string, string]) =>
  Schema.Struct({
    key: text("Key of the division.", examples[0]),
    name: text("Name of the division.", examples[1]),
  }).annotate({ description, examples: [{ key: examples[0], name: examples[1] }] })

const inLeague = {
  leagueId: text("Id of the league.", "lga_01a1fc1e64c07345932e273286b5ca30"),
  key: text("Key of the league.", "weekly-league"),
  name: text("Name of the league.", "Weekly league"),
  division: divisionOf("The user's division in the window.", ["silver", "Silver"]),
  cohort: count(12, "The number of the cohort in its division."),
  startsAt: dateTime("Start of the window.", "2026-10-26T00:00:00.000Z"),
  endsAt: dateTime("End of the window.", "2026-11-02T00:00:00.000Z"),
}

const settled = {
  ...inLeague,
  to: divisionOf("The user's division from now on.", ["gold", "Gold"]),
  score: Schema.Finite.annotate({ description: "The score in the window.", examples: [340] }),
  rank: Schema.NullOr(Schema.Int).annotate({
    description: "Rank in the cohort; null: hidden, disqualified, or without a score.",
    examples: [1],
  }),
  of: count(30, "How many users of the cohort had a rank."),
  rewards: Schema.Array(Reward).annotate({
    description: "What the user was paid for it. Limits of currencies may have cut it.",
    examples: [[{ xp: 0, points: 100, badgeId: null }]],
  }),
}

const closing = {
  ...inLeague,
  endsAt: dateTime(
    "End of the window, or of the league if it is earlier.",
    "2026-11-02T00:00:00.000Z",
  ),
  score: settled.score,
  rank: Schema.NullOr(Schema.Int).annotate({
    description: "Rank in the cohort now; null: without a score.",
    examples: [28],
  }),
  of: count(29, "Number of ranked users in the cohort."),
  size: count(30, "Number of users in the cohort."),
  outcome: Schema.Literals(leagueOutcomes).annotate({
    description: "The user's outcome if the window closed now.",
    examples: ["demoted"],
  }),
}

const disqualified = {
  leagueId: inLeague.leagueId,
  key: inLeague.key,
  name: inLeague.name,
  disqualified: Schema.Boolean.annotate({
    description: "Whether the league ranks the user no more, or again.",
    examples: [true],
  }),
}

/** By kind of fact. */
export const leagueMembers = {
  "league.joined": inLeague,
  "league.promoted": settled,
  "league.stayed": settled,
  "league.demoted": settled,
  "league.closing": closing,
  "league.disqualified": disqualified,
}
