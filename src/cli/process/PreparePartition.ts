/** A partition of a cluster on one server: all that belongs to its data directory, opened while the server follows or owns it. */
import { Console, Context, Deferred, Effect, type Scope } from "effect"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import type { OpenedPartition, PreparedPartition } from "../../cluster/PreparedPartition.ts"
import type { Config } from "../../config/Config.ts"
import { ofPartition } from "../../config/PartitionConfig.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import type { AdminOptions } from "../../http/admin/AdminServer.ts"
import type { ReadinessState } from "../../http/server/Readiness.ts"
import type { Listening } from "../../http/server/Server.ts"
import { Metrics } from "../../metrics/Metrics.ts"
import type { HasLock } from "../../storage/postgres/PgJournal.ts"
import type { CommandFailed } from "../output/ExitCode.ts"
import { welcomeText } from "../output/Welcome.ts"
import { leaveArchiveSettings } from "./ArchiveSettings.ts"
import { type AdminHandlers, keepAdmin } from "./ClusterAdmin.ts"
import type { ClusterDirectory } from "./ClusterDirectory.ts"
import { setupLink } from "./OpenDashboard.ts"
import { prepareServices, watchData } from "./OpenServices.ts"
import { keepServerFile, realPath, type ServerFile } from "./ServerFile.ts"
import type { SharedParts } from "./SharedParts.ts"

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
