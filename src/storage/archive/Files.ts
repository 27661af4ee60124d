/** Hashes, links and copies whole files, a piece at a time. */
import { createHash } from "node:crypto"
import fs from "node:fs/promises"
import path from "node:path"
import { Effect } from "effect"
import { DiskError, namesIn, type OnDisk, withFile } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import { segmentsIn } from "../journal/JournalScan.ts"
import { sealedName } from "../journal/SealedFormat.ts"
import { segmentName } from "../journal/SegmentFormat.ts"
import type { Manifest } from "./ArchiveManifest.ts"
import { gatheredIn } from "./GatheredJournals.ts"

const pieceBytes = 1_048_576

type FileDescription = Manifest["files"][number]

/** Reads a file and passes its pieces to `piece`, which must not keep them; returns its size. */
const readFile = (
  where: string,
  piece: (bytes: Uint8Array, position: number) => OnDisk<void> | undefined,
): OnDisk<number> =>
  withFile(nodeDisk, where, "read", (file) =>
    Effect.gen(function* () {
      const memory = Buffer.allocUnsafe(pieceBytes)
      let position = 0
      while (true) {
        const count = yield* file.read(position, memory)
        if (count === 0) return position
        const written = piece(memory.subarray(0, count), position)
        if (written !== undefined) yield* written
        position += count
      }
    }),
  )

/** The paths in `root` of the files in its `folders`, sorted in each. A folder may be missing. */
export const pathsIn = Effect.fnUntraced(function* (
  root: string,
  folders: ReadonlyArray<string>,
): Effect.fn.Return<ReadonlyArray<string>, DiskError> {
  const paths: Array<string> = []
  for (const folder of folders) {
    const names = yield* namesIn(nodeDisk, path.join(root, folder))
    paths.push(...names.toSorted().map((name) => `${folder}/${name}`))
  }
  return paths
})

export interface SegmentFile {
  readonly first: number
  readonly name: string
  readonly isSealed: boolean
}

/**
 * The files of the segments in the folder of a journal, in order. Where a segment is there plain
 * and sealed, it is the sealed one.
 */
export const segmentFilesIn = Effect.fnUntraced(function* (
  folder: string,
): Effect.fn.Return<ReadonlyArray<SegmentFile>, DiskError> {
  const names = new Set(yield* namesIn(nodeDisk, folder))
  return (yield* segmentsIn(nodeDisk, folder)).map((first) => {
    const isSealed = names.has(sealedName(first))
    return { first, name: isSealed ? sealedName(first) : segmentName(first), isSealed }
  })
})

/** The sizes and checksums of the files at `paths` in `root`. */
export const describeFiles = Effect.fnUntraced(function* (
  root: string,
  paths: ReadonlyArray<string>,
  progress: (done: number, total: number) => void,
): Effect.fn.Return<ReadonlyArray<FileDescription>, DiskError> {
  let total = 0
  for (const name of paths) {
    total += yield* withFile(nodeDisk, path.join(root, name), "read", (file) => file.size)
  }
  let done = 0
  const described: Array<FileDescription> = []
  for (const name of paths) {
    const hash = createHash("sha256")
    const bytes = yield* readFile(path.join(root, name), (piece) => {
      hash.update(piece)
      done += piece.length
      progress(done, total)
      return undefined
    })
    described.push({ path: name, bytes, sha256: hash.digest("hex") })
  }
  return described
})

/** Copies a file durably; returns its description under `name`. */
export const copyFile = (
  from: string,
  to: string,
  name: string,
  progress: (bytes: number) => void,
): OnDisk<FileDescription> =>
  withFile(nodeDisk, to, "create", (copy) =>
    Effect.gen(function* () {
      const hash = createHash("sha256")
      const bytes = yield* readFile(from, (piece, position) => {
        hash.update(piece)
        progress(piece.length)
        return copy.write(position, [piece])
      })
      yield* copy.sync
      return { path: name, bytes, sha256: hash.digest("hex") }
    }),
  )

/**
 * Of link(2), where a copy serves as well: no links here, too many of the file, another device, not
 * this user's file.
 */
const withoutLinks = new Set([
  "EPERM",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EMLINK",
  "EXDEV",
  "EACCES",
])

/**
 * Links the file `from` as `to`, in place of a file that is there; `false`: a copy has to serve.
 */
export const linkFile = (from: string, to: string): OnDisk<boolean> =>
  Effect.tryPromise({
    try: async () => {
      await fs.rm(to, { force: true })
      await fs.link(from, to)
      return true
    },
    catch: (error) => diskError("link", to, error),
  }).pipe(
    Effect.catchIf(
      ({ code }) => withoutLinks.has(code),
      () => Effect.succeed(false),
    ),
  )

/** The size of a file, and when it was written, epoch milliseconds. */
export const statFile = (
  where: string,
): OnDisk<{ readonly bytes: number; readonly modifiedMs: number }> =>
  Effect.tryPromise({
    try: async () => {
      const { mtimeMs, size } = await fs.stat(where)
      return { bytes: size, modifiedMs: mtimeMs }
    },
    catch: (error) => diskError("stat", where, error),
  })

const diskError = (operation: string, where: string, error: unknown): DiskError => {
  const { code, message } = error as NodeJS.ErrnoException
  return new DiskError({ operation, path: where, code: code ?? message })
}

/** The folders in a data directory or an archive that belong to an archive. */
export const archivedFolders = (directory: string): OnDisk<ReadonlyArray<string>> =>
  Effect.map(gatheredIn(nodeDisk, directory), (gathered) => ["live", "journal", ...gathered])

/**
 * Compares all files of an archive with its manifest; `fault` is called with a sentence for each
 * that differs.
 */
export const checkFiles = Effect.fnUntraced(function* (
  folder: string,
  { files }: Manifest,
  fault: (words: string) => void,
  progress: (done: number, total: number) => void,
): Effect.fn.Return<void, DiskError> {
  const known = new Map(files.map((file) => [file.path, file.sha256]))
  const paths = yield* pathsIn(folder, yield* archivedFolders(folder))
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
