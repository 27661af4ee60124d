import type { Fault, ProblemCode } from "./generated/types.ts"

/**
 * `connection_failed`: no reply, or half of one; the outcome of a write is unknown. `timeout`: no reply in time, likewise.
 * `unexpected_reply`: an error that is not Laurel's, such as the page of a proxy.
 */
export type LaurelErrorCode = ProblemCode | "connection_failed" | "timeout" | "unexpected_reply"

interface Details {
  readonly code: LaurelErrorCode
  /** The HTTP status; 0 without a reply. */
  readonly status: number
  /** All faults of an invalid request. */
  readonly errors: ReadonlyArray<Fault>
  /** The request's id, as in the log of the server; none where the reply is not Laurel's. */
  readonly requestId?: string
  /** The `Retry-After` of the reply. */
  readonly retryAfterSeconds: number | undefined
}

// The class gets its members by `Object.assign`, which costs less than one assignment each.
export interface LaurelError extends Details {}

/** The reason of a rejected call: a problem that the server replied with (RFC 9457), or no reply. */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor assigns all members of the interface
export class LaurelError extends Error {
  constructor(code: LaurelErrorCode, detail: string, more: Partial<Details> & ErrorOptions = {}) {
    super(detail, more)
    Object.assign(this, { name: "LaurelError", status: 0, errors: [], ...more, code })
  }
}

/** The error that a reply means. */
export const errorOf = async (reply: Response): Promise<LaurelError> => {
  const { headers, status } = reply
  // biome-ignore lint/suspicious/noExplicitAny: it may be anything that a proxy sends
  const body: any = await reply.json().catch(() => {})
  const {
    code = "unexpected_reply",
    detail = `The server replied with ${status}`,
    errors = [],
    requestId,
  } = body?.code ? body : {}
  const retryAfterSeconds = Number(headers.get("retry-after")) || undefined
  return new LaurelError(code, detail, { status, errors, requestId, retryAfterSeconds })
}
