/** Operations on users. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { limits } from "../../Limits.ts"
import { text } from "./Checks.ts"
import {
  ApiKey,
  idempotencyHeaders,
  limitQuery,
  OpenTo,
  pageQuery,
  type RequestParts,
  UserId,
  UserNamed,
} from "./Common.ts"
import { eventKey } from "./examples/Ids.ts"
import { HistoryCursor, HistoryKindIn, HistoryPage } from "./History.ts"
import {
  BadgeNotFound,
  BalanceConflict,
  BodyTooLarge,
  bodyProblems,
  EventNotFound,
  RewardNotFound,
  readProblems,
  SpendConflict,
  SpendNotFound,
  UserNotFound,
  writeProblems,
} from "./Problems.ts"
import { EventRevocation, RewardGrant, RewardOutcome, RewardRevocation } from "./Rewards.ts"
import { NewSpend, Refund, Spend } from "./Spending.ts"
import { ProfileChange, Progress, User, UserExport, UserPage } from "./UserShapes.ts"
import { TokenRequest, UserToken } from "./UserTokens.ts"

const params = { id: UserId }
const named = ({ params }: RequestParts): string => params.id

const eitherId = (what: string, examples: readonly [string, string]) =>
  Schema.String.annotate({
    description: `Laurel's id of the ${what}, or the \`id\` that you sent with it, percent-encoded. Laurel's id comes first: an id of yours that is also Laurel's id of another ${what} of this user means that other one, revoked or not. Revoking does not free your id: a repeat with it stays a duplicate.`,
    examples,
  })

export const Users = HttpApiGroup.make("users")
  .add(
    HttpApiEndpoint.get("list", "/v1/users", {
      query: {
        ...pageQuery,
        query: Schema.optionalKey(
          text(1, limits.searchCharactersMax).annotate({
            description: "Only users with this text in their id or display name, ignoring case.",
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
            "Lists users in the order of their ids, by code points. With `query`, the search reads every user, at some microseconds each.",
        }),
      ),
    HttpApiEndpoint.get("get", "/v1/users/:id", {
      params,
      success: User,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read", "user"])
      .annotate(UserNamed, named)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user",
          description: "Returns the user's profile, xp, level, badges and points.",
        }),
      ),
    HttpApiEndpoint.put("put", "/v1/users/:id", {
      params,
      payload: ProfileChange,
      success: User,
      error: [...readProblems, ...bodyProblems, UserNotFound],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create or change a user",
          description:
            "Changes the members of the profile that the body names; creates a new user. Replies once the change is on disk; 404 means that the user was erased before the reply.",
        }),
      ),
    HttpApiEndpoint.delete("erase", "/v1/users/:id", {
      params,
      success: HttpApiSchema.NoContent,
      error: [...readProblems, UserNotFound, BodyTooLarge],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Erase a user",
          description:
            "Erases everything about the user: profile, balances, history, places on leaderboards, ids, kept answers, undelivered messages. Reads and streams stop showing the user at once. The live data loses the user within one snapshot interval; the journal and the archives of a running server lose the user by the date in `Laurel-Erased-By`. The reply has no date where a cluster keeps its whole journal in PostgreSQL, for want of scheduled archives outside of the data directories. Webhooks receive the id only. Using the id again creates a new user.",
        }),
      ),
    HttpApiEndpoint.get("progress", "/v1/users/:id/progress", {
      params,
      success: Progress,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read", "user"])
      .annotate(UserNamed, named)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user's progress",
          description:
            "Returns the user's current progress: within the level, on the leaderboard, towards badges, in quests and streaks.",
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
      .annotate(OpenTo, ["read", "user"])
      .annotate(UserNamed, named)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user's history",
          description:
            "Lists every fact about the user, newest first, with the event, reward or other cause. Shows only facts on disk, so a crash takes back none of them.",
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
            "Streams everything about the user as one JSON object: profile and progress, the stored state, and every record, newest first. If the stream breaks, the JSON is incomplete.",
        }),
      ),
    HttpApiEndpoint.post("createToken", "/v1/users/:id/tokens", {
      params,
      payload: TokenRequest,
      success: UserToken,
      error: writeProblems,
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Make a token for a user",
          description: `Returns a token with which the user's own browser or phone asks, in place of a key. Make it on your server, for the user who is signed in there, with a secret key. It reads this user, their progress, history and stream, leaderboards (\`around\` this user), active quests, and badges that are not secret; and sends single events of this user, not dated, with actions that the project's setting \`clientActions\` lists. Anything else is 403 \`insufficient_scope\`. A token needs no user yet; the first event creates one. It has its own rate limit, ${limits.userRequestsPerMinute} requests a minute for each user; all users together have that of the key's tier, apart from the key's own. Tokens are not stored: one ends when it expires, or when the key that made it is revoked or expires. Revoking that key is the only way to end a token early; erasing the user is none: an event sent with the token creates the user again. An \`Idempotency-Key\` is ignored.`,
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
            "Grants the user xp, points or a badge; creates a new user. Replies once the outcome is on disk.",
        }),
      ),
    HttpApiEndpoint.post("spend", "/v1/users/:id/points/spend", {
      params,
      headers: idempotencyHeaders,
      payload: NewSpend,
      success: Spend,
      error: [...writeProblems, UserNotFound, SpendConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Spend points",
          description:
            "Takes points from the user's balance, whole or not at all: 409 `insufficient_points` names the balance if it is too small. Xp, level, badges and leaderboards do not change; badges by points count the points earned, spent ones included. Replies once the outcome is on disk.",
        }),
      ),
    HttpApiEndpoint.delete("refund", "/v1/users/:id/points/spend/:spendId", {
      params: {
        ...params,
        spendId: eitherId("spend", ["spd_0mi8k3f2a4c92", "order-1001"]),
      },
      success: Refund,
      error: [...readProblems, SpendNotFound, BodyTooLarge],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke a spend",
          description:
            "Returns the points of a spend to the balance. Points whose event or reward was revoked after they were spent are not returned; `shortfall` has them. So a user never has more points than were earned and not revoked. Revoking twice returns 404.",
        }),
      ),
    HttpApiEndpoint.delete("revokeReward", "/v1/users/:id/rewards/:rewardId", {
      params: {
        ...params,
        rewardId: eitherId("reward", ["rwd_0mi8k3f2a4c92", "welcome-user-42"]),
      },
      success: RewardRevocation,
      error: [...readProblems, RewardNotFound, BodyTooLarge],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke a reward",
          description:
            "Takes back what the reward gave; level, badges and open leaderboards follow. A granted badge stays if the user meets its criteria. No balance goes below 0: `shortfall` has points that were spent already. Revoking twice returns 404.",
        }),
      ),
    HttpApiEndpoint.delete("revokeEvent", "/v1/users/:id/events/:eventId", {
      params: {
        ...params,
        eventId: eitherId("event", ["evt_0mi8k3f2a4c92", eventKey]),
      },
      success: EventRevocation,
      error: [...readProblems, EventNotFound, BodyTooLarge],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke an event",
          description:
            "Takes back what the event gave: xp, points, badges, quest steps and completions, uses of limits, and counts towards badges, including those made by a backfill. Level and open leaderboards follow. The user loses a badge whose target is no longer reached; a badge given by a rule or quest stays if the user meets its criteria. A quest completed by another event stays completed. Streak days, badges earned by a streak, running cooldowns and closed leaderboard windows stay. No balance goes below 0: `shortfall` has points that were spent already. Revoking twice returns 404.",
        }),
      ),
  )
  .middleware(ApiKey)
  .annotateMerge(
    OpenApi.annotations({
      title: "Users",
      description: "Profiles, balances, progress and history of users.",
    }),
  )
