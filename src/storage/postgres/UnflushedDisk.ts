/**
 * A disk on which files opened `durable` are written without a flush: for a copy of PostgreSQL's
 * data. `flush` makes all earlier writes durable; so does closing a file. A file is due until a
 * flush that began after its last write has ended. After a failed flush nothing counts as durable
 * any more, and each later flush fails.
 */
import { Effect, Semaphore } from "effect"
import type { Disk, DiskError, DiskFile, OnDisk } from "../disk/Disk.ts"

/** The state that the files of one disk share. */
interface Unflushed {
  /** The files with writes that are not durable. */
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
  /** Held during a flush and the close: a closed descriptor could belong to another file. */
  readonly #using = Semaphore.makeUnsafe(1)
  /** The number of writes that have ended. */
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
   * The file is due after the change has ended, also after a partial change, since a flush that
   * begins during the change may miss it.
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

  /** Flushes the file if it is due. A concurrent flush ends first. */
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
    // Not interruptible, so that no failure is missed: the next flush could succeed although the
    // first has lost writes.
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
