/**
 * Whether a request may be sent again although the first attempt may have been carried out: it changes nothing, or Laurel
 * recognises the repetition by an `Idempotency-Key` or by the ids of all its events.
 */
import type { IncomingMessage } from "node:http"

export const isRepeatable = (
  { headers, method }: IncomingMessage,
  path: string,
  body: Buffer | undefined,
): boolean => {
  if (method === "GET" || method === "HEAD" || method === "OPTIONS") return true
  if (method !== "POST" || body === undefined) return false
  if (headers["idempotency-key"] !== undefined) return true
  if (path === "/v1/events") return hasId(jsonOf(body))
  return path === "/v1/events/batch" && haveIds(jsonOf(body))
}

const jsonOf = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString("utf8"))
  } catch {
    return undefined
  }
}

const hasId = (event: unknown): boolean =>
  typeof (event as { readonly id?: unknown } | null | undefined)?.id === "string"

const haveIds = (batch: unknown): boolean => {
  const events = (batch as { readonly events?: unknown } | null | undefined)?.events
  return Array.isArray(events) && events.every(hasId)
}
