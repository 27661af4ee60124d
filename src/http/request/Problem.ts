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

export const insufficientScope = (scope: CallerScope): LaurelError =>
  laurelError(
    "insufficient_scope",
    scopeWords[scope] ?? `The scope ${scope} does not permit this operation.`,
  )

const scopeWords: { readonly [Scope in CallerScope]?: string } = {
  publishable:
    "A publishable key may only read leaderboards, badges and active quests, without naming a user. Send this request from a server, with a secret key.",
  user: "A user token may only read its own user, leaderboards, badges and active quests, and send events of its own user with actions that the setting clientActions lists. Send this request from a server, with a secret key.",
}
