/**
 * The port for other runners: takes forwarded requests, with the cluster's secret, for partitions that this runner serves. It
 * forwards nothing: a request makes one hop. The secret is a row of PostgreSQL that the first runner makes: who can read it
 * there can write the journal as well, and one setting less can be wrong. The connection is plain HTTP: keep the port on a
 * private network.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import { Effect, type Scope } from "effect"
import { laurelError } from "../domain/values/Errors.ts"
import { type Exchange, type RequestHandler, unwatched } from "../http/request/Exchange.ts"
import { type Address, Listener, listen, type ServeError } from "../http/server/Listener.ts"
import type { ServerRequest } from "../http/server/ServerRequest.ts"
import { limits } from "../Limits.ts"

/**
 * What a runner tells the owner with a forwarded request. Only the internal port reads these header fields; what a client
 * sends under their names is not passed on.
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
  /** In a reply: this runner is not the owner, and did nothing. */
  notOwner: `${prefix}not-owner`,
} as const

/** Between two neighbours alone (RFC 9110, 7.6.1), or made by the sender's HTTP. */
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

/** The names, in lower case, that a `Connection` field lists: its fields stay between two neighbours. */
const namesIn = (connection: string | undefined): ReadonlySet<string> =>
  connection === undefined || connection === "keep-alive"
    ? noNames
    : new Set(connection.split(",").map((each) => each.trim().toLowerCase()))
const noNames: ReadonlySet<string> = new Set()

/**
 * Tells whether a header field with a name, in lower case, goes on to the next hop. The `Connection` field is read once: a
 * caller may list thousands of names beside thousands of fields.
 */
export const passesOn = (connection: string | undefined): ((name: string) => boolean) => {
  const named = namesIn(connection)
  return (name) => !ofOneHop.has(name) && !name.startsWith(prefix) && !named.has(name)
}

/** The header fields of a forwarded request, names and values in turn. */
export const forwardedHeaders = (
  rawHeaders: ReadonlyArray<string>,
  connection: string | undefined,
  more: ReadonlyArray<string>,
): Array<string> => {
  const passes = passesOn(connection)
  const headers: Array<string> = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase()
    // The id of the request here is the one there.
    if (name !== "x-request-id" && passes(name)) headers.push(name, rawHeaders[index + 1]!)
  }
  headers.push(...more)
  return headers
}

export interface InternalPortOptions extends Address {
  readonly secret: string
  /** Who answers for a partition; `undefined`: not this runner, now. */
  readonly handlerOf: (partition: number, request: ServerRequest) => RequestHandler | undefined
  /** The same for operators' requests, whose token another runner has checked. */
  readonly adminOf: (partition: number) => RequestHandler | undefined
  /** Who carries out other runners' commands to the directory (`DirectoryCommands.ts`). */
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

/** Compares digests, so that neither content nor length of the secret shows in the time it takes. */
const secretCheck = (secret: string): ((given: unknown) => boolean) => {
  const digest = (text: string) => createHash("sha256").update(text).digest()
  const expected = digest(secret)
  return (given) => typeof given === "string" && timingSafeEqual(digest(given), expected)
}
