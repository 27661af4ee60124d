/**
 * Every error a caller of Laurel can be told, in one table: its stable code, its HTTP status and its title.
 * An error travels as plain data, so that it can be journaled (a kept idempotent reply) and, later,
 * sent between machines. Texts never repeat a secret.
 */
export const errorKinds = {
  invalid_json: { status: 400, title: "The body is not valid JSON" },
  invalid_request: { status: 400, title: "The request is invalid" },
  malformed_request: { status: 400, title: "This is not HTTP as it should be" },
  unauthorized: { status: 401, title: "A valid API key is required" },
  insufficient_scope: { status: 403, title: "The API key may not do this" },
  insufficient_role: { status: 403, title: "The account's role may not do this" },
  confirmation_required: { status: 403, title: "Confirm that it is you" },
  not_found: { status: 404, title: "Nothing is here" },
  user_not_found: { status: 404, title: "No such user" },
  quest_not_found: { status: 404, title: "No such quest" },
  badge_not_found: { status: 404, title: "No such badge" },
  event_not_found: { status: 404, title: "No such event" },
  reward_not_found: { status: 404, title: "No such reward" },
  rule_not_found: { status: 404, title: "No such rule" },
  webhook_not_found: { status: 404, title: "No such webhook" },
  delivery_not_found: { status: 404, title: "No such delivery" },
  backfill_not_found: { status: 404, title: "The badge had no backfill" },
  project_not_found: { status: 404, title: "No such project" },
  key_not_found: { status: 404, title: "No such API key" },
  account_not_found: { status: 404, title: "No such account" },
  invitation_not_found: { status: 404, title: "No such invitation" },
  passkey_not_found: { status: 404, title: "No such passkey" },
  session_not_found: { status: 404, title: "No such session" },
  method_not_allowed: { status: 405, title: "The method is not allowed here" },
  request_timeout: { status: 408, title: "The request took too long to arrive" },
  conflict: { status: 409, title: "The request conflicts with the current state" },
  quest_not_active: { status: 409, title: "The quest is not active" },
  quest_incomplete: { status: 409, title: "Steps of the quest are still open" },
  quest_locked: { status: 409, title: "Other quests come before this one" },
  invalid_transition: { status: 409, title: "The status can not change in this way" },
  webhook_disabled: { status: 409, title: "The webhook is disabled" },
  balance_overflow: { status: 409, title: "The balance would leave the safe integer range" },
  in_use: { status: 409, title: "Other definitions still refer to it" },
  quota_exceeded: { status: 409, title: "The project holds as many of these as it may" },
  idempotency_in_progress: { status: 409, title: "A request with this key is still running" },
  gone: { status: 410, title: "It is not kept any more" },
  body_too_large: { status: 413, title: "The body is too large" },
  unsupported_media_type: { status: 415, title: "The content type is not supported" },
  misdirected_request: { status: 421, title: "The server is not asked under this host name" },
  idempotency_key_reused: { status: 422, title: "The key was used for another request" },
  rate_limited: { status: 429, title: "Too many requests" },
  headers_too_large: { status: 431, title: "The header fields are too large" },
  internal_error: { status: 500, title: "Something went wrong here" },
  transfer_coding_not_supported: { status: 501, title: "The transfer coding is not supported" },
  overloaded: { status: 503, title: "Too much is waiting already" },
  storage_unavailable: { status: 503, title: "The storage takes no writes at the moment" },
  starting: { status: 503, title: "The server is starting" },
  shutting_down: { status: 503, title: "The server is shutting down" },
  http_version_not_supported: { status: 505, title: "The HTTP version is not supported" },
} as const

export type ErrorCode = keyof typeof errorKinds

/** One thing wrong with a request. `pointer` is a JSON Pointer into the body, or `query/limit`, `path/id`, `header/idempotency-key`. */
export interface Fault {
  readonly pointer: string
  readonly code: string
  readonly detail: string
}

/** A refusal: nothing was changed. `retryAfterSeconds` goes into `Retry-After`. */
export interface LaurelError {
  readonly _tag: "LaurelError"
  readonly code: ErrorCode
  readonly detail: string
  readonly errors?: ReadonlyArray<Fault>
  readonly retryAfterSeconds?: number
  /** It is the first answer again, to the same Idempotency-Key. */
  readonly replayed?: boolean
}

export const laurelError = (
  code: ErrorCode,
  detail: string,
  more?: { readonly errors?: ReadonlyArray<Fault>; readonly retryAfterSeconds?: number },
): LaurelError => ({ _tag: "LaurelError", code, detail, ...more })

/** The refusal of input that is wrong in the places that `errors` lists. */
export const invalidRequest = (errors: ReadonlyArray<Fault>): LaurelError =>
  laurelError(
    "invalid_request",
    errors.map((fault) => `${fault.pointer}: ${fault.detail}`).join("; "),
    { errors },
  )
