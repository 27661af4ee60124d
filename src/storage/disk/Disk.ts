/**
 * All that the journal asks of a disk. `NodeDisk` is the real one; a simulated one in the tests tears, drops
 * and reorders what was not flushed, fails any call and fills up.
 *
 * Only `sync` and `syncFolder` make anything durable: what was written to a file by the one, which names a
 * folder holds by the other.
 */
import path from "node:path"
import { Data, Effect } from "effect"

/** `code` is that of the operating system: `ENOSPC`, `EIO`… */
export class DiskError extends Data.TaggedError("DiskError")<{
  readonly operation: string
  readonly path: string
  readonly code: string
}> {
  override get message(): string {
    return `${this.operation} ${this.path}: ${this.code}`
  }
}

/** The disk, or this user's share of it, is full. */
export const isFull = (error: DiskError): boolean =>
  error.code === "ENOSPC" || error.code === "EDQUOT"

export type OnDisk<A> = Effect.Effect<A, DiskError>

/** `create` empties what was there. */
export type OpenMode = "read" | "write" | "create"

export interface DiskFile {
  readonly path: string
  /** Writes all pieces one after another from `position` on; in one call where the system takes them. */
  readonly write: (position: number, pieces: ReadonlyArray<Uint8Array>) => OnDisk<void>
  /** Fills `into` from `position` on; returns the bytes read, fewer only at the end of the file. */
  readonly read: (position: number, into: Uint8Array) => OnDisk<number>
  /** Makes the content durable. */
  readonly sync: OnDisk<void>
  readonly truncate: (bytes: number) => OnDisk<void>
  readonly size: OnDisk<number>
  readonly close: OnDisk<void>
}

export interface Disk {
  readonly open: (path: string, mode: OpenMode) => OnDisk<DiskFile>
  /** Renames a file or a folder; a file replaces the one that `to` named. */
  readonly rename: (from: string, to: string) => OnDisk<void>
  readonly remove: (path: string) => OnDisk<void>
  /** Removes a folder that holds nothing. */
  readonly removeFolder: (path: string) => OnDisk<void>
  /** The names in a folder, in no order; `ENOTDIR` when it is a file. */
  readonly list: (path: string) => OnDisk<ReadonlyArray<string>>
  /** Makes a folder and those above it, durably; does nothing when it is there. */
  readonly makeFolder: (path: string) => OnDisk<void>
  /** Makes the names in a folder durable. */
  readonly syncFolder: (path: string) => OnDisk<void>
  /** What this process may still write to the file system that holds `path`. */
  readonly freeBytes: (path: string) => OnDisk<number>
}

/** Opens a file for `use` and closes it again. */
export const withFile = <A, E>(
  disk: Disk,
  where: string,
  mode: OpenMode,
  use: (file: DiskFile) => Effect.Effect<A, E>,
): Effect.Effect<A, E | DiskError> =>
  Effect.acquireUseRelease(disk.open(where, mode), use, (file) => file.close)

/** Writes a small file so that a crash leaves either what was there before or all of `text`. */
export const replaceFile = (
  disk: Disk,
  folder: string,
  name: string,
  text: string,
): OnDisk<void> => {
  const draft = path.join(folder, `${name}.draft`)
  return withFile(disk, draft, "create", (file) =>
    Effect.andThen(file.write(0, [Buffer.from(text)]), file.sync),
  ).pipe(
    Effect.andThen(disk.rename(draft, path.join(folder, name))),
    Effect.andThen(disk.syncFolder(folder)),
  )
}

/** The text of a small file; what is beyond `bytesMax` is left out. */
export const readSmallFile = (disk: Disk, where: string, bytesMax: number): OnDisk<string> =>
  withFile(disk, where, "read", (file) => {
    const bytes = Buffer.alloc(bytesMax)
    return Effect.map(file.read(0, bytes), (count) => bytes.toString("utf8", 0, count))
  })

/** Removes a file, or a folder with all that it holds; nothing happens where nothing is. */
export const removeTree = (disk: Disk, where: string): OnDisk<void> =>
  disk.list(where).pipe(
    Effect.flatMap((names) =>
      Effect.andThen(
        Effect.forEach(names, (name) => removeTree(disk, path.join(where, name)), {
          discard: true,
        }),
        disk.removeFolder(where),
      ),
    ),
    Effect.catchIf(
      ({ code }) => code === "ENOTDIR",
      () => disk.remove(where),
    ),
    Effect.catchIf(isMissing, () => Effect.void),
  )

/** There is nothing of this name. */
export const isMissing = (error: DiskError): boolean => error.code === "ENOENT"
