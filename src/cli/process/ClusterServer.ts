/**
 * A runner of a cluster from its start to its end. The API listens already (`Server.ts`).
 *
 * 1. `joinCluster`: waits for PostgreSQL, reads the owners, and forwards requests to the owner of
 *    their partition.
 * 2. `openAdmin`: listens for commands, which go to the owner of their partition as well.
 * 3. `makePartitions`: one object per partition. It opens an engine while this runner follows or
 *    owns the partition. The end of ownership closes the engine, not the process.
 * 4. `serveInCluster`: listens for the other runners, and takes part in the assignment of
 *    partitions.
 *
 * At the end of the process the runner first hands its partitions over, then closes their engines,
 * and then its addresses.
 */
import path from "node:path"
import { Cause, Console, Context, Deferred, Effect, Fiber, Result, type Scope } from "effect"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import { observeCluster, requestCounts } from "../../cluster/clusterMetrics.ts"
import { Followers } from "../../cluster/Followers.ts"
import { Forwarder } from "../../cluster/Forwarder.ts"
import { listenInternally } from "../../cluster/InternalPort.ts"
import { makePartitionTurns, type OpeningFailure } from "../../cluster/Opening.ts"
import { AddressTaken, type Owners, openOwners } from "../../cluster/Owners.ts"
import { Partition } from "../../cluster/Partition.ts"
import { PartitionRouter, Routing } from "../../cluster/PartitionRouter.ts"
import { Partitions } from "../../cluster/Partitions.ts"
import { takePart } from "../../cluster/Placement.ts"
import type { OpenedPartition, PreparedPartition } from "../../cluster/PreparedPartition.ts"
import { ExpirationDiffers, readSecret } from "../../cluster/RunnerRow.ts"
import { Shares } from "../../cluster/Shares.ts"
import {
  archivesKeptMsOf,
  type Config,
  clusterDirectory,
  ofPartition,
} from "../../config/Config.ts"
import { splitAddress } from "../../config/SettingForms.ts"
import { dashboardPrefix } from "../../dashboard/view/Assets.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import { SharedBounds } from "../../engine/state/EngineState.ts"
import {
  type AdminOptions,
  listenAdmin,
  makeAdminWithoutEngine,
} from "../../http/admin/AdminServer.ts"
import type { RequestHandler } from "../../http/request/Exchange.ts"
import type { ReadinessState } from "../../http/server/Readiness.ts"
import type { Listening } from "../../http/server/Server.ts"
import { limits } from "../../Limits.ts"
import { Metrics } from "../../metrics/Metrics.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { checkFormat } from "../../storage/postgres/formats.ts"
import { removeLeftovers } from "../../storage/postgres/Leftovers.ts"
import { makeOutageRetry } from "../../storage/postgres/OutageRetry.ts"
import { PgConnection } from "../../storage/postgres/PgConnection.ts"
import type { HasLock } from "../../storage/postgres/PgJournal.ts"
import { openSessions } from "../../storage/postgres/PgPool.ts"
import { checkServer } from "../../storage/postgres/ServerCheck.ts"
import { migrate } from "../../storage/postgres/schema.ts"
import { makeSharedDelivery } from "../../webhooks/SharedDelivery.ts"
import { CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure } from "../output/JobWords.ts"
import { listenFailure } from "../output/ListenFailure.ts"
import { welcomeText } from "../output/Welcome.ts"
import { keepServerFile, makeToken, reachable, realPath, type ServerFile } from "./AdminRequest.ts"
import { leaveArchiveSettings } from "./ArchiveSettings.ts"
import {
  type AdminHandlers,
  adminPartition,
  elsewhere,
  isOfDirectory,
  keepAdmin,
  noPartition,
} from "./ClusterAdmin.ts"
import { type ClusterDirectory, openClusterDirectory } from "./ClusterDirectory.ts"
import { setupLink } from "./OpenDashboard.ts"
import { openHosts, type SharedParts } from "./OpenEngine.ts"
import { prepareServices, watchData } from "./OpenServices.ts"

interface ClusterServerOptions {
  readonly config: Config
  /** The address of PostgreSQL. */
  readonly url: string
  readonly metrics: Metrics
  readonly readiness: ReadinessState
  readonly api: Listening
}

/** Runs until it is interrupted; fails if this runner can serve no partition. */
export const serveInCluster = (
  options: ClusterServerOptions,
): Effect.Effect<never, CommandFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { api, config, metrics, readiness, url } = options
    const loaded = yield* Effect.forkScoped(loadModules(config))
    // Requests that arrive before the partitions are made find no engine here.
    let here: Partitions | undefined
    const handlerOf: HandlerOf = (number) => here?.handlerOf(number)
    const runner = yield* joinCluster(options, handlerOf)
    const admin = yield* openAdmin(options, runner, handlerOf)
    const failed = yield* Deferred.make<never, CommandFailed>()
    const { all, partitions } = yield* makePartitions(options, runner, admin, (failure) =>
      Deferred.doneUnsafe(failed, Effect.fail(failure)),
    )
    here = partitions
    const { forwarder, owners } = runner
    owners.follows = () => partitions.follows
    owners.row.requests = () => requestCounts(metrics)
    owners.loads.requests = (number) => partitions.of(number).requests
    observeCluster(metrics, owners, forwarder, (number) => partitions.of(number))
    const address = yield* listenForRunners(options, runner, admin, handlerOf)
    answerApi(api, runner, handlerOf)
    readiness.phase = "ready"
    // The server files of the partitions that this runner owns are in the folders of the
    // partitions.
    const folder = clusterDirectory(config)
    yield* Effect.mapError(nodeDisk.makeFolder(folder), diskFailure)
    yield* keepServerFileIn(folder, admin.serverFile)
    yield* Fiber.join(loaded)
    yield* takePart({
      url,
      address,
      partitions: limits.clusterPartitions,
      lockExpirationMs: config.clusterLockExpirationMs,
      mayTake: partitions.mayTake,
      givesAway: partitions.givesAway,
      gaveAway: partitions.gaveAway,
      run: partitions.run,
    })
    yield* Effect.addFinalizer(() => {
      forwarder.isStopping = true
      readiness.phase = "stopping"
      // Before the other runners see that this runner leaves: they then find the locks free.
      return partitions.handOver
    })
    yield* Effect.forkScoped(removeLeftoversOf(config, all))
    yield* Effect.logInfo("Joined the cluster").pipe(
      Effect.annotateLogs({ url: api.url, adminUrl: admin.url, address: config.clusterAddress }),
    )
    return yield* Deferred.await(failed)
  })

/**
 * The handler of a partition's engine here; `undefined`: this runner does not answer for the
 * partition.
 */
type HandlerOf = (number: number) => RequestHandler | undefined

/** The connections of this runner to its cluster. */
interface Runner {
  /** Proves to other runners that a request comes from the cluster. */
  readonly secret: string
  readonly owners: Owners
  readonly shared: SharedParts
  readonly followers: Followers
  readonly shares: Shares
  readonly forwarder: Forwarder
  readonly directory: ClusterDirectory
  readonly routing: Routing
}

const joinCluster = Effect.fnUntraced(function* (
  { api, config, readiness, url }: ClusterServerOptions,
  handlerOf: HandlerOf,
): Effect.fn.Return<Runner, CommandFailed, Scope.Scope> {
  const { clusterAddress: address, clusterLockExpirationMs: lockExpirationMs } = config
  const secret = yield* waitForPostgres(url, readiness)
  const owners = yield* Effect.mapError(openOwners({ url, address, lockExpirationMs }), (error) =>
    ownersFailure(config, error),
  )
  const shared = yield* makeSharedParts(config, url)
  const followers = new Followers({ owners, address, count: config.clusterFollowers })
  const shares = new Shares({ owners, address, partitions: limits.clusterPartitions })
  const forwarder = new Forwarder({
    ...{ owners, address },
    serves: (number) => handlerOf(number) !== undefined,
    secret,
    metrics: api.requestMetrics,
    watch: api.watch,
    partitionOf: ({ request }) => routing.find(request) ?? firstPartition,
  })
  const directory = yield* openClusterDirectory({
    ...{ url, secret, owners, lockExpirationMs },
    sessions: shared.sessions.others,
    connections: forwarder.connections,
  })
  const routing = routingBy(directory, owners)
  owners.onChange = () => forwarder.leaveFormerOwners()
  yield* Effect.addFinalizer(() => Effect.promise(() => forwarder.connections.close()))
  yield* Effect.addFinalizer(() => {
    forwarder.drain()
    return api.listener.close(config.shutdownGraceMs)
  })
  return { secret, owners, shared, followers, shares, forwarder, directory, routing }
})

interface RunnerAdmin {
  readonly options: AdminOptions
  readonly url: string
  readonly serverFile: ServerFile
  /** The handlers of each partition whose engine is open here. */
  readonly handlers: ReadonlyMap<number, AdminHandlers>
}

const openAdmin = Effect.fnUntraced(function* (
  { api, config, metrics }: ClusterServerOptions,
  { forwarder, owners }: Runner,
  handlerOf: HandlerOf,
): Effect.fn.Return<RunnerAdmin, CommandFailed, Scope.Scope> {
  const partitions = limits.clusterPartitions
  const token = makeToken()
  const options = {
    host: config.adminHost,
    port: config.adminPort,
    hostNames: config.adminHostNames,
    token,
    metrics,
  }
  const adminElsewhere = yield* makeAdminWithoutEngine(options, (exchange) => {
    const number = adminPartition(exchange.request.url ?? "", partitions)
    if (number === undefined) exchange.refuse(noPartition)
    else if (isOfDirectory(exchange)) exchange.refuse(elsewhere(owners.of(number), number))
    else forwarder.forwardAdmin(exchange, number)
  })
  const handlers = new Map(
    partitionNumbers().map((number): [number, AdminHandlers] => [number, {}]),
  )
  // An engine may be open while another server is the owner: admin requests go where API requests
  // go.
  const handlerOfUrl = ({ url }: { readonly url?: string | undefined }) => {
    const number = adminPartition(url ?? "", partitions) ?? 0
    const own = handlers.get(number)?.own
    return own === undefined || handlerOf(number) === undefined ? adminElsewhere : own
  }
  const { url } = yield* Effect.mapError(
    listenAdmin(options, adminElsewhere, handlerOfUrl),
    (error) => listenFailure("admin", config, error),
  )
  const serverFile: ServerFile = {
    pid: process.pid,
    url: reachable(api.url),
    adminUrl: reachable(url),
    token,
    startedAt: new Date().toISOString(),
  }
  return { options, url, serverFile, handlers }
})

/** `onFailed` gets a failure that would return in each further attempt to open a partition. */
const makePartitions = Effect.fnUntraced(function* (
  server: ClusterServerOptions,
  { directory, followers, owners, shared, shares }: Runner,
  admin: RunnerAdmin,
  onFailed: (failure: CommandFailed) => void,
) {
  const { clusterAddress: address, clusterLockExpirationMs: lockExpirationMs } = server.config
  const { options: adminOptions, serverFile } = admin
  const inServer = { server, adminOptions, serverFile, shared, directory }
  const turns = makePartitionTurns()
  const all = yield* Effect.forEach(partitionNumbers(), (number) =>
    Partition.make({
      ...{ number, lockExpirationMs, turns },
      prepare: (hasLock) =>
        preparePartition({ ...inServer, number, hasLock, admin: admin.handlers.get(number)! }),
      onFailed: (cause): OpeningFailure => {
        const failure = openingFailure(cause, followers.isAlone(number))
        if (!(failure instanceof CommandFailed)) return failure
        onFailed(failure)
        return "ends"
      },
      onServing: () => owners.announce(number),
      isFollower: () => followers.isFollower(number) || shares.isHeir(number),
    }),
  )
  const partitions = new Partitions(all, {
    ...{ owners, followers, shares, address },
    mayAnswer: (number) => number === firstPartition || directory.copy.isCurrent,
  })
  return { all, partitions }
})

/** Takes requests that other runners forward. Returns the address as host and port. */
const listenForRunners = Effect.fnUntraced(function* (
  { config }: ClusterServerOptions,
  { directory, routing, secret }: Runner,
  admin: RunnerAdmin,
  handlerOf: HandlerOf,
) {
  const { hostname, port } = splitAddress(config.clusterAddress)
  yield* listenInternally({
    host: hostname.replace(/^\[|\]$/g, ""),
    port,
    secret,
    graceMs: limits.adminGraceMs,
    handlerOf: (number, request) => {
      const handler = handlerOf(number)
      return handler && (routing.atOwner(number, handler, request) ?? handler)
    },
    adminOf: (number) =>
      handlerOf(number) === undefined ? undefined : admin.handlers.get(number)?.forOthers,
    directoryOf: () => (handlerOf(firstPartition) === undefined ? undefined : directory.handler()),
  }).pipe(Effect.mapError((error) => listenFailure("cluster", config, error)))
  return { host: hostname, port }
})

/** From now on the engine of a request's partition answers, or the request is forwarded. */
const answerApi = (api: Listening, { forwarder, routing }: Runner, handlerOf: HandlerOf): void => {
  api.listener.handlerOf = (request) => {
    // Readiness is that of the whole server, not of one partition.
    if (request.url?.startsWith("/readyz") === true) return forwarder
    const number = routing.known(request)
    return (number === undefined ? undefined : handlerOf(number)) ?? forwarder
  }
}

const partitionNumbers = (): ReadonlyArray<number> =>
  Array.from({ length: limits.clusterPartitions }, (_, index) => index + 1)

/* Joining. */

/** Loads the modules of an owner before the first take-over, which loading would delay. */
const loadModules = ({ dashboard }: Config): Effect.Effect<void> =>
  Effect.promise(() =>
    Promise.all([
      import("./OpenClusterStorage.ts"),
      ...(dashboard === "on"
        ? [
            import("../../dashboard/Dashboard.ts"),
            import("./OpenAccounts.ts"),
            import("./ServerState.ts"),
          ]
        : []),
    ]),
  )

/** Makes the tables and returns the secret, once PostgreSQL answers. */
const waitForPostgres = (
  url: string,
  readiness: ReadinessState,
): Effect.Effect<string, CommandFailed> => {
  const connection = new PgConnection({ url })
  const prepare = Effect.gen(function* () {
    const risks = yield* checkServer(url)
    yield* checkFormat(connection)
    yield* migrate(connection)
    return { risks, secret: yield* readSecret(connection) }
  })
  const retryOutage = makeOutageRetry((why) => {
    readiness.doing = `Waiting for PostgreSQL: ${why}.`
  })
  return Effect.ensuring(retryOutage(prepare), connection.close).pipe(
    Effect.mapError(({ message }) => commandFailed(exitCodes.configuration, message)),
    Effect.tap(({ risks }) =>
      Effect.forEach(risks, (risk) => Effect.logWarning(`PostgreSQL: ${risk}`)),
    ),
    Effect.map(({ secret }) => secret),
  )
}

const ownersFailure = (
  { clusterAddress: address, clusterLockExpirationMs: ownMs }: Config,
  error: unknown,
): CommandFailed => {
  if (error instanceof ExpirationDiffers) {
    return commandFailed(
      exitCodes.configuration,
      `The server ${error.address} of the cluster runs with a LAUREL_CLUSTER_LOCK_EXPIRATION of ${error.otherMs} ms, this one has ${ownMs} ms. Set the same value on all servers. To change the value, stop all servers first.`,
    )
  }
  return error instanceof AddressTaken
    ? commandFailed(
        exitCodes.configuration,
        `Another server of the cluster has the address ${address}. Set LAUREL_CLUSTER_ADDRESS to an address that belongs to this server only.`,
      )
    : commandFailed(exitCodes.unavailable, error instanceof Error ? error.message : String(error))
}

/** For the engines of all partitions of a process, until the scope closes. `url`: of PostgreSQL. */
export const makeSharedParts = Effect.fnUntraced(function* (
  config: Config,
  url: string,
): Effect.fn.Return<SharedParts, never, Scope.Scope> {
  return {
    hosts: yield* openHosts(config),
    bounds: new SharedBounds({ stateBytesMax: config.stateBytesMax }),
    delivery: yield* makeSharedDelivery({ allowed: config.webhookAllowedRanges }),
    sessions: yield* openSessions({ url }),
  }
})

/* Partitions. */

/**
 * A failure of an opening: a `CommandFailed` ends the process, since another attempt would fail in
 * the same way. Without an archive that fills its copy a server leaves the partition to another
 * server, which may have one. `isAlone`: there is no other server.
 */
export const openingFailure = (
  cause: Cause.Cause<unknown>,
  isAlone: boolean,
): CommandFailed | Exclude<OpeningFailure, "ends"> => {
  const found = Cause.findError(cause)
  if (Result.isFailure(found) || !(found.success instanceof CommandFailed)) return "again"
  const { exitCode, lines } = found.success
  switch (exitCode) {
    case exitCodes.unavailable:
      return "again"
    case exitCodes.cannotWrite:
      return "unwritable"
    case exitCodes.noData:
      return isAlone ? commandFailed(exitCodes.configuration, ...lines) : "unwritable"
    default:
      return found.success
  }
}

/**
 * A partition of a cluster on one server: opened while the server follows or owns the partition.
 */
export interface PartitionOfServer {
  /** 1 and up. */
  readonly number: number
  readonly server: ClusterServerOptions
  readonly adminOptions: AdminOptions
  readonly serverFile: ServerFile
  readonly admin: AdminHandlers
  readonly shared: SharedParts
  /** The directory of the cluster. */
  readonly directory: ClusterDirectory
  readonly hasLock: HasLock
}

/** Opens and recovers the partition; `serve` opens all that belongs to its data directory. */
export const preparePartition = ({
  admin,
  adminOptions,
  directory,
  hasLock,
  number,
  server,
  serverFile,
  shared,
}: PartitionOfServer): Effect.Effect<PreparedPartition, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const { api, metrics: whole, readiness } = server
    const config = ofPartition(server.config, number)
    const metrics = new Metrics(whole)
    yield* Effect.addFinalizer(() => Effect.sync(() => metrics.remove()))
    const lost = yield* Deferred.make<"fenced" | "damaged">()
    let fence: Pick<OpenedPartition, "epoch" | "isOwner" | "resume"> | undefined
    const prepared = yield* prepareServices(config, metrics, readiness, {
      onClaimed: (claimed) => {
        fence = { epoch: claimed.epoch, isOwner: claimed.isOwner, resume: claimed.resume }
      },
      hasLock,
      onFenced: () => Deferred.doneUnsafe(lost, Effect.succeed("fenced" as const)),
      onDamaged: () => Deferred.doneUnsafe(lost, Effect.succeed("damaged" as const)),
      shared,
      directory: directory.of(number, () => fence!.epoch),
    })
    const serve: Effect.Effect<OpenedPartition, unknown, Scope.Scope> = Effect.gen(function* () {
      // Before the claim: on a full disk, a later failure would wait until outcomes of webhooks are
      // written.
      yield* leaveArchiveSettings(config)
      const opened = yield* prepared.serve
      const { dashboard, operator, services, shownKey } = opened
      const handler = yield* Effect.provide(
        api.assemble({ pages: dashboard?.pages }, metrics),
        services,
      )
      const { clusterAddress } = config
      const ofAdmin = { ...adminOptions, clusterAddress, accounts: dashboard?.accounts }
      yield* Effect.provide(keepAdmin(admin, ofAdmin), operator)
      yield* keepServerFileIn(config.dataDirectory, serverFile)
      yield* Effect.logInfo("Ready").pipe(
        Effect.annotateLogs({ url: api.url, adminUrl: serverFile.adminUrl, partition: number }),
      )
      if (number === firstPartition) {
        const { url } = serverFile
        const dashboardAt = yield* setupLink(config, url, dashboard)
        const say = config.accessLog === "stdout" ? Console.error : Console.log
        const directory = path.resolve(config.dataDirectory)
        const welcome = { shown: shownKey, dashboard: dashboardAt, directory, isTrial: false }
        yield* say(welcomeText(url, welcome))
      }
      yield* watchData(config, metrics, opened)
      const { leave } = Context.get(services, ApiKeys)
      return { handler, lost: Deferred.await(lost), leave, ...fence! }
    })
    return { ...prepared, serve }
  })

const keepServerFileIn = (
  directory: string,
  file: ServerFile,
): Effect.Effect<void, CommandFailed, Scope.Scope> =>
  Effect.flatMap(
    Effect.promise(() => realPath(directory)),
    (directory) => keepServerFile(directory, { ...file, directory }),
  )

/** Removes leftovers of this runner's partitions. */
const removeLeftoversOf = (config: Config, all: ReadonlyArray<Partition>): Effect.Effect<never> => {
  const directories = all.map((_, index) => ofPartition(config, index + 1).dataDirectory)
  const hasArchives = config.archiveDirectory === "" && config.archiveIntervalMs !== null
  return removeLeftovers({
    directories: new Map(directories.map((directory, index) => [index + 1, directory])),
    whileClosed: (number, remove) => all[number - 1]!.whileClosed(remove),
    isOwner: (number) => all[number - 1]!.handler !== undefined,
    archivesKeptMs: hasArchives ? archivesKeptMsOf(config) : undefined,
  })
}

const routingBy = ({ copy }: ClusterDirectory, owners: Owners): Routing =>
  new Routing(
    new PartitionRouter({
      directory: () => copy.state,
      pages: dashboardPrefix,
      partitions: limits.clusterPartitions,
    }),
    copy,
    owners,
  )
