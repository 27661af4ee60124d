/**
 * A runner of a cluster from its start to its end. It listens first, joins the cluster, and forwards requests to the owner of
 * their partition; while this runner is the owner, its own engine answers. The end of ownership closes the engine, not the
 * process.
 *
 * At the end of the process partitions are handed over first, then their engines are closed, then the addresses.
 */
import { type Cause, Deferred, Effect, Fiber, type Scope } from "effect"
import { observeCluster, requestCounts } from "../../cluster/clusterMetrics.ts"
import { Followers } from "../../cluster/Followers.ts"
import { Forwarder } from "../../cluster/Forwarder.ts"
import { listenInternally } from "../../cluster/InternalPort.ts"
import type { OpeningFailure } from "../../cluster/Opening.ts"
import { makePartitionTurns } from "../../cluster/OpeningTurns.ts"
import { AddressTaken, type Owners, openOwners } from "../../cluster/Owners.ts"
import { Partition } from "../../cluster/Partition.ts"
import { PartitionRouter } from "../../cluster/PartitionRouter.ts"
import { Partitions } from "../../cluster/Partitions.ts"
import { takePart } from "../../cluster/Placement.ts"
import { Routing } from "../../cluster/Routing.ts"
import { ExpirationDiffers } from "../../cluster/RunnerRow.ts"
import { Shares } from "../../cluster/Shares.ts"
import { readSecret } from "../../cluster/secret.ts"
import { archivesKeptMsOf, type Config } from "../../config/Config.ts"
import { clusterDirectory, ofPartition } from "../../config/PartitionConfig.ts"
import { splitAddress } from "../../config/SettingForms.ts"
import { dashboardPrefix } from "../../dashboard/prefix.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import { listenAdmin, makeAdminWithoutEngine } from "../../http/admin/AdminServer.ts"
import type { ReadinessState } from "../../http/server/Readiness.ts"
import { limits } from "../../Limits.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { checkFormat } from "../../storage/postgres/formats.ts"
import { removeLeftovers } from "../../storage/postgres/Leftovers.ts"
import { waiting } from "../../storage/postgres/Patience.ts"
import { PgConnection } from "../../storage/postgres/PgConnection.ts"
import { checkServer } from "../../storage/postgres/ServerCheck.ts"
import { migrate } from "../../storage/postgres/schema.ts"
import { CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure } from "../output/JobWords.ts"
import { listenFailure } from "../output/ListenFailure.ts"
import {
  type AdminHandlers,
  adminPartition,
  elsewhere,
  isOfDirectory,
  noPartition,
} from "./ClusterAdmin.ts"
import { type ClusterDirectory, openClusterDirectory } from "./ClusterDirectory.ts"
import { openingFailure } from "./openingFailure.ts"
import {
  type ClusterServerOptions,
  keepServerFileIn,
  preparePartition,
} from "./PreparePartition.ts"
import { makeToken, reachable, type ServerFile } from "./ServerFile.ts"
import { makeSharedParts } from "./SharedParts.ts"

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
      ownersFailure(config, error),
    )
    const partitions = limits.clusterPartitions
    const shared = yield* makeSharedParts(config, url)
    const count = config.clusterFollowers
    const followers = new Followers({ owners, address, count })
    const shares = new Shares({ owners, address, partitions })
    const forwarder = new Forwarder({
      ...{ owners, address },
      serves: (number) => here.handlerOf(number) !== undefined,
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

    const token = makeToken()
    const adminOptions = {
      host: config.adminHost,
      port: config.adminPort,
      hostNames: config.adminHostNames,
      token,
      metrics,
    }
    const adminElsewhere = yield* makeAdminWithoutEngine(adminOptions, (exchange) => {
      const number = adminPartition(exchange.request.url ?? "", partitions)
      if (number === undefined) exchange.refuse(noPartition)
      else if (isOfDirectory(exchange)) exchange.refuse(elsewhere(owners.of(number), number))
      else forwarder.forwardAdmin(exchange, number)
    })
    const numbers = Array.from({ length: partitions }, (_, index) => index + 1)
    const admins = new Map(numbers.map((number): [number, AdminHandlers] => [number, {}]))
    // An engine may be open while another server is the owner: it answers only as the API does.
    const adminOf = ({ url }: { readonly url?: string | undefined }) => {
      const number = adminPartition(url ?? "", partitions) ?? 0
      const own = admins.get(number)?.own
      return own === undefined || here.handlerOf(number) === undefined ? adminElsewhere : own
    }
    const { url: adminUrl } = yield* Effect.mapError(
      listenAdmin(adminOptions, adminElsewhere, adminOf),
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
    const inServer = { server: options, adminOptions, serverFile, shared, directory }
    const onFailed = (cause: Cause.Cause<unknown>): OpeningFailure => {
      const failure = openingFailure(cause)
      if (failure instanceof CommandFailed) Deferred.doneUnsafe(failed, Effect.fail(failure))
      return failure instanceof CommandFailed ? "ends" : failure
    }
    const turns = makePartitionTurns()
    const all = yield* Effect.forEach(numbers, (number) =>
      Partition.make({
        ...{ number, lockExpirationMs, turns },
        prepare: (hasLock) =>
          preparePartition({ ...inServer, number, hasLock, admin: admins.get(number)! }),
        onFailed,
        onServing: () => owners.announce(number),
        isFollower: () => followers.isFollower(number) || shares.isHeir(number),
      }),
    )
    const here = new Partitions(all, {
      ...{ owners, followers, shares, address },
      mayAnswer: (number) => number === firstPartition || directory.copy.isCurrent,
    })
    owners.follows = () => here.follows
    owners.row.requests = () => requestCounts(metrics)
    owners.loads.requests = (number) => here.of(number).requests
    observeCluster(metrics, owners, forwarder, (number) => here.of(number))

    const { hostname, port } = splitAddress(address)
    yield* listenInternally({
      host: hostname.replace(/^\[|\]$/g, ""),
      port,
      secret,
      graceMs: limits.adminGraceMs,
      handlerOf: (number, request) => {
        const handler = here.handlerOf(number)
        return handler && (routing.atOwner(number, handler, request) ?? handler)
      },
      adminOf: (number) =>
        here.handlerOf(number) === undefined ? undefined : admins.get(number)?.forOthers,
      directoryOf: () =>
        here.handlerOf(firstPartition) === undefined ? undefined : directory.handler(),
    }).pipe(Effect.mapError((error) => listenFailure("cluster", config, error)))
    api.listener.handlerOf = (request) => {
      // Readiness is that of the whole server, not of the partition that would answer.
      if (request.url?.startsWith("/readyz") === true) return forwarder
      const number = routing.known(request)
      return (number === undefined ? undefined : here.handlerOf(number)) ?? forwarder
    }
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
      mayTake: here.mayTake,
      givesAway: here.givesAway,
      gaveAway: here.gaveAway,
      run: here.run,
    })
    yield* Effect.addFinalizer(() => {
      forwarder.isStopping = true
      readiness.phase = "stopping"
      // Before the others see that this runner leaves: then they find the lock free.
      return here.handOver
    })
    yield* Effect.forkScoped(removeLeftoversOf(config, all))
    yield* Effect.logInfo("Joined the cluster").pipe(
      Effect.annotateLogs({ url: api.url, adminUrl, address }),
    )
    return yield* Deferred.await(failed)
  })

/** Of the partitions of this runner. */
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
): Effect.Effect<string, CommandFailed> => {
  const connection = new PgConnection({ url })
  const prepare = Effect.gen(function* () {
    const risks = yield* checkServer(url)
    yield* migrate(connection)
    yield* checkFormat(connection)
    return { risks, secret: yield* readSecret(connection) }
  })
  const patiently = waiting((why) => {
    readiness.doing = `Waiting for PostgreSQL: ${why}.`
  })
  return Effect.ensuring(patiently(prepare), connection.close).pipe(
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
