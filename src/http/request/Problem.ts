/** Errors as callers see them: RFC 9457 problem details. */

import type { CallerScope } from "../../domain/project/Directory.ts"
import { errorKinds, type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { problemType } from "../api/Problems.ts"

/** The body of an error reply; `path` is the path of the request. */
export const problemBody = (error: LaurelError, path: string, requestId: string): string => {
  const { status, title } = errorKinds[error.code]
  return JSON.stringify({
    type: problemType(error.code),
    title,
    status,
    detail: error.detail,
    instance: path,
    code: error.code,
    requestId,
    errors: error.errors,
    balance: error.balance,
    balances: error.balances,
    scope: error.scope,
    neededScopes: error.neededScopes,
    version: error.version,
    differs: error.differs,
    revokedAt: error.revokedAt,
  })
}

/** Header fields of the reply to `error`: names and values in turn. */
export const problemHeaders = (error: LaurelError): Array<string> => {
  const headers: Array<string> = []
  if (error.code === "unauthorized") headers.push("WWW-Authenticate", "Bearer")
  if (error.retryAfterSeconds !== undefined) {
    headers.push("Retry-After", String(error.retryAfterSeconds))
  }
  if (error.replayed) headers.push("Idempotency-Replayed", "true")
  return headers
}

/* Refusals common to all operations. */

export const internalError = laurelError(
  "internal_error",
  "The server failed; whether the request was applied is unknown.",
)

/**
 * The refusal of a caller whose scope is not one of `scopes`, or that is a client and names another
 * user. `detail` replaces the words about the caller.
 */
export const insufficientScope = (
  scopes: Iterable<CallerScope>,
  scope: CallerScope,
  detail: string | undefined = clientWords[scope],
): LaurelError<"insufficient_scope"> => {
  const neededScopes = [...scopes].filter((each) => clientWords[each] === undefined)
  const needed = `the scope ${neededScopes.join(" or ")}`
  return laurelError(
    "insufficient_scope",
    detail === undefined
      ? `The operation needs ${needed}; the key has ${scope}.`
      : `${detail} Send this request from a server, with a secret key that has ${needed}.`,
    { neededScopes, scope },
  )
}

const clientWords: { readonly [Scope in CallerScope]?: string } = {
  publishable:
    "A publishable key may only read leaderboards, badges and active quests, without naming a user.",
  user: "A user token may only read its own user, leaderboards, badges and active quests, and send events of its own user with actions that the setting clientActions lists.",
}
