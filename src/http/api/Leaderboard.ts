/** Who has how much. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { oneOf } from "./Checks.ts"
import { ApiKey, Level, OpenTo, pageFields, pageQuery, Time, UserId, Xp } from "./Common.ts"
import { readProblems } from "./Problems.ts"

export const boardWindows = ["all_time"] as const

export const LeaderboardPage = Schema.Struct({
  window: Schema.Struct({
    kind: oneOf(boardWindows),
    startsAt: Schema.NullOr(Time),
    endsAt: Schema.NullOr(Time),
  }),
  entries: Schema.Array(
    Schema.Struct({
      rank: Schema.Int.annotate({
        description: "Equal xp share a rank, and the next rank skips: 1, 1, 3.",
      }),
      userId: UserId,
      displayName: Schema.NullOr(Schema.String),
      xp: Xp,
      level: Level,
      previousRank: Schema.NullOr(Schema.Int),
    }).annotate({ identifier: "LeaderboardEntry" }),
  ),
  ...pageFields,
}).annotate({ identifier: "LeaderboardPage", description: "A page of the leaderboard." })

export const Leaderboard = HttpApiGroup.make("leaderboard")
  .add(
    HttpApiEndpoint.get("get", "/v1/leaderboard", {
      query: { window: Schema.optionalKey(oneOf(boardWindows)), ...pageQuery },
      success: LeaderboardPage,
      error: readProblems,
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Read the leaderboard",
        description:
          "Users by xp, most first. Among equals, who reached the score first comes first. Users without xp are not listed.",
      }),
    ),
  )
  .annotateEndpoints(OpenTo, ["read"])
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Leaderboard", description: "Who has how much." }))
