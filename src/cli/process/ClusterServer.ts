/**
 * A runner of a cluster from its start to its end. It listens first, joins the cluster, and forwards requests to the owner of
 * their partition; while this runner is the owner, its own engine answers. The end of ownership closes the engine, not the
 * process.
 *
 * At the end of the process partitions are handed over first, then their engines are closed, then the addresses.
 */
import { Cause, Console, Deferred, Effect, Fiber, Result, type Scope } from "effect"
import { observeCluster, requestCounts } from "../../cluster/clusterMetrics.ts"
import { Followers } from "../../cluster/Followers.ts"
import { Forwarder } from "../../cluster/Forwarder.ts"
import { listenInternally } from "../../cluster/InternalPort.ts"
import { AddressTaken, openOwners } from "../../cluster/Owners.ts"
import { Partition } from "../../cluster/Partition.ts"
import { anyRunner, takePart } from "../../cluster/Placement.ts"
import type { OpenedPartition, PreparedPartition } from "../../cluster/PreparedPartition.ts"
import { Shares } from "../../cluster/Shares.ts"
import { readSecret } from "../../cluster/secret.ts"
import type { Config } from "../../config/Config.ts"
import { clusterDirectory, firstPartition } from "../../config/PartitionConfig.ts"
import { splitAddress } from "../../config/SettingForms.ts"
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
import { PgConnection } from "../../storage/postgres/PgConnection.ts"
import { checkServer } from "../../storage/postgres/ServerCheck.ts"
import { migrate } from "../../storage/postgres/schema.ts"
import { CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure } from "../output/JobWords.ts"
import { listenFailure } from "../output/ListenFailure.ts"
import { welcomeText } from "../output/Welcome.ts"
import { leaveArchiveSettings } from "./ArchiveSettings.ts"
import { type AdminHandlers, elsewhere, isOfDirectory, keepAdmin } from "./ClusterAdmin.ts"
import { setupLink } from "./OpenDashboard.ts"
import { prepareServices, watchData } from "./OpenServices.ts"
import { keepServerFile, makeToken, reachable, realPath, type ServerFile } from "./ServerFile.ts"
import { makeSharedParts, type SharedParts } from "./SharedParts.ts"

export interface ClusterServerOptions {
  readonly config: Config
  /** The address of PostgreSQL. */
  readonly url: string
  readonly metrics: Metrics
  readonly readiness: ReadinessState
  readonly api: Listening
}

/** Runs until it is interrupted; fails where this runner can serve no partition. */
export const serveInCluster = (
  options: ClusterServerOptions,
): Effect.Effect<never, CommandFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const { api, config, metrics, readiness, url } = options
    const { clusterAddress: address, clusterLockExpirationMs: lockExpirationMs } = config
    const loaded = yield* Effect.forkScoped(loadModules(config))
    const secret = yield* waitForPostgres(url, readiness)
    const owners = yield* Effect.mapError(openOwners({ url, address, lockExpirationMs }), (error) =>
      ownersFailure(address, error),
    )
    const { clusterPartitions: partitions } = limits
    const count = config.clusterFollowers
    const followers = new Followers({ owners, address, count, partitions })
    const shares = new Shares({ owners, address, partitions })
    const forwarder = new Forwarder({
      owners,
      secret,
      metrics: api.requestMetrics,
      watch: api.watch,
      partitionOf: () => firstPartition,
    })
    owners.onChange = () => forwarder.leaveFormerOwners()
    yield* Effect.addFinalizer(() => Effect.promise(() => forwarder.connections.close()))
    yield* Effect.addFinalizer(() => {
      forwarder.draining = true
      return api.listener.close(config.shutdownGraceMs)
    })

    const token = makeToken()
    const adminOptions = {
      host: config.adminHost,
      port: config.adminPort,
      hostNames: config.adminHostNames,
      token,
      metrics,
    }
    const adminElsewhere = yield* makeAdminWithoutEngine(adminOptions, (exchange) => {
      if (isOfDirectory(exchange)) exchange.refuse(elsewhere(owners.of(firstPartition)))
      else forwarder.forwardAdmin(exchange, firstPartition)
    })
    const admin: AdminHandlers = {}
    const { url: adminUrl } = yield* Effect.mapError(
      listenAdmin(adminOptions, () => admin.own ?? adminElsewhere),
      (error) => listenFailure("admin", config, error),
    )
    const serverFile: ServerFile = {
      pid: process.pid,
      url: reachable(api.url),
      adminUrl: reachable(adminUrl),
      token,
      startedAt: new Date().toISOString(),
    }

    const failed = yield* Deferred.make<never, CommandFailed>()
    const shared = yield* makeSharedParts(config)
    const prepare = preparePartition(options, adminOptions, serverFile, admin, shared)
    const endsProcess = (cause: Cause.Cause<unknown>): boolean => {
      const failure = commandFailure(cause)
      if (failure !== undefined) Deferred.doneUnsafe(failed, Effect.fail(failure))
      return failure !== undefined
    }
    const partition = yield* Partition.make({
      number: firstPartition,
      lockExpirationMs,
      prepare,
      onFailed: endsProcess,
      isFollower: () => followers.isFollower(firstPartition) || shares.isHeir(firstPartition),
    })
    owners.follows = () => {
      const { following, opening } = partition
      // Nothing is moved to a runner that could not open it.
      if (following === undefined || opening.pauses) return []
      const { behindSeconds, lastSequence } = following
      return [{ partition: firstPartition, behindSeconds, lastSequence }]
    }
    owners.row.requests = () => requestCounts(metrics)
    observeCluster(metrics, owners, forwarder, () => partition)

    const handlerOf = (): RequestHandler => partition.handler ?? forwarder
    const { hostname, port } = splitAddress(address)
    yield* listenInternally({
      host: hostname.replace(/^\[|\]$/g, ""),
      port,
      secret,
      graceMs: limits.adminGraceMs,
      handlerOf: (number) => (number === firstPartition ? partition.handler : undefined),
      adminOf: (number) =>
        number === firstPartition && partition.handler !== undefined ? admin.forOthers : undefined,
      // With one partition nobody asks.
      directoryOf: () => undefined,
    }).pipe(Effect.mapError((error) => listenFailure("cluster", config, error)))
    api.listener.handlerOf = handlerOf
    readiness.phase = "ready"
    // An owner alone needs more in it.
    const folder = clusterDirectory(config)
    yield* Effect.mapError(nodeDisk.makeFolder(folder), diskFailure)
    yield* keepServerFileIn(folder, serverFile)
    yield* Fiber.join(loaded)
    yield* takePart({
      url,
      address: { host: hostname, port },
      partitions,
      lockExpirationMs,
      mayTake: (number, held) =>
        // The owner of record is this runner where another one gave it the partition: nobody else takes it.
        (!partition.opening.pauses ||
          followers.isAlone(number) ||
          owners.of(number)?.address === address) &&
        followers.mayTake(number, partition.following?.isCaughtUp === true, held < shares.most),
      givesAway: (number) =>
        partition.opening.isOverdue && !followers.isAlone(number)
          ? anyRunner
          : shares.heirOf(number),
      gaveAway: (_, heir) => {
        if (heir === anyRunner) partition.opening.gaveAway()
      },
      run: () => partition.run,
    })
    yield* Effect.addFinalizer(() => {
      forwarder.isStopping = true
      readiness.phase = "stopping"
      // Before the others see that this runner leaves: then they find the lock free.
      return partition.freeze
    })
    yield* Effect.logInfo("Joined the cluster").pipe(
      Effect.annotateLogs({ url: api.url, adminUrl, address }),
    )
    return yield* Deferred.await(failed)
  })

const keepServerFileIn = (
  directory: string,
  file: ServerFile,
): Effect.Effect<void, CommandFailed, Scope.Scope> =>
  Effect.flatMap(
    Effect.promise(() => realPath(directory)),
    (directory) => keepServerFile(directory, { ...file, directory }),
  )

/** Opens and recovers the partition; `serve` opens all that belongs to its data directory. */
const preparePartition = (
  { api, config, metrics: whole, readiness }: ClusterServerOptions,
  adminOptions: AdminOptions,
  serverFile: ServerFile,
  admin: AdminHandlers,
  shared: SharedParts,
): Effect.Effect<PreparedPartition, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const metrics = new Metrics(whole)
    yield* Effect.addFinalizer(() => Effect.sync(() => metrics.remove()))
    const fenced = yield* Deferred.make<void>()
    let fence: Pick<OpenedPartition, "epoch" | "isOwner"> | undefined
    const prepared = yield* prepareServices(config, metrics, readiness, {
      onClaimed: (claimed) => {
        fence = { epoch: claimed.epoch, isOwner: claimed.isOwner }
      },
      onFenced: () => Deferred.doneUnsafe(fenced, Effect.void),
      shared,
    })
    const serve: Effect.Effect<OpenedPartition, unknown, Scope.Scope> = Effect.gen(function* () {
      const opened = yield* prepared.serve
      const { dashboard, operator, services, shownKey } = opened
      const handler = yield* Effect.provide(
        api.assemble({ pages: dashboard?.pages }, metrics),
        services,
      )
      const ofAdmin = { ...adminOptions, accounts: dashboard?.accounts }
      yield* Effect.provide(keepAdmin(admin, ofAdmin), operator)
      const { adminUrl, url } = serverFile
      const dashboardAt = yield* setupLink(config, url, dashboard)
      yield* leaveArchiveSettings(config)
      yield* keepServerFileIn(config.dataDirectory, serverFile)
      yield* Effect.logInfo("Ready").pipe(Effect.annotateLogs({ url: api.url, adminUrl }))
      const say = config.accessLog === "stdout" ? Console.error : Console.log
      const welcome = { shown: shownKey, dashboard: dashboardAt, trialDirectory: undefined }
      yield* say(welcomeText(url, welcome))
      yield* watchData(config, metrics, opened)
      return { handler, fenced: Deferred.await(fenced), ...fence! }
    })
    return { ...prepared, serve }
  })

/** Loads what an owner needs before there is a partition to own: it would lengthen each first take-over. */
const loadModules = ({ dashboard }: Config): Effect.Effect<void> =>
  Effect.promise(() =>
    Promise.all([
      import("../../storage/postgres/ClusterStorage.ts"),
      import("../../storage/postgres/EnterPartition.ts"),
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
): Effect.Effect<string, CommandFailed> =>
  Effect.gen(function* () {
    let isTold = false
    while (true) {
      const connection = new PgConnection({ url })
      const prepare = Effect.gen(function* () {
        const risks = yield* checkServer(url)
        yield* migrate(connection)
        yield* checkFormat(connection)
        return { risks, secret: yield* readSecret(connection) }
      })
      const prepared = yield* Effect.result(Effect.ensuring(prepare, connection.close))
      if (Result.isSuccess(prepared)) {
        const { risks, secret } = prepared.success
        for (const risk of risks) yield* Effect.logWarning(`PostgreSQL: ${risk}`)
        return secret
      }
      const { isOutage, isRefusal, words } = prepared.failure
      if (isRefusal || !isOutage) return yield* commandFailed(exitCodes.configuration, words)
      readiness.doing = `Waiting for PostgreSQL: ${words}.`
      if (!isTold) {
        yield* Effect.logWarning("Waiting for PostgreSQL").pipe(Effect.annotateLogs({ words }))
        isTold = true
      }
      yield* Effect.sleep(limits.clusterRetryMs)
    }
  })

const ownersFailure = (address: string, error: unknown): CommandFailed =>
  error instanceof AddressTaken
    ? commandFailed(
        exitCodes.configuration,
        `Another server of the cluster has the address ${address}. Set LAUREL_CLUSTER_ADDRESS to one at which the others reach this server alone.`,
      )
    : commandFailed(exitCodes.unavailable, `PostgreSQL: ${error}`)

/** A failure that another attempt would have again. */
const commandFailure = (cause: Cause.Cause<unknown>): CommandFailed | undefined => {
  const found = Cause.findError(cause)
  if (Result.isSuccess(found) && found.success instanceof CommandFailed) {
    return found.success.exitCode === exitCodes.unavailable ? undefined : found.success
  }
  return undefined
}
