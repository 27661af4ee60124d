/** Operations on users. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Balances,
  Earned,
  furtherOutcome,
  granted,
  LevelChange,
} from "../../domain/message/FactMembers.ts"
import { tokenScopes } from "../../domain/project/Directory.ts"
import { limits } from "../../Limits.ts"
import {
  ApiKey,
  callerId,
  EarnedBadge,
  EventKey,
  idempotencyHeaders,
  integer,
  list,
  OpenTo,
  oneOf,
  pageQuery,
  type RequestParts,
  Time,
  text,
  UserId,
  UserNamed,
} from "./Common.ts"
import { NewReward, pathOf } from "./DefinitionShapes.ts"
import { repeatMembers } from "./Events.ts"
import { badgeId, eventKey, questId } from "./examples/exampleIds.ts"
import {
  mergedUser,
  mergeRequest,
  repeatedReward,
  rewardOutcome,
  tokenRequest,
  userToken,
} from "./examples/userExamples.ts"
import { HistoryKindIn, HistoryPage } from "./History.ts"
import { NewOpening, OpeningOutcome } from "./Opening.ts"
import {
  BadgeNotFound,
  BodyTooLarge,
  bodyProblems,
  EventNotFound,
  keyedProblems,
  MergeConflict,
  OpeningConflict,
  QuestNotFound,
  QuestStartConflict,
  RepairConflict,
  RepairedNotFound,
  RewardConflict,
  RewardedNotFound,
  RewardNotFound,
  readProblems,
  SegmentNotFound,
  SpendConflict,
  SpenderNotFound,
  SpendNotFound,
  StreakOfUserNotFound,
  StreakPauseConflict,
  UserNotFound,
  writeProblems,
} from "./Problems.ts"
import { EventRevocation, RewardRevocation } from "./Revocations.ts"
import { UserSegments } from "./Segments.ts"
import { NewRepair, NewSpend, Refund, Spend } from "./Spends.ts"
import {
  CalendarDay,
  ChangedStreak,
  PausedDays,
  StreakCalendar,
  StreakKey,
  UserStreaks,
} from "./Streaks.ts"
import { userListQuery } from "./UserList.ts"
import { ProfileChange, Progress, StartedQuest, User, UserExport, UserPage } from "./UserShapes.ts"

/* Rewards granted by request, and revocations. */

/** What a request says about a reward. */
export const aboutReward = {
  reason: Schema.optionalKey(
    text(0, limits.reasonCharactersMax, "multiple").annotate({
      description: "Reason, kept in the user's history.",
      examples: ["Welcome back"],
    }),
  ),
  id: Schema.optionalKey(EventKey),
}

const amount = integer(1, limits.amountMax).annotate({
  description: "Amount to grant.",
  examples: [100],
})

export const RewardGrant = Schema.Union([
  Schema.Struct({ type: Schema.Literal("xp"), amount, ...aboutReward }).annotate({
    identifier: "XpGrant",
  }),
  Schema.Struct({ type: Schema.Literal("points"), amount, ...aboutReward }).annotate({
    identifier: "PointsGrant",
  }),
  Schema.Struct({
    type: Schema.Literal("badge"),
    badgeId: text(1, limits.idCharactersMax).annotate({
      description: "Laurel's id of an active badge.",
      examples: [badgeId],
    }),
    ...aboutReward,
  }).annotate({ identifier: "BadgeGrant" }),
  Schema.Struct({ reward: NewReward, ...aboutReward }).annotate({
    identifier: "PartsGrant",
    description: "A reward of one or more parts, as rules and quests have it.",
  }),
]).annotate({
  identifier: "RewardGrant",
  description: "A grant: `reward`, or xp, points or a badge by `type`.",
  examples: [
    { reward: { xp: 100, points: 5 }, reason: "Welcome back" },
    { type: "xp", amount: 100 },
    { type: "points", amount: 5, reason: "Welcome back" },
    { type: "badge", badgeId },
  ],
})

export const RewardOutcome = Schema.Struct({
  rewardId: Schema.String.annotate({
    description: "Laurel's id of the reward.",
    examples: ["rwd_0mi8k3f2a4c92"],
  }),
  userId: UserId,
  ...granted,
  ...repeatMembers("reward"),
  xp: Earned,
  points: Earned,
  ...furtherOutcome,
  balances: Balances,
  level: LevelChange,
  badges: Schema.Array(EarnedBadge).annotate({
    description:
      "Badges that the user earned: the granted one, unless the user had it, and any that followed.",
  }),
}).annotate({
  identifier: "RewardOutcome",
  description: "The durable outcome of a reward.",
  examples: [rewardOutcome, repeatedReward],
})

/* Merges. */

export const MergeRequest = Schema.Struct({
  into: callerId.annotate({
    description: "Your id of the user who stays. It must exist.",
    examples: ["user-42"],
  }),
}).annotate({
  identifier: "MergeRequest",
  description: "The user to merge into.",
  examples: [mergeRequest],
})

export const MergedUser = Schema.Struct({
  from: UserId.annotate({
    description: "The former id. It leads to `into` from now on.",
    examples: ["visitor-7"],
  }),
  into: UserId,
  mergedAt: Time,
}).annotate({
  identifier: "MergedUser",
  description: "The durable outcome of a merge.",
  examples: [mergedUser],
})

/* User tokens. */

export const TokenRequest = Schema.Struct({
  expiresInSeconds: Schema.optionalKey(
    integer(limits.userTokenSecondsMin, limits.userTokenSecondsMax).annotate({
      description: `Lifetime of the token. Default ${limits.userTokenSeconds}. The token ends no later than your key.`,
      examples: [900],
    }),
  ),
  scopes: Schema.optionalKey(
    list(oneOf(tokenScopes), 0, tokenScopes.length).annotate({
      description:
        "What the token may do besides. `purchases`: buy items for this user. Default: nothing.",
      examples: [["purchases"]],
    }),
  ),
}).annotate({
  identifier: "TokenRequest",
  description: "A token to make.",
  examples: [tokenRequest],
})

export const UserToken = Schema.Struct({
  token: Schema.String.annotate({
    description:
      "The token: a JSON Web Token, whose `exp` is the expiry. Send it in place of a key, as `Authorization: Bearer <token>`.",
    examples: [userToken.token],
  }),
  expiresAt: Time,
}).annotate({
  identifier: "UserToken",
  description: "A token of a user.",
  examples: [userToken],
})

const params = { id: UserId }
const named = ({ params }: RequestParts): string => params.id

export const eitherId = (what: string, examples: readonly [string, string]) =>
  Schema.String.annotate({
    description: `Laurel's id of the ${what}, or the \`id\` that you sent with it, percent-encoded. Laurel's id comes first: an id of yours that is also Laurel's id of another ${what} of this user means that other one, revoked or not. Revoking does not free your id: a repeat with it stays a duplicate.`,
    examples,
  })

export const Users = HttpApiGroup.make("users")
  .add(
    HttpApiEndpoint.get("list", "/v1/users", {
      query: userListQuery,
      success: UserPage,
      error: [...readProblems, SegmentNotFound, BadgeNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "List users",
          description: `Lists users in the order of their ids or of \`sort\`. All filters must hold. Any other order than that of ids scans all users for each page, in slices between other requests. A page with \`badge\`, \`segment\` or such an order has fewer users than \`limit\`, or none, once ${limits.listLooksMax} users were looked at; \`nextCursor\` continues there. A user whose value in \`sort\` changes between two pages may be on both or on none. With \`ids\`, returns the users with these ids, and names the ids without a user.`,
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
      headers: idempotencyHeaders,
      payload: ProfileChange,
      success: User,
      error: [...readProblems, ...bodyProblems, ...keyedProblems, UserNotFound],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create or change a user",
          description:
            "Changes the members of the profile that the body names; creates a new user. Replies once the change is on disk; 404 means that the user was erased before the reply. A repeat with the same `Idempotency-Key` changes nothing, and shows the user as it is now.",
        }),
      ),
    HttpApiEndpoint.put("open", "/v1/users/:id/opening", {
      params: { id: UserId.annotate({ examples: ["newcomer-3"] }) },
      headers: idempotencyHeaders,
      payload: NewOpening,
      success: OpeningOutcome,
      error: [...writeProblems, OpeningConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Set the opening balances of a user",
          description:
            "Sets balances, streaks and dated badges of a user who moves in from another system, once, before the first event, reward or spend; creates a new user. Nothing is paid, and xp count on the leaderboard of all time alone. The same request again answers the same, also later; with other content, or once the user has a history, it is refused (409 `opening_closed`). It cannot be undone: erase the user, or grant and spend the difference.",
        }),
      ),
    HttpApiEndpoint.delete("erase", "/v1/users/:id", {
      params,
      headers: idempotencyHeaders,
      success: HttpApiSchema.NoContent,
      error: [...readProblems, ...keyedProblems, UserNotFound, BodyTooLarge],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Erase a user",
          description:
            "Erases everything about the user: profile, balances, history, places on leaderboards, ids, kept answers, undelivered messages. Reads and streams stop showing the user at once. The live state loses the user within one snapshot interval. Erasures are gathered for a day and then leave the journal; the journal and the archives of a running server have lost the user by the date in `Laurel-Erased-By`. Webhooks receive the id only. Using the id again creates a new user.",
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
    HttpApiEndpoint.get("streaks", "/v1/users/:id/streaks", {
      params,
      success: UserStreaks,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read", "user"])
      .annotate(UserNamed, named)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user's streaks",
          description:
            "Returns the user's streaks with their present day, week or month: how far its needs are, and when the streak breaks.",
        }),
      ),
    HttpApiEndpoint.post("startQuest", "/v1/users/:id/quests/:quest/start", {
      params: { ...params, quest: pathOf("quest", questId).id },
      headers: idempotencyHeaders,
      success: StartedQuest,
      error: [
        ...readProblems,
        ...keyedProblems,
        BodyTooLarge,
        UserNotFound,
        QuestNotFound,
        QuestStartConflict,
      ],
    })
      .annotate(OpenTo, ["user"])
      .annotate(UserNamed, named)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Start a quest for a user",
          description:
            "Starts a quest with `optIn`: events count for it from now on, in the present period. Creates the user if new. A start in the same period again changes nothing and replies with the present progress; so does a start after the completion. 409: the quest is not active, has no `optIn` (`conflict`), or is not open to the user (`quest_locked`: the segment or a prerequisite). A start gives nothing, so it cannot be revoked; progress expires with the period.",
        }),
      ),
    HttpApiEndpoint.get("streakCalendar", "/v1/users/:id/streaks/:key/calendar", {
      params: { ...params, key: StreakKey },
      query: { from: Schema.optionalKey(CalendarDay), to: Schema.optionalKey(CalendarDay) },
      success: StreakCalendar,
      error: [...readProblems, StreakOfUserNotFound],
    })
      .annotate(OpenTo, ["read", "user"])
      .annotate(UserNamed, named)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read the calendar of a user's streak",
          description: `Lists each day, week or month with its status, from that of \`from\` to that of \`to\`, in the user's time zone: at most ${limits.streakCalendarPeriodsMax} of them. By default \`to\` is today, and \`from\` 30 days, weeks or months earlier. Nothing is listed before the user and the streak began, or after now. The server remembers ${limits.streakRangesMax} runs of days without a gap for each streak; earlier ones are not listed.`,
        }),
      ),
    HttpApiEndpoint.post("pauseStreak", "/v1/users/:id/streaks/:key/pauses", {
      params: { ...params, key: StreakKey },
      headers: idempotencyHeaders,
      payload: PausedDays,
      success: ChangedStreak,
      error: [...writeProblems, StreakOfUserNotFound, StreakPauseConflict],
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Pause a user's streak",
        description: `Covers days of a streak, past or to come: the user misses none of them, and an event on one counts as on any other day. A streak that broke on such days runs again, and two runs become one; milestones and badges for the longer streak pay, and do not score. Days that are covered already change nothing. The server remembers ${limits.streakPauseRangesMax} ranges of such days for each streak. A pause takes nothing, so it cannot be revoked.`,
      }),
    ),
    HttpApiEndpoint.post("repairStreak", "/v1/users/:id/streaks/:key/repair", {
      params: { ...params, key: StreakKey },
      headers: idempotencyHeaders,
      payload: NewRepair,
      success: Spend,
      error: [...writeProblems, RepairedNotFound, RepairConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Repair a user's streak",
          description: `Repairs the last break of a streak whose definition has \`repair\`, and takes its price: all of it, or nothing happens. The streak runs on as if freezes had covered the days from the break until yesterday; they do not count, and a streak that has begun since joins it. It pays nothing at once: milestones and badges for the longer streak pay with the next day, week or month that is kept. \`repair\` of \`GET /v1/users/:id/streaks\` tells when a repair is possible, and for what. A repair is a spend: its \`id\` is that of a spend, it is in the list of spends, and \`DELETE /v1/users/:id/points/spend/:spendId\` undoes it, after which the streak is what it would be without it. Of one whose days the server has forgotten (${limits.streakRepairsMax} later repairs of the streak), only the price returns. 409: \`streak_not_active\`; \`streak_not_repairable\`: it has no \`repair\`; \`streak_not_broken\`; \`repair_too_late\`; \`insufficient_balance\` names each balance that is too small.`,
        }),
      ),
    HttpApiEndpoint.get("segments", "/v1/users/:id/segments", {
      params,
      success: UserSegments,
      error: [...readProblems, UserNotFound],
    })
      .annotate(OpenTo, ["read"])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user's segments",
          description:
            "Returns the active segments that the user is in now: by the user's present state, definitions and time.",
        }),
      ),
    HttpApiEndpoint.get("history", "/v1/users/:id/history", {
      params,
      query: {
        ...pageQuery("history"),
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
          description: `Returns a token with which the user's own browser or phone asks, in place of a key. Make it on your server, for the user who is signed in there, with a secret key. It reads this user, their progress, history and stream, leaderboards (\`around\` this user), active quests, and badges that are not secret; starts quests of this user; and sends single events of this user, not dated, with actions that the project's setting \`clientActions\` lists. With the scope \`purchases\` it also buys items for this user, and spends what they cost; it refunds none. Anything else is 403 \`insufficient_scope\`. A token needs no user yet; the first event creates one. It has its own rate limit, ${limits.userRequestsPerMinute} requests a minute for each user; all users together have that of the key's tier, apart from the key's own. Tokens are not stored: one ends when it expires, or when the key that made it is revoked or expires. Revoking that key is the only way to end a token early; erasing the user is none: an event sent with the token creates the user again. An \`Idempotency-Key\` is ignored.`,
        }),
      ),
    HttpApiEndpoint.post("merge", "/v1/users/:id/merge", {
      params: { id: UserId.annotate({ examples: ["visitor-7"] }) },
      headers: idempotencyHeaders,
      payload: MergeRequest,
      success: MergedUser,
      error: [...writeProblems, UserNotFound, MergeConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Merge a user into another",
          description: `Merges this user, such as a visitor who signs up, into the user \`into\`. Balances, counts and values of metrics add up by their kind; badges, quests and the days of streaks unite, and what paid once stays paid once; scores of open leaderboard windows add up, and the former id leaves all leaderboards, those of closed windows too. Badges, quests and milestones that the two reach together are earned now, without a score. Profile, time zone and time of creation are those of \`into\`. Both histories read as one. From now on the former id leads to \`into\`: events, rewards, spends, undo, reads, export and erasure. A repeat of an event with an id that one of them has used is a duplicate; of equal ids the record of \`into\` counts. Replies once all of it is on disk; a repeat replies the same. A merge cannot be undone. 404: one of them does not exist. 409 \`user_merged\`: one of them was merged into another before, or is just being merged. At most ${limits.mergedUsersMax} users can be merged into one.`,
        }),
      ),
    HttpApiEndpoint.post("reward", "/v1/users/:id/rewards", {
      params,
      headers: idempotencyHeaders,
      payload: RewardGrant,
      success: RewardOutcome,
      error: [...writeProblems, RewardedNotFound, RewardConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Grant a reward",
          description:
            "Grants the user a reward; creates a new user. `reward` gives several parts at once, which are undone together; `type` gives one. A body with both is refused. Replies once the outcome is on disk. An `id` that the user has used for a reward changes nothing: the reply is the first outcome with `duplicate: true`, `differs` if the body is not that of the first reward, and `revoked: true` if that was revoked.",
        }),
      ),
    HttpApiEndpoint.post("spend", "/v1/users/:id/points/spend", {
      params,
      headers: idempotencyHeaders,
      payload: NewSpend,
      success: Spend,
      error: [...writeProblems, SpenderNotFound, SpendConflict],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Spend points and other currencies",
          description:
            "Takes points, or amounts of several currencies, from the user's balances, whole or not at all: 409 `insufficient_points` (of `amount`) or `insufficient_balance` (of `currencies`) names each balance that is too small. An `id` that the user has used for a spend changes nothing: with the same content the reply is the first outcome with `duplicate: true`, with other content 409 `id_reused`, which tells by `differs` where. Xp, level, badges and leaderboards do not change; badges by points count the points earned, spent ones included. Replies once the outcome is on disk.",
        }),
      ),
    HttpApiEndpoint.delete("refund", "/v1/users/:id/points/spend/:spendId", {
      params: {
        ...params,
        spendId: eitherId("spend", ["spd_0mi8k3f2a4c92", "order-1001"]),
      },
      headers: idempotencyHeaders,
      success: Refund,
      error: [...readProblems, ...keyedProblems, SpendNotFound, BodyTooLarge],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke a spend",
          description:
            "Returns the points and other currencies of a spend to the balances, above a currency's `max` too. What was spent and whose event or reward was revoked afterwards is not returned; `shortfall` has it. So a user never has more than was earned and not revoked. Revoking twice returns 404 with `revokedAt`, and changes nothing; a retry with the `Idempotency-Key` of the first request returns its reply.",
        }),
      ),
    HttpApiEndpoint.delete("revokeReward", "/v1/users/:id/rewards/:rewardId", {
      params: {
        ...params,
        rewardId: eitherId("reward", ["rwd_0mi8k3f2a4c92", "welcome-user-42"]),
      },
      headers: idempotencyHeaders,
      success: RewardRevocation,
      error: [...readProblems, ...keyedProblems, RewardNotFound, BodyTooLarge],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke a reward",
          description:
            "Takes back what the reward gave; level, badges and open leaderboards follow. A granted badge stays if the user meets its criteria. No balance goes below 0: `shortfall` has points that were spent already. Revoking twice returns 404 with `revokedAt`, and changes nothing; a retry with the `Idempotency-Key` of the first request returns its reply.",
        }),
      ),
    HttpApiEndpoint.delete("revokeEvent", "/v1/users/:id/events/:eventId", {
      params: {
        ...params,
        eventId: eitherId("event", ["evt_0mi8k3f2a4c92", eventKey]),
      },
      headers: idempotencyHeaders,
      success: EventRevocation,
      error: [...readProblems, ...keyedProblems, EventNotFound, BodyTooLarge],
    })
      .annotate(OpenTo, [])
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke an event",
          description:
            "Takes back what the event gave: xp, points, badges, quest steps and completions, uses of limits, values of metrics, and counts towards badges, including those made by a backfill. Level and open leaderboards follow. So is what a badge paid with the event; the badge pays again when the user earns it again. The user loses a badge or tier whose target is no longer reached, but keeps what other events were paid for it; a badge given by a rule or quest stays if the user meets its criteria. A quest completed by another event stays completed. Streak days, badges earned by a streak, running cooldowns and closed leaderboard windows stay. No balance goes below 0: `shortfall` has points that were spent already. Revoking twice returns 404 with `revokedAt`, and changes nothing; a retry with the `Idempotency-Key` of the first request returns its reply.",
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
