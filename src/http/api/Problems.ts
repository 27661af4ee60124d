/**
 * The errors that operations declare: RFC 9457 problem details, with one schema for each status and
 * meaning.
 */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { type ErrorCode, errorKinds } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import {
  boostId,
  countedBadgeId,
  goalId,
  leaderboardId,
  leagueId,
  metricId,
  ruleId,
  webhookId,
} from "./examples/exampleIds.ts"
import { type Occurrence, occurrences } from "./examples/problemExamples.ts"

const fault = { pointer: "/userId", code: "invalid_type", detail: "must be a string" }

export const Fault = Schema.Struct({
  pointer: Schema.String.annotate({
    description:
      "Place of the fault: a JSON Pointer into the body (`/reward/xp`, for NDJSON `/<line from 0>/…`), or `query/<name>`, `path/<name>`, `header/<name>`.",
    examples: ["/metadata/questId"],
  }),
  code: Schema.String.annotate({
    description: "Stable code for programs.",
    examples: ["invalid_type"],
  }),
  detail: Schema.String.annotate({
    description: "Explanation for people.",
    examples: [fault.detail],
  }),
}).annotate({
  identifier: "Fault",
  description: "One fault of a request.",
  examples: [fault],
})

/** Where a body differs from the first one with its `id`. `when` begins the description. */
export const differs = (when: string, example: string) =>
  Schema.optionalKey(
    Schema.Array(Schema.String).annotate({
      description: `${when}: JSON Pointers to the members whose values differ, at most ${limits.differencesMax}. A member that only one body has differs, too. The order of members and the spelling of numbers do not matter, and \`/occurredAt\` counts only if both bodies have it. Keys are cut after ${limits.pointerKeyCharactersMax} characters. Absent if nothing differs.`,
      examples: [[example]],
    }),
  )

type ProblemCode = keyof typeof occurrences & ErrorCode

export const problemContentType = "application/problem+json"

/** The `type` of a problem: a URI that names its code. */
export const problemType = (code: ErrorCode): string => `urn:laurel:error:${code}`

/** The example of a problem. `more` has the words that differ for one operation. */
const exampleOf = (code: ProblemCode, more: Partial<Occurrence> = {}) => {
  const { status, title } = errorKinds[code]
  return {
    type: problemType(code),
    title,
    status,
    ...occurrences[code],
    ...more,
    code,
    requestId: "req_01a1fc1e64c07345932e273286b5ca30",
    ...(code === "invalid_request" && { errors: [fault] }),
    ...(code === "insufficient_points" && { balance: 300 }),
    ...(code === "insufficient_balance" && { balances: { gems: 2, coins: 0 } }),
    ...(code === "insufficient_scope" && { scope: "read", neededScopes: ["full", "ingest"] }),
    ...(code === "version_conflict" && { version: 4 }),
    ...(code === "id_reused" && { differs: ["/amount"] }),
    ...(code === "opening_closed" && { differs: ["/balances/xp"] }),
  }
}

const members = {
  type: Schema.String.annotate({ description: "A URI that names the code." }),
  title: Schema.String.annotate({ description: "Short description of the code." }),
  status: Schema.Int.annotate({ description: "The HTTP status." }),
  detail: Schema.String.annotate({ description: "Explanation of this occurrence, for people." }),
  instance: Schema.String.annotate({ description: "Path of the request." }),
  requestId: Schema.String.annotate({
    description: "The request's id, as in `X-Request-Id` and the log.",
  }),
}

type Codes = readonly [ProblemCode, ...ReadonlyArray<ProblemCode>]

const codeOf = <const Some extends Codes>(codes: Some) =>
  Schema.Literals(codes).annotate({ description: "Stable code for programs." })

export const problem = <const Some extends Codes>(
  identifier: string,
  codes: Some,
  more: Partial<Record<Some[number], Partial<Occurrence>>> = {},
) => declare(identifier, codes, Schema.Struct({ ...members, code: codeOf(codes) }), more)

/** The problem of a read or a revocation that finds no event, reward, spend or purchase. */
const notRevocable = <const Some extends Codes>(identifier: string, codes: Some) =>
  declare(
    identifier,
    codes,
    Schema.Struct({
      ...members,
      code: codeOf(codes),
      revokedAt: Schema.optionalKey(Schema.String).annotate({
        description:
          "Of a revocation: when an earlier request revoked it. This request changed nothing. Absent: nothing has this id.",
        format: "date-time",
        examples: ["2026-11-01T09:30:00.000Z"],
      }),
    }),
  )

/**
 * Annotates the schema of a problem with one of `codes`: media type, status, description, examples.
 */
const declare = <Shape extends Schema.Top>(
  identifier: string,
  codes: Codes,
  shape: Shape,
  more: Partial<Record<ProblemCode, Partial<Occurrence>>> = {},
) =>
  shape.pipe(
    HttpApiSchema.asJson({ contentType: problemContentType }),
    HttpApiSchema.status(errorKinds[codes[0]].status),
    (schema) =>
      schema.annotate({
        identifier,
        examples: codes.map((code) => exampleOf(code, more[code])),
        description: codes.map((code) => `\`${code}\`: ${errorKinds[code].title}`).join(". "),
      }),
  )

const webhookPath = `/v1/webhooks/${webhookId}`
const badgePath = `/v1/badges/${countedBadgeId}`
const leaderboardPath = `/v1/leaderboards/${leaderboardId}`
const teamBoardPath = "/v1/leaderboards/club-cup/teams"
const leagueOfUserPath = `/v1/users/user-42/leagues/${leagueId}`
const goalOfTeamPath = `/v1/goals/${goalId}/teams/falcons`
const leaguePath = `/v1/leagues/${leagueId}`
const boostPath = `/v1/boosts/${boostId}`

const badRequests = ["invalid_request", "invalid_json", "malformed_request"] as const
export const BadRequest = declare(
  "BadRequest",
  badRequests,
  Schema.Struct({
    ...members,
    code: codeOf(badRequests),
    errors: Schema.optionalKey(Schema.Array(Fault)).annotate({
      description: "For `invalid_request`: all faults.",
    }),
  }),
)
export const Unauthorized = problem("Unauthorized", ["unauthorized"])
const callerScope = Schema.Literals(["full", "ingest", "read", "publishable", "user"])
export const InsufficientScope = declare(
  "InsufficientScope",
  ["insufficient_scope"],
  Schema.Struct({
    ...members,
    code: codeOf(["insufficient_scope"]),
    scope: Schema.optionalKey(
      callerScope.annotate({ description: "The scope of the key or token that was sent." }),
    ),
    neededScopes: Schema.optionalKey(
      Schema.Array(callerScope).annotate({
        description: "The scopes of secret keys that permit the request.",
      }),
    ),
  }),
)
export const KeyRestricted = problem("KeyRestricted", ["address_not_allowed", "origin_not_allowed"])
export const SandboxOnly = problem("SandboxOnly", ["sandbox_only"])
export const UserNotFound = problem("UserNotFound", ["user_not_found"])
export const QuestNotFound = problem("QuestNotFound", ["quest_not_found"])
export const RuleNotFound = problem("RuleNotFound", ["rule_not_found"])
export const SegmentNotFound = problem("SegmentNotFound", ["segment_not_found"])
export const StreakNotFound = problem("StreakNotFound", ["streak_not_found"])
export const BadgeNotFound = problem("BadgeNotFound", ["badge_not_found"])
export const ExperimentNotFound = problem("ExperimentNotFound", ["experiment_not_found"])
export const LeaderboardNotFound = problem("LeaderboardNotFound", ["leaderboard_not_found"])
export const LeaderboardOrTeamNotFound = problem(
  "LeaderboardOrTeamNotFound",
  ["leaderboard_not_found", "team_not_found"],
  {
    leaderboard_not_found: { instance: teamBoardPath },
    team_not_found: { instance: teamBoardPath },
  },
)
export const LeagueNotFound = problem("LeagueNotFound", ["league_not_found"])
export const MechanicNotFound = problem("MechanicNotFound", ["mechanic_not_found"])
export const CohortNotFound = problem("CohortNotFound", ["league_not_found", "cohort_not_found"], {
  league_not_found: { instance: `/v1/leagues/${leagueId}/cohorts/silver-12` },
})
export const LeagueOfUserNotFound = problem(
  "LeagueOfUserNotFound",
  ["league_not_found", "user_not_found"],
  {
    league_not_found: { instance: leagueOfUserPath },
    user_not_found: { instance: leagueOfUserPath },
  },
)
export const BoostNotFound = problem("BoostNotFound", ["boost_not_found"])
export const CurrencyNotFound = problem("CurrencyNotFound", ["currency_not_found"])
export const MetricNotFound = problem("MetricNotFound", ["metric_not_found"])
export const EventNotFound = notRevocable("EventNotFound", ["event_not_found"])
export const GoalNotFound = problem("GoalNotFound", ["goal_not_found"])
export const GoalOfTeamNotFound = problem(
  "GoalOfTeamNotFound",
  ["goal_not_found", "team_not_found"],
  {
    goal_not_found: { instance: goalOfTeamPath },
    team_not_found: { instance: goalOfTeamPath },
  },
)
export const ItemNotFound = problem("ItemNotFound", ["item_not_found"])
export const PurchaseNotFound = notRevocable("PurchaseNotFound", ["purchase_not_found"])
/** The user, the item or a currency of its price. */
export const BuyerNotFound = problem(
  "BuyerNotFound",
  ["user_not_found", "item_not_found", "currency_not_found"],
  { item_not_found: { instance: "/v1/users/user-42/purchases" } },
)
export const RewardNotFound = notRevocable("RewardNotFound", ["reward_not_found"])
/** The badge, a currency, a streak or the boost of a reward. */
export const RewardedNotFound = problem("RewardedNotFound", [
  "badge_not_found",
  "currency_not_found",
  "streak_not_found",
  "boost_not_found",
])
/** The user or the streak. */
export const StreakOfUserNotFound = problem("StreakOfUserNotFound", [
  "user_not_found",
  "streak_not_found",
])
/** The user or the metric of a series. */
export const UserOrMetricNotFound = problem("UserOrMetricNotFound", [
  "user_not_found",
  "metric_not_found",
])
/** The user, the streak or a currency of a repair. */
export const RepairedNotFound = problem("RepairedNotFound", [
  "user_not_found",
  "streak_not_found",
  "currency_not_found",
])
/** The user or a currency of a spend. */
export const SpenderNotFound = problem("SpenderNotFound", ["user_not_found", "currency_not_found"])
export const SpendNotFound = notRevocable("SpendNotFound", ["spend_not_found"])
export const BackfillNotFound = problem("BackfillNotFound", [
  "backfill_not_found",
  "badge_not_found",
])
export const MetricBackfillNotFound = problem(
  "MetricBackfillNotFound",
  ["backfill_not_found", "metric_not_found"],
  { backfill_not_found: { instance: `/v1/metrics/${metricId}/backfill` } },
)
export const BackfillConflict = problem(
  "BackfillConflict",
  ["conflict", "invalid_transition", "idempotency_in_progress"],
  {
    invalid_transition: {
      detail: "The badge is archived: only an active badge is awarded.",
      instance: `${badgePath}/backfill`,
    },
  },
)
export const TestClockConflict = problem(
  "TestClockConflict",
  ["conflict", "idempotency_in_progress"],
  {
    conflict: {
      detail: "The clock is advancing to 2026-12-01T00:00:00.000Z. Wait.",
      instance: "/v1/test-clock",
    },
  },
)
export const EventConflict = problem("EventConflict", [
  "quest_not_active",
  "quest_incomplete",
  "quest_locked",
  "balance_overflow",
  "idempotency_in_progress",
])
export const QuestStartConflict = problem(
  "QuestStartConflict",
  ["conflict", "quest_not_active", "quest_locked", "idempotency_in_progress"],
  {
    conflict: {
      detail: "The quest has no optIn: the first event that counts starts it.",
      instance: "/v1/users/user-42/quests/first-steps/start",
    },
  },
)
export const StreakPauseConflict = problem(
  "StreakPauseConflict",
  ["conflict", "balance_overflow", "idempotency_in_progress"],
  {
    conflict: {
      detail: "The streak has ended.",
      instance: "/v1/users/user-42/streaks/daily/pauses",
    },
  },
)
export const MergeConflict = problem(
  "MergeConflict",
  ["user_merged", "quota_exceeded", "balance_overflow", "idempotency_in_progress"],
  {
    quota_exceeded: {
      detail: "At most 100 users can be merged into one.",
      instance: "/v1/users/visitor-7/merge",
    },
  },
)
const openingConflicts = ["opening_closed", "idempotency_in_progress"] as const
export const OpeningConflict = declare(
  "OpeningConflict",
  openingConflicts,
  Schema.Struct({
    ...members,
    code: codeOf(openingConflicts),
    differs: differs("For `opening_closed`, if the user has an opening", "/balances/xp"),
  }),
)
export const RewardConflict = problem("RewardConflict", [
  "badge_not_active",
  "boost_not_active",
  "quota_exceeded",
  "balance_overflow",
  "idempotency_in_progress",
])
const spendConflicts = [
  "insufficient_points",
  "insufficient_balance",
  "currency_not_spendable",
  "id_reused",
  "idempotency_in_progress",
] as const
export const SpendConflict = declare(
  "SpendConflict",
  spendConflicts,
  Schema.Struct({
    ...members,
    code: codeOf(spendConflicts),
    balance: Schema.optionalKey(Schema.Int).annotate({
      description: "For `insufficient_points`: the points that the user can spend.",
    }),
    balances: Schema.optionalKey(Schema.Record(Schema.String, Schema.Int)).annotate({
      description:
        "For `insufficient_balance`: what the user can spend of each currency whose balance is too small, by key.",
    }),
    differs: differs("For `id_reused`", "/amount"),
  }),
)
const repairConflicts = [
  "streak_not_active",
  "streak_not_repairable",
  "streak_not_broken",
  "repair_too_late",
  "insufficient_balance",
  "currency_not_spendable",
  "quota_exceeded",
  "id_reused",
  "idempotency_in_progress",
] as const
export const RepairConflict = declare(
  "RepairConflict",
  repairConflicts,
  Schema.Struct({
    ...members,
    code: codeOf(repairConflicts),
    balances: Schema.optionalKey(Schema.Record(Schema.String, Schema.Int)).annotate({
      description:
        "For `insufficient_balance`: what the user can spend of each currency whose balance is too small, by key.",
    }),
    differs: differs("For `id_reused`", "/repair"),
  }),
)
const purchaseConflicts = [
  "item_not_active",
  "not_in_segment",
  "limit_reached",
  "sold_out",
  "insufficient_balance",
  "currency_not_spendable",
  "balance_overflow",
  "id_reused",
  "idempotency_in_progress",
] as const
const purchasePath = { instance: "/v1/users/user-42/purchases" }
export const PurchaseConflict = declare(
  "PurchaseConflict",
  purchaseConflicts,
  Schema.Struct({
    ...members,
    code: codeOf(purchaseConflicts),
    balances: Schema.optionalKey(Schema.Record(Schema.String, Schema.Int)).annotate({
      description:
        "For `insufficient_balance`: what the user can spend of each currency whose balance is too small, by key.",
    }),
    differs: differs("For `id_reused`", "/item"),
  }),
  {
    insufficient_balance: purchasePath,
    currency_not_spendable: purchasePath,
    balance_overflow: purchasePath,
    id_reused: {
      ...purchasePath,
      detail: "An earlier purchase of the user has this id and other content: /item.",
    },
  },
)
export const VersionConflict = declare(
  "VersionConflict",
  ["version_conflict"],
  Schema.Struct({
    ...members,
    code: codeOf(["version_conflict"]),
    version: Schema.Int.annotate({ description: "The present version." }),
  }),
)
export const KeyInProgress = problem("KeyInProgress", ["idempotency_in_progress"])
export const DefinitionConflict = problem("DefinitionConflict", [
  "key_taken",
  "quota_exceeded",
  "idempotency_in_progress",
])
export const TeamNotFound = problem("TeamNotFound", ["team_not_found"])
/** The team, or the user in it. */
export const MemberNotFound = problem("MemberNotFound", ["member_not_found", "team_not_found"])
export const TeamConflict = problem("TeamConflict", ["quota_exceeded", "idempotency_in_progress"], {
  quota_exceeded: {
    detail: `At most ${limits.teamKindsMax} kinds of teams per environment are allowed.`,
    instance: "/v1/teams/falcons",
  },
})
export const WebhookNotFound = problem("WebhookNotFound", ["webhook_not_found"])
export const DeliveryNotFound = problem("DeliveryNotFound", ["delivery_not_found"])
export const WebhookConflict = problem("WebhookConflict", [
  "webhook_disabled",
  "idempotency_in_progress",
])
export const RotationConflict = problem(
  "RotationConflict",
  ["quota_exceeded", "idempotency_in_progress"],
  {
    quota_exceeded: {
      detail:
        "A webhook has at most 5 active secrets. Wait until one ends, or end all previous ones with graceSeconds 0.",
      instance: `${webhookPath}/rotate-secret`,
    },
  },
)
export const StreamQuota = problem("StreamQuota", ["quota_exceeded"], {
  quota_exceeded: {
    detail: "An environment has at most 200 streams at once.",
    instance: "/v1/stream",
  },
})
export const Gone = problem("Gone", ["gone"])
export const ChangeConflict = problem("ChangeConflict", [
  "invalid_transition",
  "in_use",
  "idempotency_in_progress",
])
export const UseConflict = problem("UseConflict", ["in_use", "idempotency_in_progress"])
export const ArchivedConflict = problem(
  "ArchivedConflict",
  ["invalid_transition", "idempotency_in_progress"],
  {
    invalid_transition: {
      detail: "An archived definition cannot change.",
      instance: `/v1/rules/${ruleId}`,
    },
  },
)
export const BoostConflict = problem(
  "BoostConflict",
  ["invalid_transition", "in_use", "quota_exceeded", "idempotency_in_progress"],
  {
    invalid_transition: {
      detail: "An archived definition cannot change.",
      instance: boostPath,
    },
    quota_exceeded: {
      detail: `At most ${limits.runningBoostsMax} scheduled or active boosts per environment are allowed.`,
      instance: boostPath,
    },
  },
)
export const LeaderboardConflict = problem(
  "LeaderboardConflict",
  ["invalid_transition", "in_use", "quota_exceeded", "idempotency_in_progress"],
  {
    invalid_transition: {
      detail: "An archived definition cannot change.",
      instance: leaderboardPath,
    },
    in_use: {
      detail: "The leaderboard xp always exists: its status cannot change.",
      instance: "/v1/leaderboards/xp",
    },
    quota_exceeded: {
      detail: `At most ${limits.boardsOfCurrencyMax} leaderboards of one currency are allowed.`,
      instance: leaderboardPath,
    },
  },
)
export const EndConflict = problem(
  "EndConflict",
  ["invalid_transition", "idempotency_in_progress"],
  {
    invalid_transition: {
      detail: "The leaderboard is ended: it cannot be closed.",
      instance: `${leaderboardPath}/close`,
    },
  },
)
export const LeagueConflict = problem(
  "LeagueConflict",
  ["invalid_transition", "quota_exceeded", "idempotency_in_progress"],
  {
    invalid_transition: {
      detail: "An archived definition cannot change.",
      instance: leaguePath,
    },
    quota_exceeded: {
      detail: `At most ${limits.leaguesMax} leagues per environment are allowed.`,
      instance: leaguePath,
    },
  },
)
export const BodyTooLarge = problem("BodyTooLarge", ["body_too_large"])
export const BatchTooLarge = problem("BatchTooLarge", ["batch_too_large"])
export const UnsupportedMediaType = problem("UnsupportedMediaType", ["unsupported_media_type"])
export const IdempotencyKeyReused = problem("IdempotencyKeyReused", ["idempotency_key_reused"])
export const RateLimited = problem("RateLimited", ["rate_limited"])
export const InternalError = problem("InternalError", ["internal_error"])
export const Unavailable = problem("Unavailable", [
  "overloaded",
  "storage_unavailable",
  "starting",
  "shutting_down",
])
export const NotReady = problem("NotReady", ["starting", "shutting_down"], {
  starting: {
    detail: "Replaying the journal: 120,000 of 480,000 records.",
    instance: "/readyz",
  },
  shutting_down: { instance: "/readyz" },
})

/** Errors of every authenticated operation. */
export const readProblems = [
  BadRequest,
  Unauthorized,
  InsufficientScope,
  KeyRestricted,
  RateLimited,
  InternalError,
  Unavailable,
] as const

/** Errors of operations with a body. */
export const bodyProblems = [BodyTooLarge, UnsupportedMediaType] as const

/** Errors of a write with an Idempotency-Key that has no other conflicts. */
export const keyedProblems = [IdempotencyKeyReused, KeyInProgress] as const

/** Errors of every change on condition. */
export const changeProblems = [IdempotencyKeyReused, VersionConflict] as const

/** Errors of every POST with a body. */
export const writeProblems = [...readProblems, ...bodyProblems, IdempotencyKeyReused] as const
