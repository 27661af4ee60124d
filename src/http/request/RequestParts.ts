/** Parses the parts of a request's target and head strictly. */
import { createHash } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { Result } from "effect"
import type { Fault } from "../../domain/values/Errors.ts"
import type { Idempotency } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { FaultCode } from "../api/Common.ts"
import { pointerStep } from "../body/InputDecoder.ts"

/** The header fields of a request, as Node shows them. */
export type HeaderFields = Pick<IncomingMessage, "headers" | "headersDistinct">

type Parts = Result.Result<Record<string, string>, ReadonlyArray<Fault>>

const fault = (pointer: string, code: FaultCode, detail: string): Fault => ({
  pointer,
  code,
  detail,
})

/** The text of a percent-encoded one; `undefined` unless it is UTF-8. */
export const percentDecode = (text: string): string | undefined => {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const badEscape = "must be percent-encoded UTF-8"

/** The parts of a request that has none of a kind. */
export const noParts: Parts = Result.succeed({})

/** The values of the path's parameters by name. */
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

/** The parameters of a query (without its `?`) by name, each at most once. */
export const parseQuery = (text: string): Parts => {
  if (text === "") return noParts
  // Names such as __proto__ must stay ordinary.
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

/** The same for an operation that knows no parameters. */
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

/** The key of an `Authorization` header; `undefined` for another scheme or none. */
export const bearerKey = (header: string | undefined): string | undefined =>
  header === undefined ? undefined : bearer.exec(header)?.[1]

/** The header fields that an operation declares (`names`, in lower case) by name, each at most once but for lists. */
export const parseHeaders = (names: ReadonlyArray<string>, request: HeaderFields): Parts => {
  let found: Record<string, string> | undefined
  const faults: Array<Fault> = []
  for (const name of names) {
    const value = request.headers[name]
    if (value === undefined) continue
    // Node joins the lines of most fields with commas.
    if (name !== listField && value.includes(",") && request.headersDistinct[name]!.length > 1) {
      faults.push(fault(`header/${name}`, "duplicate", "must occur only once"))
    }
    found ??= {}
    found[name] = String(value)
  }
  if (faults.length > 0) return Result.fail(faults)
  return found === undefined ? noParts : Result.succeed(found)
}

/** A field whose lines are one list (RFC 7240, section 2). */
const listField = "prefer"

/** A key that came with a user token is that user's: it is none of the servers' or of another user. The fingerprint covers the method, the path (however its parameters were encoded) and the bytes of the body. */
export const idempotencyOf = (
  key: string,
  { method, path }: { readonly method: string; readonly path: string },
  params: unknown,
  body: Buffer,
  userId?: string,
): Idempotency => {
  const fingerprint = createHash("sha256")
    .update(`${method} ${path}\n${JSON.stringify(params ?? {})}\n`)
    .update(body)
    .digest("hex")
  // No key that a server sends has a line break, nor has a user id.
  return { key: userId === undefined ? key : `${userId}\n${key}`, fingerprint }
}
