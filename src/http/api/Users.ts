/** What users have. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { limits } from "../../Limits.ts"
import { text } from "./Checks.ts"
import { ApiKey, idempotencyHeaders, limitQuery, OpenTo, pageQuery, UserId } from "./Common.ts"
import { HistoryCursor, HistoryKindIn, HistoryPage } from "./History.ts"
import {
  BadgeNotFound,
  BalanceConflict,
  bodyProblems,
  EventNotFound,
  RewardNotFound,
  readProblems,
  UserNotFound,
  writeProblems,
} from "./Problems.ts"
import { EventRevocation, RewardGrant, RewardOutcome, RewardRevocation } from "./Rewards.ts"
import { ProfileChange, Progress, User, UserExport, UserPage } from "./UserShapes.ts"

const params = { id: UserId }

export const Users = HttpApiGroup.make("users")
  .add(
    HttpApiEndpoint.get("list", "/v1/users", {
      query: {
        ...pageQuery,
        query: Schema.optionalKey(
          text(1, limits.searchCharactersMax).annotate({
            description:
              "Only users with this in their id or display name, in any case of its letters.",
            examples: ["ada"],
          }),
        ),
      },
      success: UserPage,
      error: readProblems,
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List users",
          description:
            "Users in the order of their ids, compared by code points. With `query` every user is looked at, which takes some microseconds for each.",
        }),
      ),
    HttpApiEndpoint.get("get", "/v1/users/:id", {
      params,
      success: User,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user",
          description: "The user's profile, xp, level, badges and points.",
        }),
      ),
    HttpApiEndpoint.put("put", "/v1/users/:id", {
      params,
      payload: ProfileChange,
      success: User,
      error: [...readProblems, ...bodyProblems],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create or change a user",
          description:
            "Changes the members of the profile that are sent; others stay. A user who was never seen is created. The answer comes when the change is on disk.",
        }),
      ),
    HttpApiEndpoint.delete("erase", "/v1/users/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Erase a user",
          description:
            "Erases all that is held about the user: profile, balances, history, places on leaderboards, ids and kept answers, undelivered messages. At once nothing of it is shown, and nothing is written any more; within a snapshot's interval it is gone from the live data, and by the date in `Laurel-Erased-By` from the journal and the archives that the server makes and thins out by itself, as long as it runs. Webhooks are told the id, no more. The same id may be used again: that is a new user.",
        }),
      ),
    HttpApiEndpoint.get("progress", "/v1/users/:id/progress", {
      params,
      success: Progress,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user's progress",
          description:
            "How far the user is as of now: within the level, on the leaderboard, towards badges, in quests and streaks.",
        }),
      ),
    HttpApiEndpoint.get("history", "/v1/users/:id/history", {
      params,
      query: {
        limit: limitQuery,
        cursor: Schema.optionalKey(HistoryCursor),
        kind: Schema.optionalKey(HistoryKindIn),
      },
      success: HistoryPage,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user's history",
          description:
            "All that happened to the user, newest first, each fact with the event, reward or other reason that caused it. Only what is on disk is shown, so nothing of it can be taken back.",
        }),
      ),
    HttpApiEndpoint.get("export", "/v1/users/:id/export", {
      params,
      success: UserExport,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Export a user",
          description:
            "Everything that is held about the user, as one JSON object: what is shown elsewhere, the state as it is kept, and every record, newest first. However long, it is sent piece by piece; should it break off, the JSON has no end.",
        }),
      ),
    HttpApiEndpoint.post("reward", "/v1/users/:id/rewards", {
      params,
      headers: idempotencyHeaders,
      payload: RewardGrant,
      success: RewardOutcome,
      error: [...writeProblems, BadgeNotFound, BalanceConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Grant a reward",
          description:
            "Gives the user xp, points or a badge by hand. A user who was never seen is created. The answer comes when the outcome is on disk.",
        }),
      ),
    HttpApiEndpoint.delete("revokeReward", "/v1/users/:id/rewards/:rewardId", {
      params: {
        ...params,
        rewardId: Schema.String.annotate({
          description: "Laurel's id of the reward.",
          examples: ["rwd_0mi8k3f2a4c92"],
        }),
      },
      success: RewardRevocation,
      error: [...readProblems, RewardNotFound],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Take back a reward",
          description:
            "Takes back what the reward gave; level, badges and open leaderboards follow. A badge that it gave stays if its own criteria are met. No balance goes below 0: what is missing is told as `shortfall`. A second time there is nothing to take back: 404.",
        }),
      ),
    HttpApiEndpoint.delete("revokeEvent", "/v1/users/:id/events/:eventId", {
      params: {
        ...params,
        eventId: Schema.String.annotate({
          description: "Laurel's id of the event.",
          examples: ["evt_0mi8k3f2a4c92"],
        }),
      },
      success: EventRevocation,
      error: [...readProblems, EventNotFound],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Take back an event",
          description:
            "Takes back what the event gave: xp, points, badges, steps and completion of quests, uses of limits, and what it counted for badges, also what only a backfill counted; level and open leaderboards follow. A badge goes once too little is left for the target by which it was earned; one that the event gave by a rule or a quest stays if its own criteria are met. A quest that another event completed stays completed. Streak days, badges earned by a streak, a cooldown that the event started and closed leaderboard windows stay. No balance goes below 0: what is missing is told as `shortfall`. A second time there is nothing to take back: 404.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(OpenApi.annotations({ title: "Users", description: "What users have." }))
