/** Strict parsers for the parts of a request's target and head. */
import { createHash } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { Result } from "effect"
import { pointerStep } from "../../domain/values/differences.ts"
import type { Fault } from "../../domain/values/Errors.ts"
import type { Idempotency } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { FaultCode } from "../api/Common.ts"

/** The header fields of a request, in Node's forms. */
export type HeaderFields = Pick<IncomingMessage, "headers" | "headersDistinct">

type Parts = Result.Result<Record<string, string>, ReadonlyArray<Fault>>

const fault = (pointer: string, code: FaultCode, detail: string): Fault => ({
  pointer,
  code,
  detail,
})

/** The text of a percent-encoded text; `undefined` if the result is not UTF-8. */
export const percentDecode = (text: string): string | undefined => {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const badEscape = "must be percent-encoded UTF-8"

/** The result for a request without parts of this kind. */
export const noParts: Parts = Result.succeed({})

/** The values of the path's parameters, by name. */
export const parseParams = (names: ReadonlyArray<string>, raw: ReadonlyArray<string>): Parts => {
  if (names.length === 0) return noParts
  const params: Record<string, string> = {}
  const faults: Array<Fault> = []
  names.forEach((name, index) => {
    const value = percentDecode(raw[index]!)
    if (value === undefined) faults.push(fault(`path/${name}`, "invalid_format", badEscape))
    else params[name] = value
  })
  return faults.length === 0 ? Result.succeed(params) : Result.fail(faults)
}

/** The parameters of a query (without its `?`), by name. Each may occur once. */
export const parseQuery = (text: string): Parts => {
  if (text === "") return noParts
  // Without a prototype, `__proto__` is an ordinary name.
  const query: Record<string, string> = Object.create(null)
  const faults: Array<Fault> = []
  for (const pair of text.split("&")) {
    if (faults.length >= limits.faultsMax) break
    if (pair === "") continue
    const equals = pair.indexOf("=")
    const name = formDecode(equals === -1 ? pair : pair.slice(0, equals))
    const value = formDecode(equals === -1 ? "" : pair.slice(equals + 1))
    if (name === undefined) faults.push(fault("query", "invalid_format", badEscape))
    else {
      const pointer = `query${pointerStep(name)}`
      if (value === undefined) faults.push(fault(pointer, "invalid_format", badEscape))
      else if (name in query) faults.push(fault(pointer, "duplicate", "must occur only once"))
      else query[name] = value
    }
  }
  return faults.length === 0 ? Result.succeed(query) : Result.fail(faults)
}

/** Refuses all parameters, for an operation that has none. */
export const refuseQuery = (text: string): Parts => {
  if (text === "") return noParts
  const query = parseQuery(text)
  if (Result.isFailure(query)) return query
  const faults = Object.keys(query.success)
    .slice(0, limits.faultsMax)
    .map((name) => fault(`query${pointerStep(name)}`, "unknown_member", "is unknown"))
  return faults.length === 0 ? query : Result.fail(faults)
}

const formDecode = (text: string): string | undefined =>
  percentDecode(text.includes("+") ? text.replaceAll("+", " ") : text)

const bearer = /^bearer +([\x21-\x7e]+) *$/i

const basic = /^basic +([A-Za-z\d+/]+={0,2}) *$/i

/**
 * The key in an `Authorization` header: that of the scheme Bearer, or the user name of the scheme
 * Basic (RFC 7617), as event trackers send their write key. `undefined`: the scheme is another, or
 * there is no header.
 */
export const bearerKey = (header: string | undefined): string | undefined => {
  if (header === undefined) return undefined
  const [, bearerText] = bearer.exec(header) ?? []
  if (bearerText !== undefined) return bearerText
  const [, encoded] = basic.exec(header) ?? []
  if (encoded === undefined) return undefined
  const [user] = Buffer.from(encoded, "base64").toString("latin1").split(":")
  return user
}

/**
 * The header fields that an operation declares, by name. `names` are in lower case. Each field may
 * occur once, except lists.
 */
export const parseHeaders = (names: ReadonlyArray<string>, request: HeaderFields): Parts => {
  let found: Record<string, string> | undefined
  const faults: Array<Fault> = []
  for (const name of names) {
    const value = request.headers[name]
    if (value === undefined) continue
    // Node joins the values of most repeated fields with commas.
    if (!listFields.has(name) && value.includes(",") && request.headersDistinct[name]!.length > 1) {
      faults.push(fault(`header/${name}`, "duplicate", "must occur only once"))
    }
    found ??= {}
    found[name] = String(value)
  }
  if (faults.length > 0) return Result.fail(faults)
  return found === undefined ? noParts : Result.succeed(found)
}

/** The fields whose repeated values form one list. */
const listFields: ReadonlySet<string> = new Set(["prefer", "if-match", "if-none-match"])

/**
 * The idempotency of a request. A key that came with a user token belongs to that user: it differs
 * from the same key of another user, and from every key of a server, which has no line break. A
 * hash of user id and key is kept, since an erasure does not reach all kept answers. The fingerprint
 * covers the method, the path (whatever the encoding of its parameters), the condition and the bytes
 * of the body.
 */
export const idempotencyOf = (
  key: string,
  { method, path }: { readonly method: string; readonly path: string },
  params: unknown,
  headers: unknown,
  body: Buffer,
  userId?: string,
): Idempotency => {
  const { "if-match": ifMatch } = (headers ?? {}) as { readonly "if-match"?: unknown }
  const condition = ifMatch === undefined ? "" : `${JSON.stringify(ifMatch)}\n`
  const fingerprint = createHash("sha256")
    .update(`${method} ${path}\n${JSON.stringify(params ?? {})}\n${condition}`)
    .update(body)
    .digest("hex")
  if (userId === undefined) return { key, fingerprint }
  const hash = createHash("sha256").update(`${userId}\n${key}`).digest("base64url")
  return { key: `\n${hash}`, fingerprint }
}
