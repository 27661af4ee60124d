/** `laurel snapshots list` */
import path from "node:path"
import { Console, Effect, Result } from "effect"
import { Command, Flag } from "effect/cli"
import type { Config } from "../../config/Config.ts"
import type { ListedArchive } from "../../storage/archive/ArchiveCatalog.ts"
import { type ArchiveDetails, detailsOf } from "../../storage/archive/ArchiveDetails.ts"
import { replacedIn } from "../../storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { bytesText, countText } from "../output/Amounts.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure } from "../output/JobWords.ts"
import { type Column, formatTable } from "../output/Table.ts"
import { archiveSettings, archivesHere, archivesOfBoth } from "../process/ArchiveSettings.ts"
import { archivesInBucket } from "../process/BucketAccess.ts"
import { tellDirectory } from "../process/DataDirectory.ts"
import { loadConfig, serverFileFolder } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"
import { type AtOwner, askOwners, withOwners } from "../process/OwnerArchives.ts"
import {
  forEachPartition,
  isSpread,
  partitionFlag,
  partitionMember,
  partitionPrefix,
  partitionsOf,
} from "./partitionFlag.ts"
import { json } from "./SnapshotFlags.ts"

const unknown = "?"

const columns: ReadonlyArray<Column<ArchiveDetails>> = [
  { title: "TIME", align: "left", text: ({ createdAt }) => createdAt },
  { title: "SEQUENCE", align: "right", text: ({ sequence }) => countText(sequence) },
  {
    title: "USERS",
    align: "right",
    text: ({ users }) => (users === null ? unknown : countText(users)),
  },
  {
    title: "SIZE",
    align: "right",
    text: ({ bytes }) => (bytes === null ? unknown : bytesText(bytes)),
  },
  { title: "MADE BY", align: "left", text: ({ reason }) => reason ?? unknown },
  {
    title: "VERIFIED",
    align: "left",
    text: ({ faults, verifiedAt }) =>
      faults.length > 0 ? `NO: ${faults[0]}` : (verifiedAt ?? unknown),
  },
  { title: "ID", align: "left", text: ({ id }) => id },
]

const placesOf = ({ archiveBucket }: Config): Column<ArchiveDetails> => ({
  title: "WHERE",
  align: "left",
  text: ({ folder, inBucket, server }) => {
    if (server !== undefined) return inBucket ? `${server}, bucket` : server
    if (inBucket === null) return archiveBucket === undefined ? "here" : unknown
    return folder === null ? "bucket" : inBucket ? "both" : "here"
  },
})

/** The archives of both places, oldest first; `remote` is `undefined` where the bucket did not answer. */
const inBoth = (
  local: ReadonlyArray<ListedArchive>,
  remote: ReadonlyArray<ListedArchive> | undefined,
): ReadonlyArray<ArchiveDetails> => {
  const here = new Set(local.map(({ id }) => id))
  const there = new Set(remote?.map(({ id }) => id))
  return archivesOfBoth(local, remote ?? []).map((archive) =>
    detailsOf(archive, {
      isHere: here.has(archive.id),
      inBucket: remote === undefined ? null : there.has(archive.id),
    }),
  )
}

const folders = Flag.Boolean("folders").pipe(
  Flag.withDescription(
    "Print only the folder of each archive on this machine, for scripts; its last segment is the id",
  ),
  Flag.withDefault(false),
)

const partitionColumn: Column<ArchiveDetails> = {
  title: "PARTITION",
  align: "right",
  text: ({ partition }) => String(partition),
}

const columnsFor = (
  config: Config,
  archives: ReadonlyArray<ArchiveDetails>,
): ReadonlyArray<Column<ArchiveDetails>> => {
  const areHere = archives.every(({ server }) => server === undefined)
  return [
    ...(isSpread(config) ? [partitionColumn] : []),
    ...columns.slice(0, -1),
    ...(config.archiveBucket === undefined && areHere ? [] : [placesOf(config)]),
    ...columns.slice(-1),
  ]
}

const inPartition = (config: Config, { exitCode, lines }: CommandFailed): CommandFailed =>
  commandFailed(exitCode, ...lines.map((line) => `${partitionPrefix(config)}${line}`))

/** The archives of a partition; `failure`: those of the bucket alone, or of the owner alone, are not among them. */
const listOf = Effect.fnUntraced(function* (config: Config, atOwner: AtOwner) {
  const settings = yield* archiveSettings(config)
  const isAlone = Result.isSuccess(atOwner) && atOwner.success === undefined
  const local = yield* Effect.catchIf(
    archivesHere(config, settings),
    ({ exitCode }) => exitCode === exitCodes.noData && !isAlone,
    () => Effect.succeed([]),
  )
  const remote =
    config.archiveBucket === undefined
      ? undefined
      : yield* Effect.result(archivesInBucket(config, settings.folder))
  const listed =
    remote === undefined
      ? local.map((archive) => detailsOf(archive))
      : inBoth(local, Result.getOrUndefined(remote))
  const bucketFailure =
    remote !== undefined && Result.isFailure(remote) ? remote.failure : undefined
  const ownerFailure = Result.isFailure(atOwner) ? inPartition(config, atOwner.failure) : undefined
  const failure = bucketFailure ?? ownerFailure
  const isInBucket = remote === undefined || bucketFailure !== undefined ? null : false
  const all = withOwners(listed, Result.getOrUndefined(atOwner), isInBucket)
  const archives = all.map((archive) => ({ ...partitionMember(config), ...archive }))
  return { config, folder: settings.folder, archives, failure }
})

const tellReplaced = ({ dataDirectory }: Config): Effect.Effect<void, CommandFailed> =>
  replacedIn(nodeDisk, dataDirectory).pipe(
    Effect.mapError(diskFailure),
    Effect.map((names) => names.map((name) => path.join(dataDirectory, name))),
    Effect.flatMap((folders) =>
      Effect.forEach(
        folders,
        (folder) => Console.error(`Kept data that a restore replaced: ${folder}`),
        { discard: true },
      ),
    ),
  )

export const listSnapshots = Command.make(
  "list",
  { folders, json, partition: partitionFlag("list archives of this partition. Default: of all") },
  Effect.fnUntraced(
    function* ({ folders, json, partition }) {
      const config = yield* loadConfig
      const configs = yield* partitionsOf(config, partition)
      yield* tellDirectory(serverFileFolder(config))
      if (folders) {
        const here = yield* forEachPartition(configs, "ignored", (each) =>
          Effect.flatMap(archiveSettings(each), (settings) => archivesHere(each, settings)),
        )
        for (const { folder } of here.flat()) yield* Console.log(folder)
        return
      }
      const atOwners = yield* askOwners(configs)
      const listed = yield* forEachPartition(configs, "ignored", (each) =>
        listOf(each, atOwners.get(each)!),
      )
      const archives = listed.flatMap((each) => each.archives)
      if (json) yield* Console.log(JSON.stringify(archives))
      else if (archives.length > 0) {
        yield* Console.log(formatTable(columnsFor(config, archives), archives))
      } else {
        for (const { folder } of listed) yield* Console.error(`No archives in ${folder}.`)
      }
      // What is here was listed all the same.
      const failure = listed.find((each) => each.failure !== undefined)?.failure
      if (failure !== undefined) return yield* failure
      if (json) return
      for (const each of listed) yield* tellReplaced(each.config)
    },
    (effect) => Effect.provide(effect, loggingLayer()),
  ),
).pipe(
  Command.withDescription(
    "List archives, oldest first: creation time, last record, number of users, size, last successful check",
  ),
)
