/** `laurel snapshots list` */
import path from "node:path"
import { Console, Effect, Result } from "effect"
import { Command, Flag } from "effect/cli"
import type { Config } from "../../config/Config.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import { bytesOf, type ListedArchive } from "../../storage/archive/ArchiveCatalog.ts"
import { replacedIn } from "../../storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { bytesText, countText } from "../output/Amounts.ts"
import type { CommandFailed } from "../output/ExitCode.ts"
import { diskFailure } from "../output/JobWords.ts"
import { type Column, formatTable } from "../output/Table.ts"
import { archiveSettings, archivesHere, archivesOfBoth } from "../process/ArchiveSettings.ts"
import { archivesInBucket } from "../process/BucketAccess.ts"
import { loadConfig } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"
import {
  forEachPartition,
  isSpread,
  partitionFlag,
  partitionMember,
  partitionsOf,
} from "./partitionFlag.ts"
import { json } from "./SnapshotFlags.ts"

/** An archive as scripts get it. Times are ISO 8601. */
export interface ArchiveDetails {
  /** Where there are several. */
  readonly partition?: number
  readonly id: string
  /** `null`: the archive is in the bucket alone. */
  readonly folder: string | null
  /** Whether it is in the bucket; `null`: none is set, or it did not answer. */
  readonly inBucket: boolean | null
  readonly createdAt: string
  /** Time of its last record; `null`: it has no records, or its manifest cannot be read. */
  readonly recordedAt: string | null
  readonly sequence: number
  readonly users: number | null
  readonly bytes: number | null
  readonly reason: "schedule" | "request" | null
  /** Time of the last successful check, and the faults of a failed one. */
  readonly verifiedAt: string | null
  readonly faults: ReadonlyArray<string>
}

/** The details of an archive, from its manifest alone. */
export const detailsOf = (
  { at, folder, id, manifest, sequence, verification }: ListedArchive,
  { isHere = true, inBucket = null as boolean | null } = {},
): ArchiveDetails => {
  const named = {
    ...{ id, folder: isHere ? folder : null, inBucket },
    ...{ createdAt: isoTime(at), sequence },
  }
  if (Result.isFailure(manifest)) {
    const unknown = { recordedAt: null, users: null, bytes: null, reason: null, verifiedAt: null }
    return { ...named, ...unknown, faults: [`The manifest ${manifest.failure}`] }
  }
  const { counts, recordedAt, reason } = manifest.success
  const faults = verification?.faults ?? []
  return {
    ...named,
    recordedAt,
    users: counts.users ?? null,
    bytes: bytesOf(manifest.success),
    reason,
    // An archive gets its name only after a first check.
    verifiedAt: faults.length > 0 ? null : (verification?.at ?? isoTime(at)),
    faults,
  }
}

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

const places: Column<ArchiveDetails> = {
  title: "WHERE",
  align: "left",
  text: ({ folder, inBucket }) => {
    if (inBucket === null) return unknown
    return folder === null ? "bucket" : inBucket ? "both" : "here"
  },
}

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

const columnsFor = (config: Config): ReadonlyArray<Column<ArchiveDetails>> => [
  ...(isSpread(config) ? [partitionColumn] : []),
  ...columns.slice(0, -1),
  ...(config.archiveBucket === undefined ? [] : [places]),
  ...columns.slice(-1),
]

/** The archives of a partition; `failure`: those of the bucket alone are not among them. */
const listOf = Effect.fnUntraced(function* (config: Config) {
  const settings = yield* archiveSettings(config)
  const local = yield* archivesHere(config, settings)
  const remote =
    config.archiveBucket === undefined
      ? undefined
      : yield* Effect.result(archivesInBucket(config, settings.folder))
  const listed =
    remote === undefined
      ? local.map((archive) => detailsOf(archive))
      : inBoth(local, Result.getOrUndefined(remote))
  const failure = remote !== undefined && Result.isFailure(remote) ? remote.failure : undefined
  const archives = listed.map((archive) => ({ ...partitionMember(config), ...archive }))
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
      if (folders) {
        const here = yield* forEachPartition(configs, "ignored", (each) =>
          Effect.flatMap(archiveSettings(each), (settings) => archivesHere(each, settings)),
        )
        for (const { folder } of here.flat()) yield* Console.log(folder)
        return
      }
      const listed = yield* forEachPartition(configs, "ignored", listOf)
      const archives = listed.flatMap((each) => each.archives)
      if (json) yield* Console.log(JSON.stringify(archives))
      else if (archives.length > 0) {
        yield* Console.log(formatTable(columnsFor(config), archives))
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
