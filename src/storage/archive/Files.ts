/** Hashes and copies whole files, a piece at a time. */
import { createHash } from "node:crypto"
import path from "node:path"
import { Effect } from "effect"
import { type DiskError, isMissing, type OnDisk, withFile } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import type { Manifest } from "./ArchiveManifest.ts"

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
    const list = nodeDisk.list(path.join(root, folder))
    const names = yield* Effect.catchIf(list, isMissing, () => Effect.succeed([]))
    paths.push(...names.toSorted().map((name) => `${folder}/${name}`))
  }
  return paths
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
