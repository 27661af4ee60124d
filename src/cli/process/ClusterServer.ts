/**
 * A runner of a cluster from its start to its end. It listens first, joins the cluster, and forwards requests to the owner of
 * their partition; while this runner is the owner, its own engine answers. The end of ownership closes the engine, not the
 * process.
 *
 * At the end of the process partitions are handed over first, then their engines are closed, then the addresses.
 */
import { Cause, Console, Context, Deferred, Effect, Fiber, Result, type Scope } from "effect"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import { observeCluster, requestCounts } from "../../cluster/clusterMetrics.ts"
import {
  askPublished,
  copying,
  DirectoryCommands,
  directoryHandler,
  publishing,
} from "../../cluster/DirectoryCommands.ts"
import { DirectoryCopy } from "../../cluster/DirectoryCopy.ts"
import { DirectoryPublisher } from "../../cluster/DirectoryTable.ts"
import { Followers } from "../../cluster/Followers.ts"
import { adoptForgotten } from "../../cluster/ForgottenProjects.ts"
import type { OwnerConnections } from "../../cluster/Forward.ts"
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
import type { PartitionPlace } from "../../domain/decide/decideProjects.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
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
import { waiting } from "../../storage/postgres/Patience.ts"
import { PgConnection, type Sessions } from "../../storage/postgres/PgConnection.ts"
import type { HasLock } from "../../storage/postgres/PgJournal.ts"
import { checkServer } from "../../storage/postgres/ServerCheck.ts"
import { migrate } from "../../storage/postgres/schema.ts"
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
import { setupLink } from "./OpenDashboard.ts"
import { prepareServices, watchData } from "./OpenServices.ts"
import { makeSharedParts, type SharedDirectory, type SharedParts } from "./SharedParts.ts"

/*
 * The directory of a cluster of several partitions, on one runner: a copy for all engines here, commands to partition 1's owner,
 * and, while this runner is that, the publisher.
 */

export interface ClusterDirectoryOptions {
  readonly url: string
  readonly secret: string
  readonly owners: Pick<Owners, "of" | "renew" | "changed" | "loads">
  readonly connections: OwnerConnections
  readonly sessions: Sessions
  readonly lockExpirationMs: number
}

export interface ClusterDirectory {
  readonly copy: DirectoryCopy
  /** Carries out the commands of other runners; `undefined` unless partition 1 is open here. */
  readonly handler: () => RequestHandler | undefined
  /** For the engine of a partition; `epoch` is that of its claim, once there is one. */
  readonly of: (partition: number, epoch: () => number) => SharedDirectory
}

/** Open until the scope closes. */
export const openClusterDirectory = Effect.fnUntraced(function* (
  options: ClusterDirectoryOptions,
): Effect.fn.Return<ClusterDirectory, never, Scope.Scope> {
  const { lockExpirationMs, sessions, url } = options
  // The bound that owners have.
  const copy = yield* DirectoryCopy.open({ url, staleMs: lockExpirationMs / 3 })
  const commands = new DirectoryCommands({ ...options, copy })
  let handler: RequestHandler | undefined

  const publish = (epoch: number): SharedDirectory["join"] =>
    Effect.fnUntraced(function* (engine) {
      const publisher = new DirectoryPublisher({
        connection: sessions,
        epoch,
        read: engine.readDirectory,
      })
      const adopted = adoptForgotten({ connection: sessions, epoch, engine })
      yield* Effect.forkScoped(Effect.andThen(adopted, publisher.run))
      const own = yield* directoryHandler(askPublished(engine, publisher))
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          handler = own
        }),
        () =>
          Effect.sync(() => {
            if (handler === own) handler = undefined
          }),
      )
      return publishing(engine, publisher)
    })

  /** A partition that nobody has opened yet counts as the first one's server's, which may open it. */
  const places = (): ReadonlyArray<PartitionPlace> => {
    const { owners } = options
    const first = owners.of(firstPartition)?.address ?? ""
    return Array.from({ length: limits.clusterPartitions }, (_, index) => ({
      server: owners.of(index + 1)?.address || first,
      load: owners.loads.of(index + 1),
    }))
  }

  return {
    copy,
    handler: () => handler,
    of: (number, epoch) =>
      number === firstPartition
        ? {
            own: number,
            places,
            join: (engine) => Effect.suspend(() => publish(epoch())(engine)),
          }
        : {
            own: number,
            places,
            join: (engine) => Effect.succeed(copying(engine, copy, commands)),
          },
  }
})

/* What the failure of an opening means for a server of a cluster. */

/** The end of the process, where another attempt would fail in the same way. */
export const openingFailure = (
  cause: Cause.Cause<unknown>,
): CommandFailed | Exclude<OpeningFailure, "ends"> => {
  const found = Cause.findError(cause)
  if (Result.isFailure(found) || !(found.success instanceof CommandFailed)) return "again"
  const { exitCode } = found.success
  if (exitCode === exitCodes.unavailable) return "again"
  return exitCode === exitCodes.cannotWrite ? "unwritable" : found.success
}

/* A partition of a cluster on one server: all that belongs to its data directory, opened while the server follows or owns it. */

export interface ClusterServerOptions {
  readonly config: Config
  /** The address of PostgreSQL. */
  readonly url: string
  readonly metrics: Metrics
  readonly readiness: ReadinessState
  readonly api: Listening
}

export interface PartitionOfServer {
  /** 1 and up. */
  readonly number: number
  readonly server: ClusterServerOptions
  readonly adminOptions: AdminOptions
  readonly serverFile: ServerFile
  readonly admin: AdminHandlers
  readonly shared: SharedParts
  /** Where there are several partitions. */
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
      // Before the claim: where the disk is full, a later failure would wait for outcomes of webhooks to be written.
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
        const welcome = { shown: shownKey, dashboard: dashboardAt, trialDirectory: undefined }
        yield* say(welcomeText(url, welcome))
      }
      yield* watchData(config, metrics, opened)
      const { leave } = Context.get(services, ApiKeys)
      return { handler, lost: Deferred.await(lost), leave, ...fence! }
    })
    return { ...prepared, serve }
  })

export const keepServerFileIn = (
  directory: string,
  file: ServerFile,
): Effect.Effect<void, CommandFailed, Scope.Scope> =>
  Effect.flatMap(
    Effect.promise(() => realPath(directory)),
    (directory) => keepServerFile(directory, { ...file, directory }),
  )

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
