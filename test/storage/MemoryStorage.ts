/**
 * Storage in memory, for tests and benches: the contract of the durable storage without a disk. A
 * `MemoryState` holds the data: a second service over the same state simulates a restart.
 *
 * Input is copied. A batch becomes visible when `onAppend` succeeds, as after a flush. A write
 * fails if the `replaces` of an entry does not match the stored value.
 */
import { Array as Arr, Effect, Exit, Layer, Stream } from "effect"
import { EntryBlock } from "../../src/storage/EntryBlock.ts"
import { batchRecords, tombstoneOf } from "../../src/storage/Frames.ts"
import { asBuffer, keyBytesMax } from "../../src/storage/Keys.ts"
import { checksumOf } from "../../src/storage/SealedValue.ts"
import {
  type BlockRange,
  Broken,
  type Entry,
  type JournalBatch,
  type Range,
  Storage,
  type StorageError,
  type StoredEntry,
  type StoredRecord,
  type Table,
} from "../../src/storage/Storage.ts"

const chunkLength = 1_000

export interface MemoryStorageOptions {
  /** The data; absent: empty. */
  readonly state?: MemoryState
  /** Stands in for the disk: success makes the batch durable, failure discards it. */
  readonly onAppend?: (batch: JournalBatch) => Effect.Effect<void, StorageError>
}

/** Latin-1 strings compare in the byte order of the keys. */
const textOf = (key: Uint8Array): string =>
  Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString("latin1")
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"))

class MemoryTable {
  readonly #values = new Map<string, Uint8Array>()
  /** The keys, sorted when they were last read; `undefined` after a key was added or removed. */
  #order: Array<string> | undefined

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#values.get(textOf(key))
  }

  set(key: Uint8Array, value: Uint8Array | null): void {
    const text = textOf(key)
    if (value === null) {
      if (this.#values.delete(text)) this.#order = undefined
      return
    }
    if (!this.#values.has(text)) this.#order = undefined
    this.#values.set(text, Uint8Array.from(value))
  }

  entries(range: Range): Array<StoredEntry> {
    this.#order ??= [...this.#values.keys()].sort()
    let keys = this.#order.slice(this.#firstFrom(range.from), this.#firstFrom(range.until))
    if (range.reverse === true) keys.reverse()
    if (range.limit !== undefined) keys = keys.slice(0, range.limit)
    return keys.map((key) => [bytesOf(key), this.#values.get(key)!.slice()])
  }

  #firstFrom(key: Uint8Array): number {
    const text = textOf(key)
    const order = this.#order!
    let low = 0
    let high = order.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (order[middle]! < text) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** The data that survives a restart. */
export class MemoryState {
  readonly #tables = new Map<Table, MemoryTable>()
  /** Consecutive records, beginning with `firstSequence`. */
  records: Array<StoredRecord> = []
  firstSequence = 1

  get lastSequence(): number {
    return this.firstSequence + this.records.length - 1
  }

  table(name: Table): MemoryTable {
    let table = this.#tables.get(name)
    if (table === undefined) {
      table = new MemoryTable()
      this.#tables.set(name, table)
    }
    return table
  }
}

/** The entries in blocks. All blocks use the same memory. */
function* inBlocks(entries: ReadonlyArray<StoredEntry>): Generator<EntryBlock> {
  const block = new EntryBlock()
  for (const [key, value] of entries) {
    if (block.full) {
      yield block
      block.clear()
    }
    block.addKey(key, 0, key.length)
    block.addValue(asBuffer(value), value.length)
  }
  if (block.count > 0) yield block
}

const failure = (operation: string, words: string) =>
  new Broken({ operation, cause: new Error(words) })

const append = (state: MemoryState, batch: JournalBatch, { onAppend }: MemoryStorageOptions) =>
  Effect.suspend((): Effect.Effect<void, StorageError> => {
    const expected = state.lastSequence + 1
    if (batch.firstSequence !== expected) {
      return Effect.fail(failure("append", `expected ${expected}, got ${batch.firstSequence}`))
    }
    const records = batchRecords({ ...batch, frames: Uint8Array.from(batch.frames) }, 0)
    if (records === undefined || records.length === 0) {
      return Effect.fail(failure("append", "the frames do not add up to the batch"))
    }
    const keep = Effect.sync(() => {
      for (const record of records) state.records.push(record)
    })
    if (onAppend === undefined) return keep
    return Effect.uninterruptible(Effect.andThen(onAppend(batch), keep))
  })

const readRecords = (state: MemoryState, sequence: number) =>
  Stream.suspend(() => {
    if (sequence < state.firstSequence && state.firstSequence > 1) {
      return Stream.fail(
        failure("read", `the journal begins at ${state.firstSequence}, ${sequence} is gone`),
      )
    }
    const found = state.records.slice(Math.max(0, sequence - state.firstSequence))
    const copies = found.map((record) => ({ ...record, body: Uint8Array.from(record.body) }))
    return Stream.fromIterable(Arr.chunksOf(copies, chunkLength))
  })

const readRecord = (state: MemoryState, sequence: number) =>
  Effect.sync(() => {
    const record = state.records[sequence - state.firstSequence]
    return record && { ...record, body: Uint8Array.from(record.body) }
  })

const writeEntries = (state: MemoryState, iterable: Iterable<Entry>) =>
  Effect.suspend((): Effect.Effect<void, StorageError> => {
    const entries = [...iterable]
    const misfit = entries.find(({ key }) => key.length === 0 || key.length > keyBytesMax)
    if (misfit !== undefined) {
      return Effect.fail(failure("write", `a key of ${misfit.key.length} bytes`))
    }
    for (const { key, replaces, table, value } of entries) {
      const stored = state.table(table).get(key)
      const checksum = stored === undefined ? null : checksumOf(stored)
      if (replaces !== undefined && replaces !== checksum) {
        return Effect.fail(failure("write", `an entry of table ${table} replaces another value`))
      }
      state.table(table).set(key, value)
    }
    return Effect.void
  })

const eraseRecords = (state: MemoryState, sequences: ReadonlyArray<number>) =>
  Effect.sync(() => {
    const { firstSequence, lastSequence } = state
    if (sequences[0] === undefined || sequences[0] > lastSequence) return undefined
    const gone = new Set(sequences)
    state.records = state.records.map((record) =>
      gone.has(record.sequence) ? tombstoneOf(record) : record,
    )
    const bytes = state.records.reduce((sum, { body }) => sum + body.length, 0)
    return sequences[0] < firstSequence
      ? { lastSequence: firstSequence - 1, bytes: 0 }
      : { lastSequence, bytes }
  })

const prune = (state: MemoryState, sequence: number) =>
  Effect.sync(() => {
    // The newest record stays, as the newest segment stays on a disk.
    const count = Math.min(sequence, state.lastSequence) - state.firstSequence
    if (count <= 0) return
    state.records = state.records.slice(count)
    state.firstSequence += count
  })

export const make = (options: MemoryStorageOptions = {}): Storage["Service"] => {
  const state = options.state ?? new MemoryState()
  return Storage.of({
    lastSequence: state.lastSequence,
    firstSequence: Effect.sync(() => state.firstSequence),
    // Each record is a segment.
    segments: Effect.sync(() => state.records.map(({ sequence }) => sequence)),
    append: (batch) => append(state, batch, options),
    readRecords: (sequence) => readRecords(state, sequence),
    readRecord: (sequence) => readRecord(state, sequence),
    writeEntries: (entries) => writeEntries(state, entries),
    readEntry: (table, key) => Exit.succeed(state.table(table).get(key)?.slice()),
    readEntries: (range) =>
      Stream.suspend(() =>
        Stream.fromIterable(Arr.chunksOf(state.table(range.table).entries(range), chunkLength)),
      ),
    readBlocks: (range: BlockRange) =>
      Stream.suspend(() =>
        Stream.fromIterable(inBlocks(state.table(range.table).entries(range)), { chunkSize: 1 }),
      ),
    eraseRecords: (sequences) => eraseRecords(state, sequences),
    prune: (sequence) => prune(state, sequence),
  })
}

export const layer = (options: MemoryStorageOptions = {}): Layer.Layer<Storage> =>
  Layer.sync(Storage, () => make(options))
