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
import { archiveSettings, archivesOf } from "../process/ArchiveSettings.ts"
import { loadConfig } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"
import { json } from "./SnapshotFlags.ts"

/** An archive as scripts get it. Times are ISO 8601. */
export interface ArchiveDetails {
  readonly id: string
  readonly folder: string
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
export const detailsOf = ({
  at,
  folder,
  id,
  manifest,
  sequence,
  verification,
}: ListedArchive): ArchiveDetails => {
  const named = { id, folder, createdAt: isoTime(at), sequence }
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

const folders = Flag.Boolean("folders").pipe(
  Flag.withDescription(
    "Print only the folder of each archive, for scripts; its last segment is the id",
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
      const archives = (yield* archivesOf(config, settings)).map(detailsOf)
      if (folders) {
        for (const { folder } of archives) yield* Console.log(folder)
        return
      }
      if (json) return yield* Console.log(JSON.stringify(archives))
      if (archives.length > 0) yield* Console.log(formatTable(columns, archives))
      else yield* Console.error(`No archives in ${settings.folder}.`)
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
