/**
 * The snapshot of an archive: whether its files are those that the manifest and the list of parts name, and how it becomes a data
 * directory's `live/` again.
 */
import path from "node:path"
import { Effect, type Scope } from "effect"
import { limits } from "../../Limits.ts"
import { DiskError, isMissing, readSmallFile, removeTree } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import { rangeOf } from "../Keys.ts"
import { newDatabase } from "../lmdb/DatabaseWriter.ts"
import { Broken, Unavailable } from "../Storage.ts"
import { tables } from "../tables.ts"
import { DamagedValue } from "../Values.ts"
import { yieldToEventLoop } from "../yieldToEventLoop.ts"
import {
  decodeManifestText,
  type Manifest,
  manifestBytesMax,
  manifestName,
} from "./ArchiveManifest.ts"
import { archivedFolder, openArchiveTables } from "./ArchiveTables.ts"
import { describeFiles, pathsIn } from "./Files.ts"
import {
  decodePartList,
  type Part,
  partFile,
  partListBytesMax,
  partListPath,
  partsFolder,
} from "./PartFile.ts"

type Progress = (done: number, total: number) => void

const has = (folder: string, name: string): Effect.Effect<boolean, DiskError> =>
  nodeDisk.list(folder).pipe(
    Effect.map((names) => names.includes(name)),
    Effect.catchIf(isMissing, () => Effect.succeed(false)),
  )

/** Whether a folder is an archive that no server was started on. */
export const isArchive = (folder: string): Effect.Effect<boolean, DiskError> =>
  Effect.map(
    Effect.all([has(folder, archivedFolder), has(folder, "live")]),
    ([isArchived, isLive]) => isArchived && !isLive,
  )

/** The parts of the archive in `folder`; `undefined`: their list is missing or damaged. */
export const readParts = (
  folder: string,
): Effect.Effect<ReadonlyArray<Part> | undefined, DiskError> =>
  readSmallFile(nodeDisk, path.join(folder, partListPath), partListBytesMax).pipe(
    Effect.map(decodePartList),
    Effect.catchIf(isMissing, () => Effect.succeed(undefined)),
  )

/** Compares all files of an archive with its manifest; `fault` is called with a sentence for each that differs. */
export const checkFiles = Effect.fnUntraced(function* (
  folder: string,
  { files }: Manifest,
  fault: (words: string) => void,
  progress: Progress,
): Effect.fn.Return<void, DiskError> {
  const known = new Map(files.map((file) => [file.path, file.sha256]))
  const paths = yield* pathsIn(folder, ["live", archivedFolder, "journal", partsFolder])
  // A list that is not the manifest's shows as a file that has changed.
  for (const part of (yield* readParts(folder)) ?? []) {
    known.set(partFile(part), part.sha256)
  }
  for (const { path: name, sha256 } of yield* describeFiles(folder, paths, progress)) {
    const expected = known.get(name)
    known.delete(name)
    // LMDB leaves its lock beside an opened database; it holds no data.
    if (expected === undefined && name.endsWith("/lock.mdb")) continue
    if (expected === undefined) fault(`The file ${name} does not belong to the archive`)
    else if (expected !== sha256) fault(`The file ${name} has changed`)
  }
  for (const name of known.keys()) fault(`The file ${name} is missing`)
})

/**
 * Copies the snapshot of the archive in `folder`, whose files are right, into the new folder `live`, durably. `copied` gets the
 * bytes of each piece.
 */
export const restoreLive = Effect.fnUntraced(function* (
  folder: string,
  live: string,
  copied: (bytes: number) => void = () => {},
): Effect.fn.Return<void, unknown, Scope.Scope> {
  const parts = (yield* readParts(folder)) ?? []
  const from = yield* openArchiveTables(folder, parts)
  yield* nodeDisk.makeFolder(live)
  const writer = yield* Effect.acquireRelease(newDatabase(live), (opened) =>
    Effect.promise(() => opened.close()),
  )
  const flush = Effect.suspend(() => {
    const bytes = writer.waitingBytes
    return Effect.map(writer.flush, () => copied(bytes))
  })
  for (const table of tables) {
    for (const [key, value] of from.entries({ table, ...rangeOf(new Uint8Array()) })) {
      writer.add(table, key, value)
      if (writer.waitingBytes < limits.archiveFlushBytes) continue
      yield* flush
      yield* yieldToEventLoop
    }
  }
  yield* flush
})

const liveDraft = "live.draft"

/** Before a directory is opened, with its lock held: an archive in it becomes a data directory. A crash in between repeats it. */
export const settleArchive = Effect.fnUntraced(function* (
  directory: string,
): Effect.fn.Return<void, Broken | DiskError> {
  const live = path.join(directory, "live")
  if (yield* isArchive(directory)) {
    const broken = (cause: unknown) => new Broken({ operation: "open", cause })
    const text = yield* readSmallFile(
      nodeDisk,
      path.join(directory, manifestName),
      manifestBytesMax,
    )
    const manifest = yield* Effect.mapError(Effect.fromResult(decodeManifestText(text)), (words) =>
      broken(new DamagedValue(`The manifest of the archive ${directory} ${words}`)),
    )
    const faults: Array<string> = []
    yield* checkFiles(
      directory,
      manifest,
      (words) => faults.push(words),
      () => {},
    )
    if (faults.length > 0) {
      return yield* broken(new DamagedValue(`${faults[0]} (in the archive ${directory})`))
    }
    const draft = path.join(directory, liveDraft)
    yield* removeTree(nodeDisk, draft)
    yield* Effect.mapError(Effect.scoped(restoreLive(directory, draft)), (error) => {
      if (!(error instanceof Unavailable)) return error instanceof DiskError ? error : broken(error)
      return new DiskError({ operation: "write", path: draft, code: "ENOSPC" })
    })
    yield* removeTree(nodeDisk, path.join(draft, "lock.mdb"))
    yield* nodeDisk.syncFolder(draft)
    yield* nodeDisk.rename(draft, live)
    yield* nodeDisk.syncFolder(directory)
  } else if (!(yield* has(directory, archivedFolder))) return
  // The data directory does not need these.
  for (const name of [partsFolder, archivedFolder]) {
    yield* removeTree(nodeDisk, path.join(directory, name))
  }
})
