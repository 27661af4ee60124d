/**
 * The disk calls of the journal. `NodeDisk` is the real disk. The simulated disk of the tests
 * tears, drops and reorders unflushed writes, fails any call and fills up.
 *
 * Only these calls make anything durable: `sync` the content of a file, each write to a file opened
 * `durable` its own bytes, and `syncFolder` the names in a folder.
 */
import path from "node:path"
import { Data, Effect } from "effect"

/** `code` is the error code of the operating system, such as `ENOSPC` or `EIO`. */
export class DiskError extends Data.TaggedError("DiskError")<{
  readonly operation: string
  readonly path: string
  readonly code: string
}> {
  override get message(): string {
    return `${this.operation} ${this.path}: ${this.code}`
  }
}

/** The disk, or the quota of this user, is full. */
export const isFull = (error: DiskError): boolean =>
  error.code === "ENOSPC" || error.code === "EDQUOT"

/** This version does not understand the content of the file. */
export const isUnreadable = (error: DiskError): boolean => error.operation === "understand"

export type OnDisk<A> = Effect.Effect<A, DiskError>

/** `create` empties an existing file. */
export type OpenMode = "read" | "write" | "create"

/** `durable`: a write ends when it is durable, as if a `sync` followed. */
export interface OpenOptions {
  readonly durable?: boolean
}

export interface DiskFile {
  readonly path: string
  /** Writes all pieces in order from `position` on, in one system call if possible. */
  readonly write: (position: number, pieces: ReadonlyArray<Uint8Array>) => OnDisk<void>
  /**
   * Fills `into` with the bytes from `position` on. Returns the number of bytes read: less than the
   * length of `into` only at the end of the file.
   */
  readonly read: (position: number, into: Uint8Array) => OnDisk<number>
  /** Makes the content durable. */
  readonly sync: OnDisk<void>
  readonly truncate: (bytes: number) => OnDisk<void>
  readonly size: OnDisk<number>
  readonly close: OnDisk<void>
}

export interface Disk {
  readonly open: (path: string, mode: OpenMode, options?: OpenOptions) => OnDisk<DiskFile>
  /** Renames a file or a folder. A file replaces an existing file `to`. */
  readonly rename: (from: string, to: string) => OnDisk<void>
  readonly remove: (path: string) => OnDisk<void>
  /** Removes an empty folder. */
  readonly removeFolder: (path: string) => OnDisk<void>
  /** The names in a folder, in no order. Fails with `ENOTDIR` for a file. */
  readonly list: (path: string) => OnDisk<ReadonlyArray<string>>
  /** Makes a folder and its parents durably. Does nothing if the folder exists. */
  readonly makeFolder: (path: string) => OnDisk<void>
  /** Makes the names in a folder durable. */
  readonly syncFolder: (path: string) => OnDisk<void>
  /** Bytes that this process can still write to the file system of `path`. */
  readonly freeBytes: (path: string) => OnDisk<number>
}

/** Opens a file for `use`, and closes it afterwards. */
export const withFile = <A, E>(
  disk: Disk,
  where: string,
  mode: OpenMode,
  use: (file: DiskFile) => Effect.Effect<A, E>,
): Effect.Effect<A, E | DiskError> =>
  Effect.acquireUseRelease(disk.open(where, mode), use, (file) => file.close)

/** Writes a small file atomically: a crash leaves the old content or all of `text`. */
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

/** The text of a small file, truncated to `bytesMax`. */
export const readSmallFile = (disk: Disk, where: string, bytesMax: number): OnDisk<string> =>
  withFile(disk, where, "read", (file) => {
    const bytes = Buffer.alloc(bytesMax)
    return Effect.map(file.read(0, bytes), (count) => bytes.toString("utf8", 0, count))
  })

/** Removes a file or a folder with its contents, if it exists. */
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
    ifThere,
  )

/** The name does not exist. */
export const isMissing = (error: DiskError): boolean => error.code === "ENOENT"

/** The result of `call`; `undefined` if the name does not exist. */
export const ifThere = <A>(call: OnDisk<A>): OnDisk<A | undefined> =>
  Effect.catchIf(call, isMissing, () => Effect.undefined)

/** The names in a folder, in no order; none if it does not exist. */
export const namesIn = (disk: Disk, folder: string): OnDisk<ReadonlyArray<string>> =>
  Effect.map(ifThere(disk.list(folder)), (names = []) => names)
