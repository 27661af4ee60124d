/**
 * Every error that a caller can receive: its stable code, HTTP status and title. An error is plain
 * data, so the journal can store it (the kept reply of an Idempotency-Key). Its texts never contain
 * a secret.
 */
import { Result } from "effect"

export const errorKinds = {
  invalid_json: { status: 400, title: "Invalid JSON" },
  invalid_request: { status: 400, title: "Invalid request" },
  invalid_signature: { status: 400, title: "Invalid signature" },
  malformed_request: { status: 400, title: "Malformed HTTP request" },
  unauthorized: { status: 401, title: "Authentication required" },
  insufficient_scope: { status: 403, title: "Insufficient scope" },
  address_not_allowed: { status: 403, title: "Address not allowed" },
  origin_not_allowed: { status: 403, title: "Origin not allowed" },
  insufficient_role: { status: 403, title: "Insufficient role" },
  sandbox_only: { status: 403, title: "Only for sandboxes" },
  confirmation_required: { status: 403, title: "Confirmation required" },
  not_found: { status: 404, title: "Not found" },
  user_not_found: { status: 404, title: "User not found" },
  quest_not_found: { status: 404, title: "Quest not found" },
  badge_not_found: { status: 404, title: "Badge not found" },
  experiment_not_found: { status: 404, title: "Experiment not found" },
  leaderboard_not_found: { status: 404, title: "Leaderboard not found" },
  league_not_found: { status: 404, title: "League not found" },
  mechanic_not_found: { status: 404, title: "Mechanic not found" },
  cohort_not_found: { status: 404, title: "Cohort not found" },
  boost_not_found: { status: 404, title: "Boost not found" },
  boost_not_active: { status: 409, title: "Boost not active" },
  opening_closed: { status: 409, title: "Opening closed" },
  currency_not_found: { status: 404, title: "Currency not found" },
  metric_not_found: { status: 404, title: "Metric not found" },
  event_not_found: { status: 404, title: "Event not found" },
  reward_not_found: { status: 404, title: "Reward not found" },
  spend_not_found: { status: 404, title: "Spend not found" },
  goal_not_found: { status: 404, title: "Goal not found" },
  item_not_found: { status: 404, title: "Item not found" },
  purchase_not_found: { status: 404, title: "Purchase not found" },
  source_not_found: { status: 404, title: "Source not found" },
  rule_not_found: { status: 404, title: "Rule not found" },
  segment_not_found: { status: 404, title: "Segment not found" },
  streak_not_found: { status: 404, title: "Streak not found" },
  team_not_found: { status: 404, title: "Team not found" },
  member_not_found: { status: 404, title: "Member not found" },
  webhook_not_found: { status: 404, title: "Webhook not found" },
  delivery_not_found: { status: 404, title: "Delivery not found" },
  backfill_not_found: { status: 404, title: "Backfill not found" },
  project_not_found: { status: 404, title: "Project not found" },
  key_not_found: { status: 404, title: "API key not found" },
  account_not_found: { status: 404, title: "Account not found" },
  invitation_not_found: { status: 404, title: "Invitation not found" },
  passkey_not_found: { status: 404, title: "Passkey not found" },
  session_not_found: { status: 404, title: "Session not found" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
  request_timeout: { status: 408, title: "Request timeout" },
  conflict: { status: 409, title: "Conflict with the current state" },
  quest_not_active: { status: 409, title: "Quest not active" },
  quest_incomplete: { status: 409, title: "Quest incomplete" },
  quest_locked: { status: 409, title: "Quest locked" },
  badge_not_active: { status: 409, title: "Badge not active" },
  invalid_transition: { status: 409, title: "Invalid change of status" },
  webhook_disabled: { status: 409, title: "Webhook disabled" },
  insufficient_points: { status: 409, title: "Insufficient points" },
  insufficient_balance: { status: 409, title: "Insufficient balance" },
  currency_not_spendable: { status: 409, title: "Currency not spendable" },
  streak_not_active: { status: 409, title: "Streak not active" },
  streak_not_repairable: { status: 409, title: "Streak not repairable" },
  streak_not_broken: { status: 409, title: "Streak not broken" },
  repair_too_late: { status: 409, title: "Too late to repair" },
  item_not_active: { status: 409, title: "Item not for sale" },
  not_in_segment: { status: 409, title: "Not in the segment" },
  limit_reached: { status: 409, title: "Limit reached" },
  sold_out: { status: 409, title: "Sold out" },
  balance_overflow: { status: 409, title: "Balance out of range" },
  key_taken: { status: 409, title: "Key taken" },
  in_use: { status: 409, title: "Used by other definitions" },
  id_reused: { status: 409, title: "Id used for other content" },
  user_merged: { status: 409, title: "User merged into another" },
  quota_exceeded: { status: 409, title: "Quota exceeded" },
  idempotency_in_progress: { status: 409, title: "Request with this key in progress" },
  gone: { status: 410, title: "No longer available" },
  version_conflict: { status: 412, title: "Changed since this version" },
  body_too_large: { status: 413, title: "Body too large" },
  batch_too_large: { status: 413, title: "Batch larger than the rate limit" },
  unsupported_media_type: { status: 415, title: "Unsupported media type" },
  misdirected_request: { status: 421, title: "Unknown host name" },
  idempotency_key_reused: { status: 422, title: "Idempotency key reused" },
  rate_limited: { status: 429, title: "Too many requests" },
  headers_too_large: { status: 431, title: "Header fields too large" },
  internal_error: { status: 500, title: "Internal error" },
  transfer_coding_not_supported: { status: 501, title: "Transfer coding not supported" },
  overloaded: { status: 503, title: "Server overloaded" },
  storage_unavailable: { status: 503, title: "Storage unavailable for writes" },
  starting: { status: 503, title: "Server starting" },
  shutting_down: { status: 503, title: "Server shutting down" },
  http_version_not_supported: { status: 505, title: "HTTP version not supported" },
} as const

export type ErrorCode = keyof typeof errorKinds

/**
 * A fault of a request. `pointer` is a JSON Pointer into the body, or such as `query/limit`,
 * `path/id`, `header/idempotency-key`.
 */
export interface Fault {
  readonly pointer: string
  readonly code: string
  readonly detail: string
}

/**
 * A refusal, which changed nothing. `retryAfterSeconds` becomes the header field `Retry-After`.
 * `Code` narrows the codes, so that the compiler checks them against the codes that an endpoint
 * declares.
 */
export interface LaurelError<Code extends ErrorCode = ErrorCode> {
  readonly _tag: "LaurelError"
  readonly code: Code
  readonly detail: string
  readonly errors?: ReadonlyArray<Fault>
  readonly retryAfterSeconds?: number
  /** The points that the user can spend. Only with `insufficient_points`. */
  readonly balance?: number
  /**
   * What the user can spend of each currency whose balance is too small, by key. Only with
   * `insufficient_balance`.
   */
  readonly balances?: Readonly<Record<string, number>>
  /**
   * The scope of the caller's key or token, and the scopes of secret keys that permit the request.
   * Only with `insufficient_scope`.
   */
  readonly scope?: string
  readonly neededScopes?: ReadonlyArray<string>
  /** The present version. Only with `version_conflict`. */
  readonly version?: number
  /** Where the body differs from the first with its id. Only with `id_reused`. */
  readonly differs?: ReadonlyArray<string>
  /** When an earlier request revoked the record, ISO 8601. Only with the 404 of a repeated revocation. */
  readonly revokedAt?: string
  /** The error is the kept reply of an Idempotency-Key. */
  readonly replayed?: boolean
}

/** The refusal of one of many commands, with its index among them. */
export interface Refusal {
  readonly index: number
  readonly error: LaurelError
}

export const laurelError = <Code extends ErrorCode>(
  code: Code,
  detail: string,
  more?: Pick<
    LaurelError,
    | "balance"
    | "balances"
    | "differs"
    | "errors"
    | "neededScopes"
    | "retryAfterSeconds"
    | "scope"
    | "version"
  >,
): LaurelError<Code> => ({ _tag: "LaurelError", code, detail, ...more })

/** The refusal of an invalid request, with all of its faults. */
export const invalidRequest = (errors: ReadonlyArray<Fault>): LaurelError<"invalid_request"> =>
  laurelError(
    "invalid_request",
    errors.map((fault) => `${fault.pointer}: ${fault.detail}`).join("; "),
    { errors },
  )

/** The failed result of a decision. */
export const refuse = <Code extends ErrorCode>(code: Code, detail: string) =>
  Result.fail(laurelError(code, detail))

/** The refusal of one more of `things` ("rules per environment"). */
export const quotaError = (max: number, things: string): LaurelError<"quota_exceeded"> =>
  laurelError("quota_exceeded", `At most ${max} ${things} are allowed.`)

/** Refuses one more of `things`. */
export const quotaExceeded = (max: number, things: string) => Result.fail(quotaError(max, things))
