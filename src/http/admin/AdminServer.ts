/**
 * The admin server, which the operator's commands call. It listens on its own address (loopback by
 * default). Every request needs the token that the server makes at its start, except
 * `GET /metrics`, since Prometheus cannot know the token. `Host` must be a name of this server
 * (`hostCheck`). Errors are problem details as in the API.
 *
 * - `GET /admin/keys`: `{ keys }`.
 * - `POST /admin/keys`: 201 and the key with its text.
 * - `DELETE /admin/keys/:id`: 204.
 * - `POST /admin/keys/:id/rotate`: 201 and the new key with its text.
 * - `GET /admin/projects`: `{ projects }`.
 * - `PUT /admin/projects/:name/limit`: 200 and the project.
 * - `POST /admin/archives`: a stream (`createArchive`).
 * - `GET /admin/archives`: `{ server, archives }`, the archives in the server's folder.
 * - `GET /admin/position`: `{ lastSequence, checksum }`, the end of the durable journal.
 * - `/admin/accounts`: see `accountRoute`.
 * - `GET /metrics`: for Prometheus.
 *
 * The server does not use `HttpApi`: `HttpApiClient` with its imports takes about 65 ms of
 * processor time at the start of each command that calls the server, and the metrics, the stream of
 * an archive, the check of `Host` and the problem details would need code of their own all the
 * same.
 */

import { createHash, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { type AddressInfo, isIP } from "node:net"
import path from "node:path"
import { Cause, Effect, Result, type Schema, type Scope } from "effect"
import { type AccountAdmin, LinkRequest } from "../../accounts/AccountAdmin.ts"
import { ApiKeys, type CreatedKey, KeyRequest, RotationRequest } from "../../accounts/ApiKeys.ts"
import { RequestOrigin } from "../../accounts/audit/AuditLog.ts"
import { LimitRequest, limitNamed, Projects } from "../../accounts/Projects.ts"
import { invalidRequest, type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { Archives } from "../../engine/archive/Archives.ts"
import type { JobFailed, JobProgress } from "../../engine/archive/jobs/Jobs.ts"
import { limits } from "../../Limits.ts"
import { type Metrics, prometheusContentType, type ReadFailure } from "../../metrics/Metrics.ts"
import { detailsOf } from "../../storage/archive/ArchiveCatalog.ts"
import { parseBody, readBody } from "../body/Body.ts"
import { inputDecoder } from "../body/InputDecoder.ts"
import { clientAddress } from "../request/ClientAddress.ts"
import { type Exchange, type RequestHandler, unwatched } from "../request/Exchange.ts"
import { bearerKey, percentDecode } from "../request/RequestParts.ts"
import { type Address, Listener, listen, type ServeError } from "../server/Listener.ts"
import { type Served, whereIs } from "../server/Server.ts"

/* Parts that all routes share. */

/** The reply to a request; 204 if it has no `body`. */
interface AdminReply {
  readonly status: number
  readonly body?: unknown
}

export type Answer = Effect.Effect<AdminReply, LaurelError>

const notFound = laurelError(
  "not_found",
  "The admin server has no operation with this method and path.",
)

/** Reads a JSON body with its schema; fails with all faults. */
const jsonBody = <A>(
  schema: Schema.Top,
): ((exchange: Exchange) => Effect.Effect<A, LaurelError>) => {
  const decode = inputDecoder<A>(schema, { errors: "all", onExcessProperty: "error" })
  const decoded = (value: unknown): Result.Result<A, LaurelError> =>
    Result.mapError(decode(value, "", limits.faultsMax), invalidRequest)
  return (exchange) =>
    Effect.callback((resume) => {
      exchange.askForBody()
      readBody(exchange.request, limits.bodyBytesMax, (body) => {
        resume(Effect.fromResult(Result.flatMap(Result.flatMap(body, parseBody), decoded)))
      })
    })
}

/*
 * Accounts of the dashboard: `GET /admin/accounts` → `{ accounts }`, `POST /admin/accounts/links` →
 * 201 and the path of the link, `DELETE /admin/accounts/:email` → 204. A server without a dashboard
 * answers 404.
 */

const linkRequest = jsonBody<LinkRequest>(LinkRequest)

const accountRoute = (
  accounts: AccountAdmin["Service"] | undefined,
  exchange: Exchange,
): Answer => {
  if (accounts === undefined) return Effect.fail(noDashboard)
  const { path, request } = exchange
  const name = /^\/admin\/accounts\/([^/]+)$/.exec(path)?.[1]
  switch (`${request.method} ${path}`) {
    case "GET /admin/accounts":
      return Effect.map(accounts.list, (all) => ({ status: 200, body: { accounts: all } }))
    case "POST /admin/accounts/links":
      return Effect.map(Effect.flatMap(linkRequest(exchange), accounts.createLink), (body) => ({
        status: 201,
        body,
      }))
  }
  const email = request.method === "DELETE" && name !== undefined ? percentDecode(name) : undefined
  return email === undefined
    ? Effect.fail(notFound)
    : Effect.as(accounts.remove(email), { status: 204 })
}

const noDashboard = laurelError("not_found", "The server runs with LAUREL_DASHBOARD=off.")

/*
 * `POST /admin/archives` → 200 and lines of JSON while the archive is being made:
 * `{ "progress": … }` now and then, `{ "waiting": true }` every `adminPulseMs`, and at last
 * `{ "archive": … }` with the manifest, or `{ "failed": { kind, detail } }`. The archive goes on if
 * the caller disconnects. It may wait for archives of other partitions.
 */

type ArchiveLine =
  | { readonly progress: JobProgress }
  | { readonly waiting: true }
  | { readonly archive: unknown }
  | { readonly failed: Pick<JobFailed, "kind" | "detail"> }

/** Makes an archive and streams its progress. */
export const createArchive = (
  archives: Archives["Service"],
  exchange: Exchange,
): Effect.Effect<void> => {
  const { response } = exchange
  const tell = (line: ArchiveLine): void => {
    if (!response.destroyed) response.write(`${JSON.stringify(line)}\n`)
  }
  exchange.begin(200, "application/x-ndjson", ["Cache-Control", "no-store"])
  const progress = (at: JobProgress) => tell({ progress: at })
  const pulse = Effect.sync(() => tell({ waiting: true })).pipe(
    Effect.delay(limits.adminPulseMs),
    Effect.forever,
  )
  return Effect.raceFirst(archives.create({ reason: "request", progress }), pulse).pipe(
    Effect.matchCauseEffect({
      onSuccess: (archive) => Effect.sync(() => tell({ archive })),
      onFailure: (cause) => {
        const failed = Cause.findError(cause)
        if (Result.isSuccess(failed)) {
          const { detail, kind } = failed.success
          return Effect.sync(() => tell({ failed: { kind, detail } }))
        }
        tell({ failed: { kind: "failed", detail: "The log has the cause under the request id." } })
        return Effect.annotateLogs(Effect.logError("An admin request failed", cause), {
          requestId: exchange.requestId,
        })
      },
    }),
    Effect.ensuring(Effect.sync(() => response.end())),
  )
}

/** The archives in the folder of this server. `server` is its address in the cluster. */
const listOf = (archives: Archives["Service"], server: string | undefined): Answer =>
  Effect.map(archives.list, (listed) => ({
    status: 200,
    body: {
      server: server ?? null,
      archives: listed.map((each) => detailsOf({ ...each, folder: path.resolve(each.folder) })),
    },
  }))

/*
 * Checks of `Host`. The host name of a page in a browser can point to this machine (DNS rebinding),
 * so that the page could read what needs no token. Its requests have that host name in `Host`.
 */

const hostAndPort = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::\d*)?$/

/**
 * Makes the check whether `Host` is an IP address, `localhost` or one of `names`. Clients of
 * HTTP/1.0 may send no `Host`.
 */
export const hostCheck = (
  names: ReadonlyArray<string>,
): ((host: string | undefined) => boolean) => {
  const known = new Set(["localhost", ...names.map((name) => name.toLowerCase())])
  return (host) => {
    if (host === undefined) return true
    const [, inBrackets, plain] = hostAndPort.exec(host.toLowerCase()) ?? []
    if (inBrackets !== undefined) return isIP(inBrackets) === 6
    return plain !== undefined && (isIP(plain) === 4 || known.has(plain.replace(/\.$/, "")))
  }
}

export interface AdminOptions extends Address {
  /** Further host names of the admin server. */
  readonly hostNames: ReadonlyArray<string>
  /** `undefined`: requests were authenticated before. */
  readonly token: string | undefined
  readonly metrics: Metrics
  /** The address at which other servers of the cluster reach this one. */
  readonly clusterAddress?: string | undefined
  /** Absent where the server has no dashboard. */
  readonly accounts?: AccountAdmin["Service"] | undefined
}

/**
 * Serves the admin address until the scope closes; requests in progress then have `adminGraceMs`.
 */
export const serveAdmin = (
  options: AdminOptions,
): Effect.Effect<Served, ServeError, ApiKeys | Projects | Archives | Scope.Scope> =>
  Effect.gen(function* () {
    const handler = yield* makeAdmin(options)
    return yield* listenAdmin(options, handler)
  })

/**
 * Serves the admin address with `handler`, or with the handler that `handlerOf` chooses for a
 * request.
 */
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

/**
 * The part of the admin server that needs no engine: `/metrics`. Other requests with the token go
 * to `pass`.
 */
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

/**
 * Answers `/metrics`, refuses requests with a foreign `Host`, and passes all others to `handle`.
 */
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

/** The operations that need an engine. */
export const makeAdmin = (
  options: AdminOptions,
): Effect.Effect<RequestHandler, never, ApiKeys | Projects | Archives> =>
  Effect.gen(function* () {
    const keys = yield* ApiKeys
    const projects = yield* Projects
    const archives = yield* Archives
    const runFork = Effect.runForkWith(yield* Effect.context<never>())
    const accounts = options.accounts
    const mayEnter = tokenCheck(options.token)

    const create = (exchange: Exchange): Answer =>
      created(Effect.flatMap(keyRequest(exchange), (request) => keys.create(request)))
    const rotate = (exchange: Exchange, id: string): Answer =>
      created(Effect.flatMap(rotationRequest(exchange), ({ overlap }) => keys.rotate(id, overlap)))

    const limit = (exchange: Exchange, name: string): Answer =>
      Effect.map(
        Effect.flatMap(limitRequest(exchange), (request) => limitNamed(projects, name, request)),
        (body) => ({ status: 200, body }),
      )

    const route = (exchange: Exchange): Answer => {
      const { path, request } = exchange
      if (!mayEnter(request)) return Effect.fail(unauthorized)
      if (/^\/admin\/accounts(\/|$)/.test(path)) return accountRoute(accounts, exchange)
      const rotated = /^\/admin\/keys\/([^/]+)\/rotate$/.exec(path)?.[1]
      if (rotated !== undefined && request.method === "POST") return rotate(exchange, rotated)
      const limited = /^\/admin\/projects\/([^/]+)\/limit$/.exec(path)?.[1]
      if (limited !== undefined && request.method === "PUT") return limit(exchange, limited)
      const id = /^\/admin\/keys\/([^/]+)$/.exec(path)?.[1]
      switch (id === undefined ? `${request.method} ${path}` : request.method) {
        case "GET /admin/keys":
          return Effect.map(keys.list, (all) => ({ status: 200, body: { keys: all } }))
        case "POST /admin/keys":
          return create(exchange)
        case "GET /admin/projects":
          return Effect.map(projects.list, (all) => ({ status: 200, body: { projects: all } }))
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
  if (body === undefined) exchange.replyEmpty(status)
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
const limitRequest = jsonBody<LimitRequest>(LimitRequest)
const rotationRequest = jsonBody<typeof RotationRequest.Type>(RotationRequest)

const created = (key: Effect.Effect<CreatedKey, LaurelError>): Answer =>
  Effect.map(key, (body) => ({ status: 201, body }))

/** Compares hashes, so that the time of the comparison does not reveal the token or its length. */
const tokenCheck = (token: string | undefined): ((request: IncomingMessage) => boolean) => {
  if (token === undefined) return () => true
  const digest = (text: string) => createHash("sha256").update(text).digest()
  const expected = digest(token)
  return (request) => {
    const given = bearerKey(request.headers.authorization)
    return given !== undefined && timingSafeEqual(digest(given), expected)
  }
}
