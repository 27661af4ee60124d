/** The errors that operations declare: RFC 9457 problem details, one schema per status and meaning. */
import { Schema } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { type ErrorCode, errorKinds } from "../../domain/Errors.ts"

export const Fault = Schema.Struct({
  pointer: Schema.String.annotate({
    description:
      "Where: a JSON Pointer into the body (`/reward/xp`, for NDJSON `/<line from 0>/…`), or `query/<name>`, `path/<name>`, `header/<name>`.",
    examples: ["/metadata/questId"],
  }),
  code: Schema.String.annotate({
    description: "What, as a stable word.",
    examples: ["invalid_type"],
  }),
  detail: Schema.String.annotate({ description: "What, for people." }),
}).annotate({ identifier: "Fault", description: "One thing wrong with a request." })

const fault = { pointer: "/userId", code: "invalid_type", detail: "must be a string" }

export const problemContentType = "application/problem+json"

/** The `type` of a problem: a URI that names its code. */
export const problemType = (code: ErrorCode): string => `urn:laurel:error:${code}`

const problem = <const Codes extends readonly [ErrorCode, ...ReadonlyArray<ErrorCode>]>(
  identifier: string,
  codes: Codes,
) => {
  const [code] = codes
  const { status, title } = errorKinds[code]
  const example = {
    type: problemType(code),
    title,
    status,
    detail: code === "invalid_request" ? `${fault.pointer}: ${fault.detail}` : `${title}.`,
    instance: "/v1/events",
    code,
    requestId: "req_01a1fc1e64c07345932e273286b5ca30",
  }
  return Schema.Struct({
    type: Schema.String.annotate({ description: "A URI that names the code." }),
    title: Schema.String.annotate({ description: "The code in a few words." }),
    status: Schema.Int.annotate({ description: "The HTTP status again." }),
    detail: Schema.String.annotate({ description: "What happened this time, for people." }),
    instance: Schema.String.annotate({ description: "The path that was asked for." }),
    code: Schema.Literals(codes).annotate({ description: "The stable word for programs." }),
    requestId: Schema.String.annotate({
      description: "The same as the reply's `X-Request-Id`; the log has it too.",
    }),
    errors: Schema.optionalKey(Schema.Array(Fault)).annotate({
      description: "For invalid input: everything that is wrong with it, at once.",
    }),
  }).pipe(
    HttpApiSchema.asJson({ contentType: problemContentType }),
    HttpApiSchema.status(status),
    (schema) =>
      schema.annotate({
        identifier,
        examples: [code === "invalid_request" ? { ...example, errors: [fault] } : example],
        description: codes.map((code) => `\`${code}\`: ${errorKinds[code].title}`).join(". "),
      }),
  )
}

export const BadRequest = problem("BadRequest", [
  "invalid_request",
  "invalid_json",
  "malformed_request",
])
export const Unauthorized = problem("Unauthorized", ["unauthorized"])
export const InsufficientScope = problem("InsufficientScope", ["insufficient_scope"])
export const UserNotFound = problem("UserNotFound", ["user_not_found"])
export const QuestNotFound = problem("QuestNotFound", ["quest_not_found"])
export const RuleNotFound = problem("RuleNotFound", ["rule_not_found"])
export const BadgeNotFound = problem("BadgeNotFound", ["badge_not_found"])
export const EventNotFound = problem("EventNotFound", ["event_not_found"])
export const RewardNotFound = problem("RewardNotFound", ["reward_not_found"])
export const BackfillNotFound = problem("BackfillNotFound", [
  "backfill_not_found",
  "badge_not_found",
])
export const BackfillConflict = problem("BackfillConflict", [
  "conflict",
  "invalid_transition",
  "idempotency_in_progress",
])
export const EventConflict = problem("EventConflict", [
  "quest_not_active",
  "quest_incomplete",
  "quest_locked",
  "balance_overflow",
  "idempotency_in_progress",
])
export const BalanceConflict = problem("BalanceConflict", [
  "balance_overflow",
  "idempotency_in_progress",
])
export const BatchConflict = problem("BatchConflict", ["idempotency_in_progress"])
export const DefinitionConflict = problem("DefinitionConflict", [
  "quota_exceeded",
  "idempotency_in_progress",
])
export const WebhookNotFound = problem("WebhookNotFound", ["webhook_not_found"])
export const DeliveryNotFound = problem("DeliveryNotFound", ["delivery_not_found"])
export const WebhookConflict = problem("WebhookConflict", [
  "webhook_disabled",
  "idempotency_in_progress",
])
export const StreamQuota = problem("StreamQuota", ["quota_exceeded"])
export const Gone = problem("Gone", ["gone"])
export const ChangeConflict = problem("ChangeConflict", ["invalid_transition", "in_use"])
export const UseConflict = problem("UseConflict", ["in_use"])
export const ArchivedConflict = problem("ArchivedConflict", ["invalid_transition"])
export const BodyTooLarge = problem("BodyTooLarge", ["body_too_large"])
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
export const NotReady = problem("NotReady", ["starting", "shutting_down"])

/** What every authenticated operation may answer besides its own errors. */
export const readProblems = [
  BadRequest,
  Unauthorized,
  InsufficientScope,
  RateLimited,
  InternalError,
  Unavailable,
] as const

/** What those that take a body may answer besides. */
export const bodyProblems = [BodyTooLarge, UnsupportedMediaType] as const

/** What a POST may answer. */
export const writeProblems = [...readProblems, ...bodyProblems, IdempotencyKeyReused] as const
