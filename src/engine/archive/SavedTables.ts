/** Opens the tables of a data directory or of an archive, whichever a folder is. */
import path from "node:path"
import { Effect, type Scope } from "effect"
import { isArchive, readParts } from "../../storage/archive/ArchiveContents.ts"
import {
  archivedFolder,
  openArchiveTables,
  type TableReader,
} from "../../storage/archive/ArchiveTables.ts"
import type { Part } from "../../storage/archive/PartList.ts"
import { DiskError, isFull } from "../../storage/disk/Disk.ts"
import { openReader } from "../../storage/lmdb/LmdbReader.ts"
import { damaged, type JobFailed } from "./Jobs.ts"

/** Where the database of a data directory or an archive is. */
export const databaseIn = (folder: string): Effect.Effect<string, DiskError> =>
  Effect.map(isArchive(folder), (isOne) => path.join(folder, isOne ? archivedFolder : "live"))

/** Opens the tables of a data directory or an archive for the surrounding scope. */
export const openTables = Effect.fnUntraced(function* (
  folder: string,
  wanted?: ReadonlyArray<Part>,
): Effect.fn.Return<TableReader, DiskError | JobFailed, Scope.Scope> {
  if (!(yield* isArchive(folder))) return yield* openReader(path.join(folder, "live"))
  const parts = wanted ?? (yield* readParts(folder))
  if (parts === undefined)
    return yield* damaged(`The list of parts of ${folder} is missing or damaged`)
  return yield* Effect.mapError(openArchiveTables(folder, parts), (error) =>
    error instanceof DiskError && isFull(error)
      ? error
      : damaged(`The parts of ${folder} cannot be read: ${error}`),
  )
})
