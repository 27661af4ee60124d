/**
 * The slices of a snapshot: each is one transaction. The event loop packs a slice in turns of
 * `snapshotTurnMs`; a thread of the storage writes it. The next slice is packed meanwhile.
 */
import { Effect, Fiber } from "effect"
import { limits } from "../../Limits.ts"
import { markTurn } from "../../metrics/LongTurns.ts"
import { EntrySlice } from "../../storage/EntryBlock.ts"
import type { Entry, StorageError } from "../../storage/Storage.ts"
import { nextTurn } from "../../storage/yieldToEventLoop.ts"

/**
 * How many entries are handled between two readings of the clock; a reading costs a tenth of an
 * entry.
 */
const looksApart = 16

export class SnapshotTurns {
  #endsAt = 0
  #asked = 0

  /** A turn begins. */
  begin(): void {
    markTurn("snapshot")
    this.#endsAt = performance.now() + limits.snapshotTurnMs
  }

  /** Whether the turn has used up its time. Must be asked for each entry. */
  get isOver(): boolean {
    return ++this.#asked % looksApart === 0 && performance.now() >= this.#endsAt
  }

  /** Lets the event loop serve others, and begins the next turn. */
  readonly next: Effect.Effect<void> = nextTurn(() => this.begin())
}

interface SliceWriterOptions {
  /** Writes a slice, which must be written whole. */
  readonly write: (slice: Iterable<Entry>) => Effect.Effect<void, StorageError>
  readonly entriesMax: number
  readonly turns: SnapshotTurns
}

export class SliceWriter {
  readonly #options: SliceWriterOptions
  /** The bytes from which on a slice is full. */
  bytesMax: number = limits.snapshotSliceBytesMax
  /** Entries of the next transaction. */
  #slice = new EntrySlice()
  /** Entries of the transaction that is being written. */
  #written = new EntrySlice()
  #writing: Fiber.Fiber<void, StorageError> | undefined

  constructor(options: SliceWriterOptions) {
    this.#options = options
  }

  /** A snapshot begins. */
  begin(): void {
    this.bytesMax = limits.snapshotSliceBytesMax
    this.#slice.clear()
  }

  get isEmpty(): boolean {
    return this.#slice.count === 0
  }

  get isFull(): boolean {
    return this.#slice.count >= this.#options.entriesMax || this.#slice.bytes >= this.bytesMax
  }

  add(entry: Entry): void {
    this.#slice.add(entry)
  }

  /** Adds a group, which must be written whole. */
  readonly addGroup = (group: ReadonlyArray<Entry>): Effect.Effect<void, StorageError> => {
    for (const entry of group) this.#slice.add(entry)
    return this.isFull ? this.flush : Effect.void
  }

  readonly flush: Effect.Effect<void, StorageError> = Effect.suspend(() =>
    this.idle.pipe(
      Effect.andThen(this.#options.write(this.#slice)),
      Effect.andThen(
        Effect.sync(() => {
          this.#slice.clear()
          this.#options.turns.begin()
        }),
      ),
    ),
  )

  /**
   * `flush` that lets the next slice be packed while this one is written. Fails if the write
   * before did.
   */
  readonly handOn: Effect.Effect<void, StorageError> = Effect.suspend(() =>
    Effect.andThen(
      this.idle,
      Effect.map(Effect.forkChild(this.#options.write(this.#slice)), (fiber) => {
        this.#writing = fiber
        const free = this.#written
        this.#written = this.#slice
        this.#slice = free
        free.clear()
      }),
    ),
  )

  /** Ends when no slice is being written. Fails if the last write did. */
  readonly idle: Effect.Effect<void, StorageError> = Effect.suspend(() => {
    const writing = this.#writing
    if (writing === undefined) return Effect.void
    return Effect.ensuring(
      Fiber.join(writing),
      Effect.sync(() => {
        this.#writing = undefined
        this.#options.turns.begin()
      }),
    )
  })

  /**
   * Does not wait for the write, which may never end. The storage may still read the slice, so the
   * next snapshot gets other memory.
   */
  readonly abandon = Effect.suspend(() => {
    const writing = this.#writing
    this.#writing = undefined
    this.#slice = new EntrySlice()
    this.#written = new EntrySlice()
    return writing === undefined ? Effect.void : Fiber.interrupt(writing)
  })
}
