/** Replies of the dashboard, all with the same security headers. */

import { errorKinds, type LaurelError } from "../../domain/values/Errors.ts"
import type { PlainReply } from "../../http/contract/Interpreter.ts"
import type { StreamedReply } from "../../http/stream/StreamedReply.ts"
import type { Html } from "./Html.ts"

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ")

const securityHeaders = [
  "Content-Security-Policy",
  contentSecurityPolicy,
  "X-Content-Type-Options",
  "nosniff",
  "Referrer-Policy",
  "same-origin",
  "Cross-Origin-Opener-Policy",
  "same-origin",
  "Cross-Origin-Resource-Policy",
  "same-origin",
] as const

export interface Reply extends PlainReply {
  readonly headers: ReadonlyArray<string>
  /** What the audit log notes about a form, besides its route. */
  readonly audit?: AuditNote
  /** A form that waited for this reply. The dashboard answers that form instead. */
  readonly resume?: { readonly path: string; readonly body: Buffer }
}

export interface AuditNote {
  /** The account that acted, for a request without a session. */
  readonly account?: { readonly id: string; readonly email: string }
  /** The id of the subject, and a detail such as its name. Never a secret. */
  readonly subject?: string
  readonly detail?: string
  /** The project of the subject, if the path names none. */
  readonly projectId?: string
}

/** The reply with more for the audit log. */
export const about = (reply: Reply, note: AuditNote): Reply => ({
  ...reply,
  audit: { ...reply.audit, ...note },
})

/** Whether the reply is a page, and not a redirect, a file or data for a script. */
export const isPage = ({ contentType }: Reply): boolean =>
  contentType?.startsWith("text/html") === true

export const pageReply = (status: number, page: Html): Reply => ({
  status,
  contentType: "text/html; charset=utf-8",
  body: page.text,
  headers: [...securityHeaders, "Cache-Control", "no-store"],
})

/** For scripts of the dashboard's own pages. */
export const jsonReply = (value: object): Reply => ({
  status: 200,
  contentType: "application/json",
  body: JSON.stringify(value),
  headers: [...securityHeaders, "Cache-Control", "no-store"],
})

/**
 * Answers a form with 303: the browser asks for `path`, and a reload does not send the form again.
 */
export const redirect = (path: string): Reply => ({
  status: 303,
  contentType: "text/plain; charset=utf-8",
  body: `See ${path}\n`,
  headers: [...securityHeaders, "Cache-Control", "no-store", "Location", path],
})

/** A file that browsers keep for good: its address changes with its content. */
export const assetReply = (contentType: string, body: Buffer): Reply => ({
  status: 200,
  contentType,
  body,
  headers: [...securityHeaders, "Cache-Control", "public, max-age=31536000, immutable"],
})

/** The page of a refused form. A 401 becomes a 400, since pages take no credentials in a header. */
export const refusedReply = (error: LaurelError, page: Html): Reply => {
  const { status } = errorKinds[error.code]
  return withRetryAfter(pageReply(status === 401 ? 400 : status, page), error)
}

/** A stream, or a file of unknown length, with the security headers of a page. */
export const secured = (reply: StreamedReply): StreamedReply => ({
  ...reply,
  headers: [...securityHeaders, ...(reply.headers ?? [])],
})

/** Adds `Retry-After`, if the error has one. */
export const withRetryAfter = (reply: Reply, error: LaurelError | undefined): Reply => {
  const seconds = error?.retryAfterSeconds
  return seconds === undefined
    ? reply
    : { ...reply, headers: [...reply.headers, "Retry-After", String(seconds)] }
}

export const withCookies = (reply: Reply, cookies: ReadonlyArray<string>): Reply => ({
  ...reply,
  headers: [...reply.headers, ...cookies.flatMap((cookie) => ["Set-Cookie", cookie])],
})
