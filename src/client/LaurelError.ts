import type { Fault, ProblemCode } from "./generated/types.ts"

/**
 * The code of a problem that the server replied with, or one of three codes of the client:
 *
 * - `connection_failed`: no reply, or an incomplete one. The outcome of a write is unknown.
 * - `timeout`: no reply within `timeoutMs`. The outcome of a write is unknown.
 * - `unexpected_reply`: an error reply that is not from Laurel, such as the page of a proxy.
 */
export type LaurelErrorCode = ProblemCode | "connection_failed" | "timeout" | "unexpected_reply"

interface Details {
  readonly code: LaurelErrorCode
  /** The HTTP status; 0 if there was no reply. */
  readonly status: number
  /** The faults of an invalid request, each with a JSON pointer; empty for other codes. */
  readonly errors: ReadonlyArray<Fault>
  /** The id of the request, which the server also logs. Absent if the reply is not from Laurel. */
  readonly requestId?: string
  /** The present version. Only with `version_conflict`. */
  readonly version?: number
  /** When an earlier request revoked the record, ISO 8601. Only with the 404 of a repeated revocation. */
  readonly revokedAt?: string
  /** The `Retry-After` of the reply, in seconds. */
  readonly retryAfterSeconds: number | undefined
}

// `Object.assign` sets the members: this takes fewer bytes than one assignment for each.
export interface LaurelError extends Details {}

/**
 * The error of a rejected call: a problem that the server replied with (RFC 9457), or the lack of a
 * usable reply. `message` explains it to a developer; `code` is stable, for programs.
 *
 * ```ts
 * const user = await laurel.users.get("ada").catch((error) => {
 *   if (error instanceof LaurelError && error.code === "user_not_found") return undefined
 *   throw error
 * })
 * ```
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor assigns all members of the interface
export class LaurelError extends Error {
  constructor(code: LaurelErrorCode, detail: string, more: Partial<Details> & ErrorOptions = {}) {
    super(detail, more)
    Object.assign(this, { name: "LaurelError", status: 0, errors: [], ...more, code })
  }
}

/** The error that stands for an error reply. */
export const errorOf = async (reply: Response): Promise<LaurelError> => {
  const { headers, status } = reply
  // biome-ignore lint/suspicious/noExplicitAny: it may be anything that a proxy sends
  const body: any = await reply.json().catch(() => {})
  const {
    code = "unexpected_reply",
    detail = `The server replied with ${status}`,
    errors = [],
    requestId,
    version,
    revokedAt,
  } = body?.code ? body : {}
  const retryAfterSeconds = Number(headers.get("retry-after")) || undefined
  return new LaurelError(code, detail, {
    status,
    errors,
    requestId,
    version,
    revokedAt,
    retryAfterSeconds,
  })
}
