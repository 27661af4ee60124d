/** The parts of a request's target and head that callers control, taken apart strictly. */
import { createHash } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { Result } from "effect"
import type { Fault } from "../../domain/values/Errors.ts"
import type { Idempotency } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { FaultCode } from "../api/Checks.ts"
import { pointerStep } from "../body/SchemaFaults.ts"

type Parts = Result.Result<Record<string, string>, ReadonlyArray<Fault>>

const fault = (pointer: string, code: FaultCode, detail: string): Fault => ({
  pointer,
  code,
  detail,
})

const percentDecode = (text: string): string | undefined => {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const badEscape = "must be percent-encoded UTF-8"

const nothing: Parts = Result.succeed({})

/** The values of the path's parameters by name. */
export const parseParams = (names: ReadonlyArray<string>, raw: ReadonlyArray<string>): Parts => {
  if (names.length === 0) return nothing
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
  if (text === "") return nothing
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
      else if (name in query) faults.push(fault(pointer, "duplicate", "must be there only once"))
      else query[name] = value
    }
  }
  return faults.length === 0 ? Result.succeed(query) : Result.fail(faults)
}

/** The same for an operation that knows no parameters. */
export const refuseQuery = (text: string): Parts => {
  if (text === "") return nothing
  const query = parseQuery(text)
  if (Result.isFailure(query)) return query
  const faults = Object.keys(query.success)
    .slice(0, limits.faultsMax)
    .map((name) => fault(`query${pointerStep(name)}`, "unknown_member", "is not known here"))
  return faults.length === 0 ? query : Result.fail(faults)
}

const formDecode = (text: string): string | undefined =>
  percentDecode(text.includes("+") ? text.replaceAll("+", " ") : text)

const bearer = /^bearer +([\x21-\x7e]+) *$/i

/** The key of an `Authorization` header; `undefined` for another scheme or none. */
export const bearerKey = (header: string | undefined): string | undefined =>
  header === undefined ? undefined : bearer.exec(header)?.[1]

const printable = /^[\x20-\x7e]{1,255}$/

/** What is wrong with the `Idempotency-Key` of a request, or `undefined`. */
export const idempotencyKeyFault = (request: IncomingMessage, key: string): Fault | undefined => {
  const pointer = "header/idempotency-key"
  // Node joins several lines with commas.
  if (key.includes(",") && (request.headersDistinct["idempotency-key"]?.length ?? 0) > 1) {
    return fault(pointer, "duplicate", "must be there only once")
  }
  if (printable.test(key)) return undefined
  const words = `must be 1 to ${limits.idempotencyKeyCharactersMax} printable ASCII characters`
  return fault(pointer, "invalid_format", words)
}

/** The Idempotency-Key, as it was sent. */
export const idempotencyKey = ({ headers }: IncomingMessage): string | undefined =>
  headers["idempotency-key"] as string | undefined

/** The fingerprint covers the method, the path (however its parameters were encoded) and the bytes of the body. */
export const idempotencyOf = (
  key: string,
  { method, path }: { readonly method: string; readonly path: string },
  params: unknown,
  body: Buffer,
): Idempotency => {
  const fingerprint = createHash("sha256")
    .update(`${method} ${path}\n${JSON.stringify(params ?? {})}\n`)
    .update(body)
    .digest("hex")
  return { key, fingerprint }
}
