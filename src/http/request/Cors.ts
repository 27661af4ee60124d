/**
 * Cross-origin requests (CORS, Fetch standard). Pages of any origin may call every operation, so
 * that their scripts can read errors, too. The key decides which origins may use it, when the
 * request arrives (`Authentication.ts`). A preflight has no key: it gets the same reply for every
 * operation and origin, before any look-up.
 *
 * The reply allows `*` without credentials. A browser refuses to send cookies with such requests,
 * and the API has no cookies. `*` includes pages without an origin (`null`), such as pages of apps;
 * naming the origin would allow no more.
 */
import type { IncomingMessage } from "node:http"

/** Whether the path is one of the API. */
const isApi = (path: string): boolean => path.startsWith("/v1/") || path.startsWith("/api/v1/")

/** Whether a request is a preflight. */
export const isPreflight = ({ headers, method }: IncomingMessage, path: string): boolean =>
  method === "OPTIONS" &&
  headers.origin !== undefined &&
  headers["access-control-request-method"] !== undefined &&
  isApi(path)

/** Header fields of a reply that scripts may read beyond those that are always readable. */
const exposed = [
  "X-Request-Id",
  "Laurel-Version",
  "RateLimit",
  "RateLimit-Policy",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "Retry-After",
  "Location",
  "ETag",
  "Idempotency-Replayed",
  "Preference-Applied",
  "Laurel-Erased-By",
  "Allow",
]

/** The header fields of all other replies to a page. */
const shared: ReadonlyArray<string> = [
  "Access-Control-Allow-Origin",
  "*",
  "Access-Control-Expose-Headers",
  exposed.join(", "),
  "Vary",
  "Origin",
]

/**
 * The CORS header fields of a reply; `undefined` for a request without `Origin` or outside the API.
 */
export const corsHeaders = (
  { headers }: IncomingMessage,
  path: string,
): ReadonlyArray<string> | undefined =>
  headers.origin === undefined || !isApi(path) ? undefined : shared

/**
 * `*` allows header fields that tracing adds; it does not include `Authorization`. A day is the
 * longest time that browsers cache the reply.
 */
export const preflightHeaders: ReadonlyArray<string> = [
  "Access-Control-Allow-Methods",
  "GET, HEAD, POST, PUT, PATCH, DELETE",
  "Access-Control-Allow-Headers",
  "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Prefer, X-Request-Id, *",
  "Access-Control-Max-Age",
  "86400",
]
