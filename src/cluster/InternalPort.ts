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
import { internalHeaders } from "./internalHeaders.ts"

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
