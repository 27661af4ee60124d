/**
 * Files that are kept open for reads at a position. At most `historyReadsAtOnce` reads are under
 * way, so that a write of the journal always finds a thread of the pool, and at most
 * `historyFilesOpenMax` files stay open between reads.
 *
 * A file that was removed or replaced must be forgotten (`forget`): an open file would still read
 * the old content.
 */
import { Effect, Semaphore } from "effect"
import { limits } from "../../Limits.ts"
import type { Disk, DiskError, DiskFile } from "./Disk.ts"

interface Idle {
  readonly path: string
  readonly file: DiskFile
}

export class ReadFiles {
  readonly #disk: Disk
  readonly #reading = Semaphore.makeUnsafe(limits.historyReadsAtOnce)
  /** Open files without a reader, the least recently used first. */
  #idle: Array<Idle> = []
  /** Raised by `forget`: files that were opened before are closed after their read. */
  #version = 0
  #isClosed = false

  constructor(disk: Disk) {
    this.#disk = disk
  }

  /** Reads from the file at `path`, which `read` has for itself. */
  readonly use = <A, E>(
    path: string,
    read: (file: DiskFile) => Effect.Effect<A, E>,
  ): Effect.Effect<A, E | DiskError> =>
    Semaphore.withPermit(
      this.#reading,
      Effect.suspend(() => {
        const version = this.#version
        return Effect.acquireUseRelease(this.#take(path), read, (file) =>
          this.#give({ path, file }, version),
        )
      }),
    )

  /** Runs `change` while nothing is read; what is open then is closed. */
  readonly alone = <A, E>(change: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Semaphore.withPermits(
      this.#reading,
      limits.historyReadsAtOnce,
    )(Effect.ensuring(change, this.forget))

  /** Closes what is open. */
  readonly forget: Effect.Effect<void> = Effect.suspend(() => {
    this.#version++
    const idle = this.#idle
    this.#idle = []
    return Effect.forEach(idle, ({ file }) => Effect.ignore(file.close), { discard: true })
  })

  /** Closes what is open; from now on each read opens its file. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.#isClosed = true
    return this.forget
  })

  #take(path: string): Effect.Effect<DiskFile, DiskError> {
    const at = this.#idle.findLastIndex((one) => one.path === path)
    if (at < 0) return this.#disk.open(path, "read")
    const [found] = this.#idle.splice(at, 1)
    return Effect.succeed(found!.file)
  }

  #give(used: Idle, version: number): Effect.Effect<void> {
    if (this.#isClosed || version !== this.#version) return Effect.ignore(used.file.close)
    this.#idle.push(used)
    if (this.#idle.length <= limits.historyFilesOpenMax) return Effect.void
    return Effect.ignore(this.#idle.shift()!.file.close)
  }
}
