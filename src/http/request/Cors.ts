/**
 * Requests of web pages from other origins (CORS, of the Fetch standard). They may ask every operation, so that errors too can be
 * read by their scripts; the key decides which origins may use it, at the request (`Authentication.ts`). A preflight has no key: it
 * gets the same reply for every operation and origin, before anything is looked up.
 *
 * `*` and no credentials: a page that lets its visitors' cookies go along is refused by the browser, and the API knows no cookies. The
 * `*` includes pages without an origin (`null`), such as those of apps, where naming the origin would not let more in.
 */
import type { IncomingMessage } from "node:http"

/** Whether the path is one of the API. */
const isApi = (path: string): boolean => path.startsWith("/v1/") || path.startsWith("/api/v1/")

/** Whether a request is a browser's question before a request of a page. */
export const isPreflight = ({ headers, method }: IncomingMessage, path: string): boolean =>
  method === "OPTIONS" &&
  headers.origin !== undefined &&
  headers["access-control-request-method"] !== undefined &&
  isApi(path)

/** Header fields that scripts read beyond those that they always may. */
const exposed = [
  "X-Request-Id",
  "RateLimit",
  "RateLimit-Policy",
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "Retry-After",
  "Location",
  "Idempotency-Replayed",
  "Preference-Applied",
  "Laurel-Erased-By",
  "Allow",
]

/** Of every other reply to a page. */
const shared: ReadonlyArray<string> = [
  "Access-Control-Allow-Origin",
  "*",
  "Access-Control-Expose-Headers",
  exposed.join(", "),
  "Vary",
  "Origin",
]

/** The fields of the reply to a request without `Origin`, or that is none of the API, are `undefined`. */
export const corsHeaders = (
  { headers }: IncomingMessage,
  path: string,
): ReadonlyArray<string> | undefined =>
  headers.origin === undefined || !isApi(path) ? undefined : shared

/** `*` is for fields that tracing adds; it never includes `Authorization`. The day is the most that browsers keep. */
export const preflightHeaders: ReadonlyArray<string> = [
  "Access-Control-Allow-Methods",
  "GET, HEAD, POST, PUT, PATCH, DELETE",
  "Access-Control-Allow-Headers",
  "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Prefer, X-Request-Id, *",
  "Access-Control-Max-Age",
  "86400",
]
