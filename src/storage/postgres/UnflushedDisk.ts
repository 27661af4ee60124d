/**
 * A disk on which files opened `durable` are written without a flush: for a copy of what PostgreSQL
 * has. `flush` makes durable what was written before; so does the close of a file. A file stays due
 * until a flush that began after its last write has ended. After a failed flush nothing counts as
 * durable any more, and each further flush fails.
 */
import { Effect, Semaphore } from "effect"
import type { Disk, DiskError, DiskFile, OnDisk } from "../disk/Disk.ts"

/** What the files of one disk have in common. */
interface Unflushed {
  /** The files with writes that no flush has made durable. */
  readonly due: Set<UnflushedFile>
  failure: DiskError | undefined
}

export class UnflushedDisk {
  readonly disk: Disk
  readonly #unflushed: Unflushed = { due: new Set(), failure: undefined }

  constructor(disk: Disk) {
    this.disk = {
      ...disk,
      open: (where, mode, options) =>
        options?.durable === true
          ? Effect.map(disk.open(where, mode), (file) => new UnflushedFile(file, this.#unflushed))
          : disk.open(where, mode, options),
    }
  }

  readonly flush: OnDisk<void> = Effect.suspend(() => {
    const { due, failure } = this.#unflushed
    if (failure !== undefined) return Effect.fail(failure)
    return Effect.forEach([...due], (file) => file.flush, { discard: true })
  })
}

class UnflushedFile implements DiskFile {
  readonly #file: DiskFile
  readonly #unflushed: Unflushed
  /** A flush of a closed descriptor could be that of another file. */
  readonly #using = Semaphore.makeUnsafe(1)
  /** Writes that have ended. */
  #writes = 0
  readonly path: string

  constructor(file: DiskFile, unflushed: Unflushed) {
    this.#file = file
    this.#unflushed = unflushed
    this.path = file.path
  }

  readonly write: DiskFile["write"] = (position, pieces) =>
    this.#changed(this.#file.write(position, pieces))
  readonly read: DiskFile["read"] = (position, into) => this.#file.read(position, into)
  readonly truncate: DiskFile["truncate"] = (bytes) => this.#changed(this.#file.truncate(bytes))

  get size(): OnDisk<number> {
    return this.#file.size
  }

  get sync(): OnDisk<void> {
    return this.flush
  }

  /**
   * A flush that begins during the change may miss it, so the file is due from its end on. A part
   * of it counts as well.
   */
  #changed(change: OnDisk<void>): OnDisk<void> {
    return Effect.ensuring(
      change,
      Effect.sync(() => {
        this.#writes++
        this.#unflushed.due.add(this)
      }),
    )
  }

  /** Where another flush is under way, it waits for that one. */
  readonly #flush: OnDisk<void> = Effect.suspend(() => {
    const { due, failure } = this.#unflushed
    if (failure !== undefined) return Effect.fail(failure)
    if (!due.has(this)) return Effect.void
    const writes = this.#writes
    return Effect.matchEffect(this.#file.sync, {
      onSuccess: () =>
        Effect.sync(() => {
          if (this.#writes === writes) due.delete(this)
        }),
      onFailure: (error) => {
        this.#unflushed.failure ??= error
        return Effect.fail(error)
      },
    })
    // The outcome of a flush is never missed: the next one could succeed without what the first has
    // lost.
  }).pipe(Effect.uninterruptible)
  readonly flush: OnDisk<void> = Semaphore.withPermit(this.#using, this.#flush)

  readonly close: OnDisk<void> = Semaphore.withPermit(
    this.#using,
    Effect.flatMap(Effect.exit(this.#flush), (flushed) => {
      this.#unflushed.due.delete(this)
      return Effect.andThen(this.#file.close, flushed)
    }),
  )
}
