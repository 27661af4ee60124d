/**
 * A disk on which files opened `durable` are written without a flush: for a copy of what PostgreSQL has. `flush` makes
 * durable what was written before; so does the close of a file. After a failed flush nothing counts as durable any more,
 * and each further flush fails.
 */
import { Effect, Semaphore } from "effect"
import type { Disk, DiskError, DiskFile, OnDisk } from "../disk/Disk.ts"

export class UnflushedDisk {
  readonly disk: Disk
  readonly #written = new Set<UnflushedFile>()
  #failure: DiskError | undefined

  constructor(disk: Disk) {
    this.disk = {
      ...disk,
      open: (where, mode, options) =>
        options?.durable === true
          ? Effect.map(disk.open(where, mode), (file) => new UnflushedFile(file, this.#written))
          : disk.open(where, mode, options),
    }
  }

  readonly flush: OnDisk<void> = Effect.suspend(() => {
    if (this.#failure !== undefined) return Effect.fail(this.#failure)
    return Effect.forEach([...this.#written], (file) => file.flush, { discard: true }).pipe(
      Effect.tapError((failure) =>
        Effect.sync(() => {
          this.#failure = failure
        }),
      ),
    )
  })
}

class UnflushedFile implements DiskFile {
  readonly #file: DiskFile
  readonly #written: Set<UnflushedFile>
  /** A flush of a closed descriptor could be that of another file. */
  readonly #using = Semaphore.makeUnsafe(1)
  readonly path: string

  constructor(file: DiskFile, written: Set<UnflushedFile>) {
    this.#file = file
    this.#written = written
    this.path = file.path
  }

  readonly write: DiskFile["write"] = (position, pieces) =>
    Effect.suspend(() => {
      this.#written.add(this)
      return this.#file.write(position, pieces)
    })
  readonly read: DiskFile["read"] = (position, into) => this.#file.read(position, into)
  readonly truncate: DiskFile["truncate"] = (bytes) => this.#file.truncate(bytes)

  get size(): OnDisk<number> {
    return this.#file.size
  }

  get sync(): OnDisk<void> {
    return this.flush
  }

  readonly #flush: OnDisk<void> = Effect.suspend(() =>
    // What is written from now on is for the next flush.
    this.#written.delete(this) ? this.#file.sync : Effect.void,
  )
  readonly flush: OnDisk<void> = Semaphore.withPermit(this.#using, this.#flush)
  readonly close: OnDisk<void> = Semaphore.withPermit(
    this.#using,
    Effect.andThen(
      this.#flush,
      Effect.suspend(() => this.#file.close),
    ),
  )
}
