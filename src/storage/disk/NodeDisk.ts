/**
 * The real disk: `node:fs` with callbacks, since promises and file handles would make each commit
 * more expensive.
 */
import fs from "node:fs"
import path from "node:path"
import { Effect } from "effect"
import {
  type Disk,
  DiskError,
  type DiskFile,
  type OnDisk,
  type OpenMode,
  type OpenOptions,
} from "./Disk.ts"

type Callback<A> = (error: NodeJS.ErrnoException | null, value: A) => void

const call = <A>(
  operation: string,
  where: string,
  start: (callback: Callback<A>) => void,
): OnDisk<A> =>
  Effect.callback<A, DiskError>((resume) => {
    start((error, value) => {
      resume(
        error === null || error === undefined
          ? Effect.succeed(value)
          : Effect.fail(
              new DiskError({ operation, path: where, code: error.code ?? error.message }),
            ),
      )
    })
  })

const { O_CREAT, O_DSYNC, O_RDONLY, O_RDWR, O_TRUNC } = fs.constants

const flags = { read: O_RDONLY, write: O_RDWR, create: O_RDWR | O_CREAT | O_TRUNC } as const

/**
 * On Linux a write with this flag is as durable as a write and an `fdatasync`; elsewhere it may be
 * less durable.
 */
const durableFlag = process.platform === "linux" ? O_DSYNC : undefined

class NodeFile implements DiskFile {
  readonly path: string
  readonly #descriptor: number
  readonly #syncsWrites: boolean
  readonly sync: OnDisk<void>
  readonly size: OnDisk<number>
  readonly close: OnDisk<void>

  /** `syncsWrites`: each write is synced. */
  constructor(where: string, descriptor: number, syncsWrites: boolean) {
    this.path = where
    this.#descriptor = descriptor
    this.#syncsWrites = syncsWrites
    this.sync = call("sync", where, (callback: Callback<void>) =>
      fs.fdatasync(descriptor, callback as fs.NoParamCallback),
    )
    this.size = Effect.map(
      call<fs.Stats>("stat", where, (callback) => fs.fstat(descriptor, callback)),
      (stats) => stats.size,
    )
    this.close = call("close", where, (callback: Callback<void>) =>
      fs.close(descriptor, callback as fs.NoParamCallback),
    )
  }

  write(position: number, pieces: ReadonlyArray<Uint8Array>): OnDisk<void> {
    let total = 0
    for (const piece of pieces) total += piece.length
    const written = call<void>("write", this.path, (callback) =>
      this.#writeAll(position, pieces, total, callback),
    )
    return this.#syncsWrites ? Effect.andThen(written, this.sync) : written
  }

  #writeAll(
    position: number,
    pieces: ReadonlyArray<Uint8Array>,
    total: number,
    callback: Callback<void>,
  ): void {
    fs.writev(this.#descriptor, pieces, position, (error, written) => {
      if (error !== null) callback(error)
      else if (written === total) callback(null)
      else this.#writeAll(position + written, after(pieces, written), total - written, callback)
    })
  }

  read(position: number, into: Uint8Array): OnDisk<number> {
    return call("read", this.path, (callback) => this.#readAll(position, into, 0, callback))
  }

  #readAll(position: number, into: Uint8Array, done: number, callback: Callback<number>): void {
    const rest = into.length - done
    fs.read(this.#descriptor, into, done, rest, position + done, (error, count) => {
      if (error !== null) callback(error, done)
      else if (count === 0 || count === rest) callback(null, done + count)
      else this.#readAll(position, into, done + count, callback)
    })
  }

  truncate(bytes: number): OnDisk<void> {
    return call("truncate", this.path, (callback: Callback<void>) =>
      fs.ftruncate(this.#descriptor, bytes, callback as fs.NoParamCallback),
    )
  }
}

/** The pieces that remain after a short write. */
const after = (pieces: ReadonlyArray<Uint8Array>, written: number): ReadonlyArray<Uint8Array> => {
  let skip = written
  const rest: Array<Uint8Array> = []
  for (const piece of pieces) {
    if (skip < piece.length) rest.push(piece.subarray(skip))
    skip = Math.max(0, skip - piece.length)
  }
  return rest
}

const open = (
  where: string,
  mode: OpenMode,
  { durable = false }: OpenOptions = {},
): OnDisk<DiskFile> => {
  const how = durable ? flags[mode] | (durableFlag ?? 0) : flags[mode]
  return Effect.map(
    call<number>("open", where, (callback) => fs.open(where, how, callback)),
    (descriptor) => new NodeFile(where, descriptor, durable && durableFlag === undefined),
  )
}

const syncFolder = (where: string): OnDisk<void> =>
  Effect.acquireUseRelease(
    call<number>("open", where, (callback) => fs.open(where, "r", callback)),
    (descriptor) =>
      call("sync", where, (callback: Callback<void>) =>
        fs.fsync(descriptor, callback as fs.NoParamCallback),
      ),
    (descriptor) =>
      call("close", where, (callback: Callback<void>) =>
        fs.close(descriptor, callback as fs.NoParamCallback),
      ),
  )

const isFolder = (where: string): Effect.Effect<boolean> =>
  call<fs.Stats>("stat", where, (callback) => fs.stat(where, callback)).pipe(
    Effect.match({ onFailure: () => false, onSuccess: (stats) => stats.isDirectory() }),
  )

/** Makes a folder whose parent exists; returns whether it was missing. */
const makeOneFolder = (folder: string): OnDisk<boolean> =>
  call("make folder", folder, (callback: Callback<void>) =>
    fs.mkdir(folder, callback as fs.NoParamCallback),
  ).pipe(
    Effect.as(true),
    Effect.catch((failure) =>
      Effect.flatMap(isFolder(folder), (isThere) => {
        if (isThere) return Effect.succeed(false)
        const { code, operation } = failure
        // The path is not a folder.
        const told = code === "EEXIST" ? "ENOTDIR" : code
        return Effect.fail(new DiskError({ operation, path: folder, code: told }))
      }),
    ),
  )

/**
 * Does not use Node's recursive mkdir, which retries forever if a folder cannot be made although
 * its parent exists, as in `/proc`.
 */
const makeFolder = (where: string): OnDisk<void> => {
  const folder = path.resolve(where)
  const parent = path.dirname(folder)
  const make = makeOneFolder(folder)
  return make.pipe(
    Effect.catchIf(
      ({ code }) => code === "ENOENT" && parent !== folder,
      () => Effect.andThen(makeFolder(parent), make),
    ),
    Effect.flatMap((wasMissing) => (wasMissing ? syncFolder(parent) : Effect.void)),
  )
}

export const nodeDisk: Disk = {
  open,
  rename: (from, to) =>
    call("rename", from, (callback: Callback<void>) =>
      fs.rename(from, to, callback as fs.NoParamCallback),
    ),
  remove: (where) =>
    call("remove", where, (callback: Callback<void>) =>
      fs.unlink(where, callback as fs.NoParamCallback),
    ),
  removeFolder: (where) =>
    call("remove folder", where, (callback: Callback<void>) =>
      fs.rmdir(where, callback as fs.NoParamCallback),
    ),
  list: (where) => call<Array<string>>("list", where, (callback) => fs.readdir(where, callback)),
  makeFolder,
  syncFolder,
  freeBytes: (where) =>
    Effect.map(
      call<fs.StatsFs>("statfs", where, (callback) => fs.statfs(where, callback)),
      (stats) => stats.bavail * stats.bsize,
    ),
}
