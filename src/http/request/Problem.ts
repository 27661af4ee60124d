/** Errors as callers see them: RFC 9457 problem details. */
import { errorKinds, type LaurelError } from "../../domain/values/Errors.ts"
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
