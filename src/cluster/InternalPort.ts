/**
 * The port for other runners. It accepts forwarded requests with the cluster's secret, for
 * partitions that this runner serves. It forwards nothing, so a request makes one hop. The first
 * runner creates the secret in a row of PostgreSQL: a client that can read the row can also write the
 * journal, and operators have one setting less to get wrong. The connection is plain HTTP, so the
 * port belongs on a private network.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import { Effect, type Scope } from "effect"
import { laurelError } from "../domain/values/Errors.ts"
import { type Exchange, type RequestHandler, unwatched } from "../http/request/Exchange.ts"
import { type Address, Listener, listen, type ServeError } from "../http/server/Listener.ts"
import type { ServerRequest } from "../http/server/ServerRequest.ts"
import { limits } from "../Limits.ts"

/**
 * The header fields that a runner adds to a forwarded request. Only the internal port reads them.
 * Fields with these names that a client sends are not forwarded.
 */
const prefix = "laurel-internal-"

export const internalHeaders = {
  /** The secret of the cluster. */
  secret: `${prefix}secret`,
  partition: `${prefix}partition`,
  /** The request is for the owner's admin server; the sender has checked its token. */
  admin: `${prefix}admin`,
  /** The request is a command to the directory. */
  directory: `${prefix}directory`,
  /** The address of the client's connection. */
  peer: `${prefix}peer`,
  /** In a reply: this runner is not the owner, and has done nothing. */
  notOwner: `${prefix}not-owner`,
} as const

/**
 * Header fields for one connection only (RFC 9110, 7.6.1), or written by the HTTP client of the
 * forwarder.
 */
const ofOneHop = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
])

/**
 * The names, in lower case, that a `Connection` field lists. These fields are for one connection
 * only.
 */
const namesIn = (connection: string | undefined): ReadonlySet<string> =>
  connection === undefined || connection === "keep-alive"
    ? noNames
    : new Set(connection.split(",").map((each) => each.trim().toLowerCase()))
const noNames: ReadonlySet<string> = new Set()

/**
 * Returns a function that tells whether the header field of a name, in lower case, is forwarded.
 * The `Connection` field is parsed once, because a caller may list thousands of names beside
 * thousands of fields.
 */
export const passesOn = (connection: string | undefined): ((name: string) => boolean) => {
  const named = namesIn(connection)
  return (name) => !ofOneHop.has(name) && !name.startsWith(prefix) && !named.has(name)
}

/** The header fields of a forwarded request, alternating names and values. */
export const forwardedHeaders = (
  rawHeaders: ReadonlyArray<string>,
  connection: string | undefined,
  more: ReadonlyArray<string>,
): Array<string> => {
  const passes = passesOn(connection)
  const headers: Array<string> = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase()
    // The owner uses the id that this runner gave the request, which `more` has.
    if (name !== "x-request-id" && passes(name)) headers.push(name, rawHeaders[index + 1]!)
  }
  headers.push(...more)
  return headers
}

export interface InternalPortOptions extends Address {
  readonly secret: string
  /** Answers for a partition. `undefined` while this runner does not serve it. */
  readonly handlerOf: (partition: number, request: ServerRequest) => RequestHandler | undefined
  /** The same for operators' requests. The sender has checked their token. */
  readonly adminOf: (partition: number) => RequestHandler | undefined
  /** Executes other runners' commands to the directory (`DirectoryCommands.ts`). */
  readonly directoryOf: () => RequestHandler | undefined
  readonly graceMs: number
}

/** Listens until the scope closes. */
export const listenInternally = (
  options: InternalPortOptions,
): Effect.Effect<Listener, ServeError, Scope.Scope> => {
  const isSecret = secretCheck(options.secret)
  const bounds = { ...limits, headerBytesMax: limits.forwardedHeaderBytesMax }
  const listener = new Listener(stranger, bounds)
  listener.handlerOf = (request: ServerRequest): RequestHandler => {
    const { headers } = request
    if (!isSecret(headers[internalHeaders.secret])) return stranger
    const handler = handlerFor(options, request)
    if (handler === undefined) return notMine
    request.forwardedPeer = headers[internalHeaders.peer] as string | undefined
    return handler
  }
  return Effect.acquireRelease(Effect.as(listen(listener.server, options), listener), () =>
    listener.close(options.graceMs),
  )
}

const handlerFor = (
  { adminOf, directoryOf, handlerOf }: InternalPortOptions,
  request: ServerRequest,
): RequestHandler | undefined => {
  const { headers } = request
  if (headers[internalHeaders.directory] !== undefined) return directoryOf()
  const partition = Number(headers[internalHeaders.partition])
  return headers[internalHeaders.admin] === undefined
    ? handlerOf(partition, request)
    : adminOf(partition)
}

const refusing = (refuse: (exchange: Exchange) => void): RequestHandler => ({
  ...unwatched,
  handle: refuse,
})

const stranger = refusing((exchange) => {
  exchange.last = true
  exchange.refuse(laurelError("unauthorized", "This port is for servers of the cluster."))
})

const notMine = refusing((exchange) =>
  exchange.refuse(laurelError("misdirected_request", "Another server owns the partition."), [
    internalHeaders.notOwner,
    "1",
  ]),
)

/** Compares digests, so that the time reveals neither the content nor the length of the secret. */
const secretCheck = (secret: string): ((given: unknown) => boolean) => {
  const digest = (text: string) => createHash("sha256").update(text).digest()
  const expected = digest(secret)
  return (given) => typeof given === "string" && timingSafeEqual(digest(given), expected)
}
