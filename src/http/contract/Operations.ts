/**
 * Calls operations of the contract in process, for pages of this server. A call takes the parts as
 * a client sends them, and runs the same decoders, scope check and handler. A form therefore gets
 * the same faults at the same pointers as a request of the API. Calls skip admission, the rate
 * limit and the metrics: pages have bounds of their own.
 */
import { Effect, Result } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import type { Caller } from "../../accounts/Accounts.ts"
import { invalidRequest, type LaurelError } from "../../domain/values/Errors.ts"
import type { Api } from "../api/Api.ts"
import { entityTag } from "../api/EntityTags.ts"
import { JsonText } from "../body/Body.ts"
import { insufficientScope } from "../request/Problem.ts"
import { idempotencyOf } from "../request/RequestParts.ts"
import type { StreamedReply } from "../stream/StreamedReply.ts"
import { allFaults, type CompiledOperation, emptyBody, type OperationReply } from "./Operation.ts"

type Groups = (typeof Api)["groups"]

/** Every endpoint of the contract by its name, such as `rules.create`. */
type Endpoints = {
  [Group in keyof Groups & string]: {
    [Endpoint in keyof Groups[Group]["endpoints"] &
      string as `${Group}.${Endpoint}`]: Groups[Group]["endpoints"][Endpoint] extends HttpApiEndpoint.Top
      ? Groups[Group]["endpoints"][Endpoint]
      : never
  }
}[keyof Groups & string] extends infer Each
  ? UnionToIntersection<Each>
  : never

type UnionToIntersection<A> = (A extends unknown ? (one: A) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never

export type OperationName = keyof Endpoints & string

type EndpointNamed<Name extends OperationName> = Endpoints[Name] extends HttpApiEndpoint.Top
  ? Endpoints[Name]
  : never

export type BodyOf<Name extends OperationName> = EndpointNamed<Name>["~Success"]["Type"]

/**
 * The parts of a call: parameters and query as texts, the payload as JSON. Members of the query
 * that are `undefined` are left out.
 */
export interface CallParts<Name extends OperationName> {
  readonly params?: { readonly [Param in keyof EndpointNamed<Name>["~Params"]["Type"]]: string }
  readonly query?: {
    readonly [Field in keyof EndpointNamed<Name>["~Query"]["Type"]]?: string | undefined
  }
  readonly payload?: unknown
  /** A repeated call with the same key gets the first reply. */
  readonly idempotencyKey?: string | undefined
  /** The only version that the call may change; `undefined`: every version. */
  readonly ifMatch?: number | undefined
  readonly lastEventId?: string | undefined
}

/** The body of a reply, and the operation's own header fields: names and values in turn. */
export interface ReplyOf<Name extends OperationName> {
  readonly body: BodyOf<Name>
  readonly version?: number
  readonly headers?: ReadonlyArray<string>
}

export interface Operations {
  /** The body of the reply; `undefined` if the reply has none. */
  readonly ask: <Name extends OperationName>(
    caller: Caller,
    name: Name,
    parts?: CallParts<Name>,
  ) => Effect.Effect<BodyOf<Name>, LaurelError>
  /** The body and the header fields of the reply. */
  readonly reply: <Name extends OperationName>(
    caller: Caller,
    name: Name,
    parts?: CallParts<Name>,
  ) => Effect.Effect<ReplyOf<Name>, LaurelError>
  /** The reply of an operation that streams. */
  readonly open: <Name extends OperationName>(
    caller: Caller,
    name: Name,
    parts?: CallParts<Name>,
  ) => Effect.Effect<StreamedReply, LaurelError>
}

/** `compiled` must have all operations of the contract. */
export const makeOperations = (compiled: ReadonlyArray<CompiledOperation>): Operations => {
  const byName = new Map(compiled.map((operation) => [operation.name, operation]))
  const call = (caller: Caller, name: string, parts: AnyParts = {}) =>
    perform(byName.get(name)!, caller, parts)
  const reply = <Name extends OperationName>(
    caller: Caller,
    name: Name,
    parts?: CallParts<Name>,
  ): Effect.Effect<ReplyOf<Name>, LaurelError> =>
    Effect.map(call(caller, name, parts), (answer) => {
      if ("stream" in answer) throw new Error(`${name} streams its reply`)
      const { body, headers, version } = answer
      const plain = (body instanceof JsonText ? body.parse() : body) as BodyOf<Name>
      return {
        body: plain,
        ...(version !== undefined && { version }),
        ...(headers !== undefined && { headers }),
      }
    })
  return {
    reply,
    ask: (caller, name, parts) => Effect.map(reply(caller, name, parts), ({ body }) => body),
    open: (caller, name, parts) =>
      Effect.map(call(caller, name, parts), (reply) => {
        if ("stream" in reply) return reply
        throw new Error(`${name} does not stream its reply`)
      }),
  }
}

interface AnyParts {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly payload?: unknown
  readonly idempotencyKey?: string | undefined
  readonly ifMatch?: number | undefined
  readonly lastEventId?: string | undefined
}

const perform = Effect.fnUntraced(function* (
  operation: CompiledOperation,
  caller: Caller,
  { idempotencyKey, ifMatch, lastEventId, params = {}, payload, query = {} }: AnyParts,
): Effect.fn.Return<OperationReply<unknown> | StreamedReply, LaurelError> {
  if (!operation.scopes.has(caller.scope)) {
    return yield* Effect.fail(insufficientScope(operation.scopes, caller.scope))
  }
  const body = payload === undefined ? emptyBody.body : Buffer.from(JSON.stringify(payload))
  const parts = [
    operation.params(rawParams(operation.path, params)),
    operation.query(queryText(query)),
    operation.headers({
      headers: {
        ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
        ...(ifMatch !== undefined && { "if-match": entityTag(ifMatch) }),
        ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
      },
      headersDistinct: {},
    }),
  ] as const
  const faults = parts.flatMap((part) => (Result.isFailure(part) ? part.failure : []))
  const given = operation.mediaTypes.size > 0
  const [mediaType = ""] = operation.mediaTypes
  const later = given
    ? operation.payload(body, mediaType, caller.environment)
    : Result.succeed(undefined)
  const decoded = later instanceof Promise ? yield* Effect.promise(() => later) : later
  if (Result.isFailure(decoded) && decoded.failure.code !== "invalid_request") {
    return yield* Effect.fail(decoded.failure)
  }
  if (Result.isFailure(decoded)) faults.push(...(decoded.failure.errors ?? []))
  if (faults.length > 0 || Result.isFailure(decoded)) {
    const [named] = parts
    const params = Result.isSuccess(named) ? named.success : undefined
    return yield* Effect.fail(invalidRequest(allFaults(operation, faults, body, caller, params)))
  }
  const [asked, queried, headers] = parts.map((part) =>
    Result.isSuccess(part) ? part.success : undefined,
  )
  return yield* operation.handle({
    params: asked,
    query: queried,
    headers,
    payload: decoded.success,
    caller,
    idempotency:
      idempotencyKey === undefined
        ? undefined
        : idempotencyOf(idempotencyKey, operation, asked, headers, body),
  })
})

/** The values of a path's parameters in the order of the path, percent-encoded. */
const rawParams = (path: string, params: Readonly<Record<string, string>>): ReadonlyArray<string> =>
  path
    .split("/")
    .filter((segment) => segment.startsWith(":"))
    .map((segment) => encodeURIComponent(params[segment.slice(1)] ?? ""))

const queryText = (query: Readonly<Record<string, string | undefined>>): string =>
  new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      value === undefined || value === "" ? [] : [[name, value]],
    ),
  ).toString()
