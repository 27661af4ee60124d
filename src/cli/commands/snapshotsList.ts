/** `laurel snapshots list` */
import path from "node:path"
import { Console, Effect, Result } from "effect"
import { Command, Flag } from "effect/cli"
import { isoTime } from "../../domain/values/isoTime.ts"
import { bytesOf, type ListedArchive } from "../../storage/archive/ArchiveCatalog.ts"
import { replacedIn } from "../../storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { bytesText, countText } from "../output/Amounts.ts"
import { diskFailure } from "../output/JobWords.ts"
import { type Column, formatTable } from "../output/Table.ts"
import { archiveSettings, archivesHere, archivesOfBoth } from "../process/ArchiveSettings.ts"
import { archivesInBucket } from "../process/BucketAccess.ts"
import { loadConfig } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"
import { json } from "./SnapshotFlags.ts"

/** An archive as scripts get it. Times are ISO 8601. */
export interface ArchiveDetails {
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

export const listSnapshots = Command.make(
  "list",
  { folders, json },
  Effect.fnUntraced(
    function* ({ folders, json }) {
      const config = yield* loadConfig
      const settings = yield* archiveSettings(config)
      const hasBucket = config.archiveBucket !== undefined
      const local = yield* archivesHere(config, settings)
      if (folders) {
        for (const { folder } of local) yield* Console.log(folder)
        return
      }
      const remote = hasBucket
        ? yield* Effect.result(archivesInBucket(config, settings.folder))
        : Result.succeed(undefined)
      const archives = hasBucket
        ? inBoth(local, Result.getOrUndefined(remote))
        : local.map((archive) => detailsOf(archive))
      const shown = hasBucket ? [...columns.slice(0, -1), places, ...columns.slice(-1)] : columns
      if (json) yield* Console.log(JSON.stringify(archives))
      else if (archives.length > 0) yield* Console.log(formatTable(shown, archives))
      else yield* Console.error(`No archives in ${settings.folder}.`)
      // What is here was listed all the same.
      if (Result.isFailure(remote)) return yield* remote.failure
      if (json) return
      const { dataDirectory } = config
      const replaced = yield* Effect.mapError(replacedIn(nodeDisk, dataDirectory), diskFailure)
      for (const name of replaced) {
        yield* Console.error(`Kept data that a restore replaced: ${path.join(dataDirectory, name)}`)
      }
    },
    (effect) => Effect.provide(effect, loggingLayer()),
  ),
).pipe(
  Command.withDescription(
    "List archives, oldest first: creation time, last record, number of users, size, last successful check",
  ),
)
