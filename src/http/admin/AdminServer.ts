/**
 * The admin server, for the operator's command line, on its own address (loopback by default). Every request needs the
 * token that the server creates at its start, except `GET /metrics`, since Prometheus cannot know it. `Host` must be a name
 * of this server (`admin/HostCheck.ts`).
 *
 * Hand-made: `HttpApiClient` and what it imports take about 65 ms of processor time at the start of a command that asks the
 * server, and the metrics, the stream of an archive, `Host` and the problem details would stay hand-made.
 *
 * `GET /admin/keys` → `{ keys }` · `POST /admin/keys` → 201 and the key with its text · `DELETE /admin/keys/:id`
 * → 204 · `POST /admin/keys/:id/rotate` → 201 and the new key with its text · `POST /admin/archives` → a stream (`AdminArchives`)
 * · `GET /admin/archives` → `{ server, archives }`, those of its folder · `GET /admin/position` → `{ lastSequence, checksum }`,
 * where the durable journal ends · `/admin/accounts` (`AdminAccounts`) · `GET /metrics`, for Prometheus. Errors are problem details as in the API.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { Cause, Effect, Result, type Scope } from "effect"
import type { AccountAdmin } from "../../accounts/AccountAdmin.ts"
import { ApiKeys, type CreatedKey, KeyRequest, RotationRequest } from "../../accounts/ApiKeys.ts"
import { RequestOrigin } from "../../accounts/audit/RequestOrigin.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { Archives } from "../../engine/archive/Archives.ts"
import { limits } from "../../Limits.ts"
import { type Metrics, prometheusContentType, type ReadFailure } from "../../metrics/Metrics.ts"
import { clientAddress } from "../request/ClientAddress.ts"
import { type Exchange, type RequestHandler, unwatched } from "../request/Exchange.ts"
import { bearerKey } from "../request/RequestParts.ts"
import { type Address, Listener, listen, type ServeError } from "../server/Listener.ts"
import { type Served, whereIs } from "../server/Server.ts"
import { accountRoute } from "./AdminAccounts.ts"
import { createArchive, listOf } from "./AdminArchives.ts"
import { type AdminReply, type Answer, jsonBody, notFound } from "./AdminParts.ts"
import { hostCheck } from "./HostCheck.ts"

export interface AdminOptions extends Address {
  /** Further host names under which it is asked. */
  readonly hostNames: ReadonlyArray<string>
  /** `undefined`: who asks was checked before. */
  readonly token: string | undefined
  readonly metrics: Metrics
  /** At which other servers of its cluster reach it. */
  readonly clusterAddress?: string | undefined
  /** Absent where the server has no dashboard. */
  readonly accounts?: AccountAdmin["Service"] | undefined
}

/** Serves the admin address until the scope closes; requests under way get `adminGraceMs` then. */
export const serveAdmin = (
  options: AdminOptions,
): Effect.Effect<Served, ServeError, ApiKeys | Archives | Scope.Scope> =>
  Effect.gen(function* () {
    const handler = yield* makeAdmin(options)
    return yield* listenAdmin(options, handler)
  })

/** `serveAdmin` with a handler that is made, or that `handlerOf` chooses for each request. */
export const listenAdmin = Effect.fnUntraced(function* (
  address: Address,
  handler: RequestHandler,
  handlerOf: Listener["handlerOf"] = () => handler,
): Effect.fn.Return<Served, ServeError, Scope.Scope> {
  const bounds = { ...limits, connectionsMax: limits.adminConnectionsMax }
  const listener = new Listener(handler, bounds)
  listener.handlerOf = handlerOf
  yield* Effect.acquireRelease(listen(listener.server, address), () =>
    listener.close(limits.adminGraceMs),
  )
  return whereIs(listener.server.address() as AddressInfo, address.host)
})

/** The part of the admin server that needs no engine: `/metrics`. All else with the token goes to `pass`. */
export const makeAdminWithoutEngine = (
  options: AdminOptions,
  pass: (exchange: Exchange) => void,
): Effect.Effect<RequestHandler> =>
  Effect.map(Effect.context<never>(), (context) => {
    const mayEnter = tokenCheck(options.token)
    return adminHandler(options, Effect.runForkWith(context), (exchange) => {
      if (mayEnter(exchange.request)) pass(exchange)
      else exchange.refuse(unauthorized)
    })
  })

/** Answers `/metrics`, refuses foreign hosts, and leaves the rest to `handle`. */
const adminHandler = (
  { host, hostNames, metrics }: AdminOptions,
  runFork: (effect: Effect.Effect<void>) => unknown,
  handle: (exchange: Exchange) => void,
): RequestHandler => {
  const mayAskAs = hostCheck([host, ...hostNames])
  const handleAny = (exchange: Exchange): void => {
    const { path, request } = exchange
    if (!mayAskAs(request.headers.host)) {
      exchange.refuse(misdirected)
    } else if (path === "/metrics" && (request.method === "GET" || request.method === "HEAD")) {
      exchange.reply(200, prometheusContentType, metrics.text(), ["Cache-Control", "no-store"])
      for (const failure of metrics.takeReadFailures()) runFork(logReadFailure(failure))
    } else handle(exchange)
  }
  return {
    ...unwatched,
    handle: (exchange) => {
      try {
        handleAny(exchange)
      } catch (defect) {
        runFork(refuse(exchange, Cause.die(defect)))
      }
    },
  }
}

/** The operations of an engine's operator. */
export const makeAdmin = (
  options: AdminOptions,
): Effect.Effect<RequestHandler, never, ApiKeys | Archives> =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const archives = yield* Archives
    const runFork = Effect.runForkWith(yield* Effect.context<never>())
    const accounts = options.accounts
    const mayEnter = tokenCheck(options.token)

    const create = (exchange: Exchange): Answer =>
      created(Effect.flatMap(keyRequest(exchange), (request) => keys.create(request)))
    const rotate = (exchange: Exchange, id: string): Answer =>
      created(Effect.flatMap(rotationRequest(exchange), ({ overlap }) => keys.rotate(id, overlap)))

    const route = (exchange: Exchange): Answer => {
      const { path, request } = exchange
      if (!mayEnter(request)) return Effect.fail(unauthorized)
      if (/^\/admin\/accounts(\/|$)/.test(path)) return accountRoute(accounts, exchange)
      const rotated = /^\/admin\/keys\/([^/]+)\/rotate$/.exec(path)?.[1]
      if (rotated !== undefined && request.method === "POST") return rotate(exchange, rotated)
      const id = /^\/admin\/keys\/([^/]+)$/.exec(path)?.[1]
      switch (id === undefined ? `${request.method} ${path}` : request.method) {
        case "GET /admin/keys":
          return Effect.map(keys.list, (all) => ({ status: 200, body: { keys: all } }))
        case "POST /admin/keys":
          return create(exchange)
        case "GET /admin/archives":
          return listOf(archives, options.clusterAddress)
        case "GET /admin/position":
          return Effect.sync(() => ({ status: 200, body: archives.position() }))
        case "DELETE":
          return Effect.as(keys.revoke(id!), { status: 204 })
        default:
          return Effect.fail(notFound)
      }
    }

    const handle = (exchange: Exchange): void => {
      const { request } = exchange
      if (asksForArchive(exchange) && mayEnter(request)) {
        runFork(createArchive(archives, exchange))
        return
      }
      const origin = { address: addressOf(request), requestId: exchange.requestId }
      const routed = Effect.provideService(route(exchange), RequestOrigin, origin)
      const answer = Effect.matchCauseEffect(routed, {
        onSuccess: (answered) => Effect.sync(() => reply(exchange, answered)),
        onFailure: (cause) => refuse(exchange, cause),
      })
      runFork(answer)
    }
    return adminHandler(options, runFork, handle)
  })

const addressOf = clientAddress(undefined)

const asksForArchive = ({ path, request }: Exchange): boolean =>
  request.method === "POST" && path === "/admin/archives"

const unauthorized = laurelError("unauthorized", "Send the token of this server's `server.json`.")
const misdirected = laurelError(
  "misdirected_request",
  "Use an IP address, localhost, or a name from LAUREL_ADMIN_HOST_NAMES.",
)
const internalError = laurelError("internal_error", "The log has the cause under the request id.")

const logReadFailure = ({ cause, metric }: ReadFailure): Effect.Effect<void> =>
  Effect.logError("A metric cannot be read", Cause.die(cause)).pipe(Effect.annotateLogs({ metric }))

const reply = (exchange: Exchange, { body, status }: AdminReply): void => {
  const noStore = ["Cache-Control", "no-store"]
  if (body === undefined) exchange.response.writeHead(status).end()
  else exchange.reply(status, "application/json", JSON.stringify(body), noStore)
}

const refuse = (exchange: Exchange, cause: Cause.Cause<LaurelError>): Effect.Effect<void> => {
  const refusal = Cause.findError(cause)
  if (Result.isSuccess(refusal)) return Effect.sync(() => exchange.refuse(refusal.success))
  exchange.refuse(internalError)
  return Effect.logError("An admin request failed", cause).pipe(
    Effect.annotateLogs({ requestId: exchange.requestId }),
  )
}

const keyRequest = jsonBody<KeyRequest>(KeyRequest)
const rotationRequest = jsonBody<typeof RotationRequest.Type>(RotationRequest)

const created = (key: Effect.Effect<CreatedKey, LaurelError>): Answer =>
  Effect.map(key, (body) => ({ status: 201, body }))

/** Compares hashes, so that neither content nor length of the token shows in the time it takes. */
const tokenCheck = (token: string | undefined): ((request: IncomingMessage) => boolean) => {
  if (token === undefined) return () => true
  const digest = (text: string) => createHash("sha256").update(text).digest()
  const expected = digest(token)
  return (request) => {
    const given = bearerKey(request.headers.authorization)
    return given !== undefined && timingSafeEqual(digest(given), expected)
  }
}
