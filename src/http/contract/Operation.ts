/**
 * The implementation of an endpoint. At the start of the server, each implementation is compiled to
 * the parts that a request needs: decoders, scopes, bounds of the body.
 */
import { Context, type Effect, Result, type Schema } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import type { Caller } from "../../accounts/Accounts.ts"
import type { CallerScope } from "../../domain/project/Directory.ts"
import {
  type ErrorCode,
  type Fault,
  invalidRequest,
  type LaurelError,
} from "../../domain/values/Errors.ts"
import type { Idempotency, LogAnnotations } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import {
  BodyBytesMax,
  NoBodyIsEmpty,
  type RequestParts,
  scopesOf,
  UserNamed,
} from "../api/Common.ts"
import type { JsonText } from "../body/Body.ts"
import { parseBody } from "../body/Body.ts"
import { inputDecoder } from "../body/InputDecoder.ts"
import type { HeaderList } from "../request/Exchange.ts"
import {
  type HeaderFields,
  noParts,
  parseHeaders,
  parseParams,
  parseQuery,
  refuseQuery,
} from "../request/RequestParts.ts"
import type { StreamedReply } from "../stream/StreamedReply.ts"

/** A decoded request of an authenticated caller. */
export interface OperationRequest<Params, Query, Payload, Headers = unknown> {
  readonly params: Params
  readonly query: Query
  readonly payload: Payload
  readonly caller: Caller
  readonly idempotency: Idempotency | undefined
  /** The header fields that the operation declares. */
  readonly headers: Headers
}

/**
 * `location` is the path of the created resource, under `/v1`. `headers` has names and values in
 * turn.
 */
export interface OperationReply<Body> {
  readonly body: Body | JsonText<Body>
  readonly replayed?: boolean
  readonly location?: string
  /** The version that the reply shows: its `ETag`. */
  readonly version?: number
  /** The caller has this version: the reply is 304. */
  readonly notModified?: boolean
  readonly headers?: HeaderList
}

/** The payload of an endpoint; `undefined` if it takes none. */
type PayloadOf<Endpoint extends HttpApiEndpoint.Top> = [Endpoint["~Payload"]] extends [never]
  ? undefined
  : Endpoint["~Payload"]["Type"]

/** The codes of the problems that an endpoint declares. */
type CodeOf<Endpoint extends HttpApiEndpoint.Top> = Endpoint["~Error"]["Type"] extends {
  readonly code: infer Code extends ErrorCode
}
  ? Code
  : never

type RequestOf<Endpoint extends HttpApiEndpoint.Top, Payload> = OperationRequest<
  Endpoint["~Params"]["Type"],
  Endpoint["~Query"]["Type"],
  Payload,
  Endpoint["~Headers"]["Type"]
>

/**
 * The implementation of one endpoint. Replies are sent without encoding, so their schemas must not
 * transform. A refusal with a code that the endpoint does not declare does not compile;
 * `readProblems` declares the refusals of the pipeline.
 */
export interface Operation<Endpoint extends HttpApiEndpoint.Top, Payload = PayloadOf<Endpoint>> {
  /** Decodes the body in place of the endpoint's schema. */
  readonly decode?: (
    body: Buffer,
    mediaType: string,
    environment: string,
  ) => MaybeLater<Payload, CodeOf<Endpoint>>
  /**
   * Finds further faults in a JSON body, when the body or another part of the request already has
   * faults, so that one reply lists all. `handle` must refuse the same faults when there are no
   * others. `params`: `undefined` if they have faults.
   */
  readonly moreFaults?: (body: unknown, caller: Caller, params: unknown) => ReadonlyArray<Fault>
  /** Requests need no API key, but a signature. */
  readonly signed?: Signed
  /** The number of requests that a request counts as. Default: 1. */
  readonly cost?: (payload: Payload) => number
  readonly handle: (
    request: RequestOf<Endpoint, Payload>,
  ) => Effect.Effect<
    OperationReply<Endpoint["~Success"]["Type"]> | StreamedReply,
    LaurelError<CodeOf<Endpoint>>
  >
  /**
   * Replaces `handle` for requests without an Idempotency-Key, and runs without a fiber. It calls
   * `done` once, at once or later. The function that it passes to `done` may throw.
   */
  readonly handleWithCallback?: (
    request: RequestOf<Endpoint, Payload>,
    annotations: LogAnnotations,
    done: (
      answer: () => OperationReply<Endpoint["~Success"]["Type"]> | LaurelError<CodeOf<Endpoint>>,
    ) => void,
  ) => void
}

/**
 * How a request without an API key is authenticated: its path names the caller, and a signature of
 * its body proves it. Until the signature is verified, a request takes nothing from the rate limit.
 */
export interface Signed {
  /** `rawParams`: the parameters of the path, percent-encoded. */
  readonly callerOf: (rawParams: ReadonlyArray<string>) => Caller | LaurelError
  /** The refusal of a body without a valid signature. `headers`: those that the operation declares. */
  readonly verify: (caller: Caller, headers: unknown, body: Buffer) => LaurelError | undefined
}

/** A payload at once or, for a large body, in a later turn of the event loop. */
type MaybeLater<Payload, Code extends ErrorCode = ErrorCode> =
  | Result.Result<Payload, LaurelError<Code>>
  | Promise<Result.Result<Payload, LaurelError<Code>>>

type Decoded = Result.Result<unknown, ReadonlyArray<Fault>>

/** An endpoint with its operation, ready for requests. */
export interface CompiledOperation {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly scopes: ReadonlySet<CallerScope>
  /** See `UserNamed`. */
  readonly userNamed: ((request: RequestParts) => string | undefined) | undefined
  readonly bodyBytesMax: number
  /** The media types of the body; empty if the operation takes no body. */
  readonly mediaTypes: ReadonlySet<string>
  /** A request without a body counts as a request with an empty object. */
  readonly bodyOptional: boolean
  readonly params: (raw: ReadonlyArray<string>) => Decoded
  readonly query: (text: string) => Decoded
  readonly headers: (request: HeaderFields) => Decoded
  readonly payload: (body: Buffer, mediaType: string, environment: string) => MaybeLater<unknown>
  readonly moreFaults: (body: Buffer, caller: Caller, params: unknown) => ReadonlyArray<Fault>
  readonly cost: ((payload: unknown) => number) | undefined
  /** `undefined`: requests need an API key. */
  readonly signed?: Signed | undefined
  /** The audit log shows the operation's changes with the origin of the request. */
  readonly isLogged?: boolean
  readonly handle: AnyOperation["handle"]
  readonly handleWithCallback: AnyOperation["handleWithCallback"]
}

// biome-ignore lint/suspicious/noExplicitAny: endpoints of all kinds are compiled alike
type AnyOperation = Operation<any, any>

/** An endpoint as `HttpApi.reflect` shows it. */
interface ReflectedEndpoint {
  readonly group: { readonly identifier: string }
  readonly endpoint: HttpApiEndpoint.Top
  readonly mergedAnnotations: Context.Context<never>
  readonly successes: ReadonlyMap<number, unknown>
}

/** Compiles an endpoint with its implementation. */
export const compileOperation = (
  { group, endpoint, mergedAnnotations: annotations, successes }: ReflectedEndpoint,
  operation: AnyOperation,
): CompiledOperation => {
  const paramNames = endpoint.path
    .split("/")
    .flatMap((segment) => (segment.startsWith(":") ? [segment.slice(1)] : []))
  const headerNames = fieldsOf(endpoint.headers)
  // The reflection leaves streams out.
  const [status = streams(endpoint) ? 200 : 204] = successes.keys()
  const takesJson = endpoint.method === "POST" && endpoint.payload.has(json)
  const payload = operation.decode ?? payloadDecoder(endpoint, annotations)
  return {
    name: `${group.identifier}.${endpoint.identifier}`,
    method: endpoint.method,
    path: endpoint.path,
    status,
    scopes: new Set(scopesOf(annotations)),
    userNamed: Context.getOrUndefined(annotations, UserNamed),
    bodyBytesMax: Context.getOrElse(annotations, BodyBytesMax, () => limits.bodyBytesMax),
    mediaTypes: new Set(endpoint.payload.keys()),
    bodyOptional:
      takesJson &&
      (mayBeEmpty(payload) || Context.getOrElse(annotations, NoBodyIsEmpty, () => false)),
    params: partDecoder(endpoint.params, annotations, HttpApi.ParamsParseOptions, "path", (raw) =>
      parseParams(paramNames, raw),
    ),
    query: partDecoder(
      endpoint.query,
      annotations,
      HttpApi.QueryParseOptions,
      "query",
      endpoint.query === undefined ? refuseQuery : parseQuery,
    ),
    headers: partDecoder(
      endpoint.headers,
      annotations,
      HttpApi.HeadersParseOptions,
      "header",
      (request: HeaderFields) => parseHeaders(headerNames, request),
    ),
    payload,
    moreFaults: (body, caller, params) => {
      const value = operation.moreFaults === undefined ? undefined : parseBody(body)
      return value === undefined || Result.isFailure(value)
        ? []
        : operation.moreFaults!(value.success, caller, params)
    },
    cost: operation.cost,
    signed: operation.signed,
    handle: operation.handle,
    handleWithCallback: operation.handleWithCallback,
  }
}

/**
 * The faults of a request's parts with those of its body: faults of form first; then `moreFaults`,
 * unless at or inside a place already listed.
 */
export const allFaults = (
  operation: CompiledOperation,
  faults: ReadonlyArray<Fault>,
  body: Buffer,
  caller: Caller,
  params: unknown,
): ReadonlyArray<Fault> => {
  if (faults.length >= limits.faultsMax) return faults.slice(0, limits.faultsMax)
  const more = operation.moreFaults(body, caller, params)
  const others = more.filter(({ pointer }) => !faults.some(isAround(pointer)))
  return [...faults, ...others].slice(0, limits.faultsMax)
}

const isAround =
  (pointer: string) =>
  (fault: Fault): boolean =>
    pointer === fault.pointer || pointer.startsWith(`${fault.pointer}/`)

const fieldsOf = (schema: Schema.Top | undefined): ReadonlyArray<string> =>
  schema?.ast._tag === "Objects"
    ? schema.ast.propertySignatures.map(({ name }) => String(name))
    : []

const streams = ({ success }: HttpApiEndpoint.Top): boolean =>
  [...success].some((schema) => "_tag" in schema && String(schema._tag).startsWith("Stream"))

type ParseOptionsKey =
  | typeof HttpApi.ParamsParseOptions
  | typeof HttpApi.QueryParseOptions
  | typeof HttpApi.HeadersParseOptions
  | typeof HttpApi.PayloadParseOptions

const schemaDecoder = (
  schema: Schema.Top,
  annotations: Context.Context<never>,
  key: ParseOptionsKey,
  root: string,
): ((value: unknown) => Decoded) => {
  const options = Context.getOrElse(
    annotations,
    key as typeof HttpApi.ParamsParseOptions,
    () => ({}),
  )
  const decode = inputDecoder<unknown>(schema, options)
  return (value) => decode(value, root, limits.faultsMax)
}

const partDecoder = <Raw>(
  schema: Schema.Top | undefined,
  annotations: Context.Context<never>,
  key: ParseOptionsKey,
  root: string,
  parse: (raw: Raw) => Result.Result<Record<string, string>, ReadonlyArray<Fault>>,
): ((raw: Raw) => Decoded) => {
  const decode = schema === undefined ? undefined : schemaDecoder(schema, annotations, key, root)
  const ofNone = decode?.({}) ?? noParts
  return (raw) => {
    const parsed = parse(raw)
    if (parsed === noParts) return ofNone
    return Result.isFailure(parsed) || decode === undefined ? parsed : decode(parsed.success)
  }
}

/** Every media type has its schema; all but JSON are left to an operation's own `decode`. */
const payloadDecoder = (
  endpoint: HttpApiEndpoint.Top,
  annotations: Context.Context<never>,
): CompiledOperation["payload"] => {
  const decoders = new Map(
    [...endpoint.payload].map(([mediaType, { schemas }]) => [
      mediaType,
      schemaDecoder(schemas[0], annotations, HttpApi.PayloadParseOptions, ""),
    ]),
  )
  return (body, mediaType) => {
    const decode = decoders.get(mediaType)
    if (decode === undefined) return Result.succeed(undefined)
    const value = parseBody(body)
    if (Result.isFailure(value)) return value
    return Result.mapError(decode(value.success), invalidRequest)
  }
}

const mayBeEmpty = (payload: CompiledOperation["payload"]): boolean => {
  const decoded = payload(emptyBody.body, emptyBody.mediaType, "")
  return !(decoded instanceof Promise) && Result.isSuccess(decoded)
}

const json = "application/json"

/** The body of a request without one. */
export const emptyBody = { body: Buffer.from("{}"), mediaType: json } as const
