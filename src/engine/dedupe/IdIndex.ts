/**
 * The snapshot's index from callers' ids to the records of their commands. It has a hash and a
 * sequence for each id, 12 bytes. Several ids may have one hash: the records themselves have the
 * ids.
 *
 * Structure: each snapshot writes the new ids of an environment as a run. A run consists of buckets
 * by the first bits of the hash, with at most `idBucketIdsMax` ids on average, which stays below
 * the size of values that LMDB deletes badly. The entries of a run are neighbours in LMDB; an entry
 * for each id would touch a page for each id. Runs are merged as in a log-structured merge tree
 * (O'Neil et al., 1996): a new run takes in the newest runs while each is at most twice as large. A
 * run of `idRunIdsMax` ids is not merged again, so that no snapshot takes long.
 *
 * Invariants:
 * - No id is ever missing. The transaction that deletes a bucket of an old run comes with or after
 *   the one that puts its ids into the new run. A crash between two transactions leaves some ids
 *   twice.
 * - While a snapshot is written, look-ups read the old runs before the new one, so an id that moves
 *   is found in one of them.
 * - The run of an unfinished snapshot may have ids of records that recovery replays. The next
 *   snapshot merges that run and leaves those ids out.
 *
 * Ownership: only the snapshot writes runs (`Snapshotter`); `#runs` changes when it has ended.
 *
 * Cost: an id is copied each time its run is merged. A look-up reads a value of each run, whose
 * number grows with the logarithm of the ids; the filter (`BloomFilter`) makes look-ups of new ids
 * rare.
 */
import { Effect, Stream } from "effect"
import { limits } from "../../Limits.ts"
import type { EntryBlock } from "../../storage/EntryBlock.ts"
import { everyKey } from "../../storage/Keys.ts"
import { Broken, type Entry, type Storage, type StorageError } from "../../storage/Storage.ts"
import {
  brokenValue,
  collectEntries,
  decodeValue,
  eachBody,
  encodeValue,
  firstDamaged,
  valueBodyAt,
  wholeBodyEnd,
} from "../../storage/Values.ts"
import { nextTurnOf } from "../../storage/yieldToEventLoop.ts"
import {
  bucketEntries,
  bucketKey,
  decodeRunHead,
  eachHash,
  eachId,
  firstBits,
  headEntry,
  type IdList,
  type IdRun,
  idPlaceOf,
  runKey,
  idTable as table,
  withoutId,
} from "./IdRun.ts"

/**
 * Recognises new ids of callers, so that an event with a new id, the usual case, needs no look-up
 * in the snapshot's index.
 *
 * This is a blocked Bloom filter (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom
 * Filters, 2007): an id sets `bitsPerId` bits within one block of 64 bytes, one cache line. With 12
 * bits of the filter for each id, about one new id in a hundred is a false positive, which costs a
 * look-up. With more ids false positives are more frequent; a known id is never missed.
 *
 * After a start the filter is filled from the index; until then every id may be known. The engines
 * of a process share the bits, so the ids of the others only add false positives.
 */
export class BloomFilter {
  readonly #words: Uint32Array
  readonly #blocks: number
  #complete = false

  /**
   * `size`: bytes, rounded down to whole blocks of 64, or another filter whose bits this one
   * shares.
   */
  constructor(size: number | BloomFilter) {
    const isOwn = typeof size === "number"
    this.#blocks = isOwn ? Math.max(1, Math.floor(size / blockBytes)) : size.#blocks
    this.#words = isOwn ? new Uint32Array(this.#blocks * blockWords) : size.#words
  }

  /** The filter now has every stored id. Filters that share its bits are not complete by that. */
  complete(): void {
    this.#complete = true
  }

  /** Whether an id with this hash may have been added; `false` is certain. */
  mayHave(hash: number): boolean {
    if (!this.#complete) return true
    const block = (hash % this.#blocks) * blockWords
    let bits = mix(hash)
    for (let bit = 0; bit < bitsPerId; bit++) {
      if (((this.#words[block + (bits & 15)]! >>> ((bits >>> 4) & 31)) & 1) === 0) return false
      bits = nextBits(bits)
    }
    return true
  }

  add(hash: number): void {
    const block = (hash % this.#blocks) * blockWords
    let bits = mix(hash)
    for (let bit = 0; bit < bitsPerId; bit++) {
      const word = block + (bits & 15)
      this.#words[word] = this.#words[word]! | (1 << ((bits >>> 4) & 31))
      bits = nextBits(bits)
    }
  }
}

const blockBytes = 64
const blockWords = 16
const bitsPerId = 6

// The finisher of MurmurHash3: every bit of the hash reaches every bit of the result.
const mix = (hash: number): number => {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

const nextBits = (bits: number): number => mix((bits + 0x9e3779b9) | 0)

/** A 32-bit hash of `text` (FNV-1a over UTF-16 units), which continues from `seed`; never 0. */
export const hashText = (text: string, seed = 0x811c9dc5): number => {
  let hash = seed
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return hash >>> 0 || 1
}

/** The seed for the hashes of one user's ids. */
export const idSeed = (environment: string, userId: string): number =>
  hashText(userId, hashText(environment))

type Store = Storage["Service"]

/**
 * The number of bits by which `count` ids fall into 2^bits parts of at most `most` ids on average.
 */
const bitsFor = (count: number, most: number): number =>
  Math.max(0, Math.ceil(Math.log2(count / most)))

/** Writes a group of entries, in one transaction and after all groups before it. */
export type WriteGroup = (group: ReadonlyArray<Entry>) => Effect.Effect<void, StorageError>

export class IdIndex {
  readonly #storage: Store
  /** The runs that look-ups read, by environment, the oldest first. */
  readonly #runs: Map<string, ReadonlyArray<IdRun>>
  /** The runs that remain when the snapshot being written has ended. */
  readonly #next = new Map<string, ReadonlyArray<IdRun>>()
  /**
   * Buckets from which ids were removed and that are not written yet, by the bytes of their keys.
   */
  #removed = new Map<string, { readonly key: Uint8Array; ids: Uint8Array }>()

  private constructor(storage: Store, runs: Map<string, ReadonlyArray<IdRun>>) {
    this.#storage = storage
    this.#runs = runs
  }

  /** Opens the stored index. Reads one or two entries of each run. */
  static readonly open = Effect.fnUntraced(function* (
    storage: Store,
  ): Effect.fn.Return<IdIndex, Broken> {
    const runs = new Map<string, ReadonlyArray<IdRun>>()
    let { until } = everyKey
    while (true) {
      const last = { table, from: everyKey.from, until, reverse: true, limit: 1 } as const
      const [found] = yield* collectEntries(storage, last)
      if (found === undefined) return new IdIndex(storage, runs)
      const { environment, run: number } = yield* Effect.try({
        try: () => idPlaceOf(found[0]),
        catch: (cause) => new Broken({ operation: "read", cause }),
      })
      const key = runKey(environment, number)
      const value = yield* storage.readEntry(table, key)
      if (value === undefined) return yield* brokenValue({ table, key }, "is missing")
      const head = decodeRunHead(yield* decodeValue(value, { table, key }))
      runs.set(environment, [{ number, ...head }, ...(runs.get(environment) ?? [])])
      until = key
    }
  })

  /** Adds every id to `filter`, then marks it as complete. */
  fill(filter: BloomFilter): Effect.Effect<void, Broken> {
    const { readBlocks } = this.#storage
    return Stream.runForEach(readBlocks({ table, ...everyKey }), (block) => {
      const damaged = firstDamaged(block)
      if (damaged >= 0) {
        const key = Uint8Array.from(block.key(damaged))
        return brokenValue({ table, key }, "is damaged")
      }
      return Effect.sync(() => fillOf(filter, block))
    }).pipe(Effect.andThen(Effect.sync(() => filter.complete())))
  }

  /** The sequences of the records whose ids have this hash, those of the oldest run first. */
  readonly candidates = Effect.fnUntraced(function* (
    this: IdIndex,
    environment: string,
    hash: number,
  ): Effect.fn.Return<ReadonlyArray<number>, Broken> {
    while (true) {
      const runs = this.#runs.get(environment)
      const found: Array<number> = []
      for (const run of runs ?? []) {
        const ids = yield* this.#read(environment, run, hash)
        if (ids === undefined) continue
        eachId(ids, (other, sequence) => {
          if (other === hash) found.push(sequence)
        })
      }
      // If the runs changed meanwhile, an id may have moved from a run not read yet to one read
      // before.
      if (runs === this.#runs.get(environment)) return found
    }
  }).bind(this)

  #read(environment: string, { bits, number }: IdRun, hash: number) {
    const key = bucketKey(environment, number, firstBits(hash, bits))
    return Effect.flatMap(
      Effect.suspend(() => this.#storage.readEntry(table, key)),
      (value): Effect.Effect<Uint8Array | undefined, Broken> =>
        value === undefined ? Effect.succeed(value) : decodeValue(value, { table, key }),
    )
  }

  /** Removes an id. The next `takeRemoved` returns the changed buckets. */
  readonly remove = Effect.fnUntraced(function* (
    this: IdIndex,
    environment: string,
    hash: number,
    sequence: number,
  ): Effect.fn.Return<void, Broken> {
    for (const run of this.#runs.get(environment) ?? []) {
      const key = bucketKey(environment, run.number, firstBits(hash, run.bits))
      const name = Buffer.from(key).toString("latin1")
      const known = this.#removed.get(name)
      const ids = known?.ids ?? (yield* this.#read(environment, run, hash))
      if (ids === undefined) continue
      const left = withoutId(ids, sequence)
      if (left.length < ids.length) this.#removed.set(name, { key, ids: left })
    }
  }).bind(this)

  /**
   * The buckets from which ids were removed since the last call. The caller must write them before
   * the index is read again.
   */
  takeRemoved(): ReadonlyArray<Entry> {
    const removed = [...this.#removed.values()]
    this.#removed = new Map()
    return removed.map(({ ids, key }) => ({
      table,
      key,
      value: ids.length === 0 ? null : encodeValue(ids),
    }))
  }

  /**
   * Writes the new ids of an environment, of records up to `through`; the last complete snapshot
   * has the watermark `watermark`. Merged runs stay readable until `ended` is called.
   */
  readonly write = Effect.fnUntraced(function* (
    this: IdIndex,
    environment: string,
    ids: IdList,
    { through, watermark }: { readonly through: number; readonly watermark: number },
    group: WriteGroup,
  ): Effect.fn.Return<void, StorageError> {
    const runs = this.#runs.get(environment) ?? []
    let count = ids.count
    let unfinished = 0
    let kept = runs.length
    for (; kept > 0; kept--) {
      const older = runs[kept - 1]!
      if (older.through > watermark) {
        unfinished = Math.max(unfinished, older.ids)
        continue
      }
      if (older.ids > 2 * count || older.ids + count > limits.idRunIdsMax) break
      count += older.ids
    }
    // The ids of an unfinished run are among the new ids or in the older runs, but after a start
    // those older runs may be gone. So the new run must have room for as many.
    count = Math.max(count, unfinished)
    const merged = runs.slice(kept)
    const bits = bitsFor(count, limits.idBucketIdsMax)
    const number = (runs.at(-1)?.number ?? 0) + 1
    const run: IdRun = { number, bits, ids: count, through }
    this.#runs.set(environment, [...runs, run])
    this.#next.set(environment, [...runs.slice(0, kept), run])
    yield* group([headEntry(environment, run)])
    const partBits = Math.min(bits, bitsFor(count, limits.snapshotTurnIdsMax))
    // After an unfinished snapshot an id may be in two of the runs: in its old one and in the new
    // one.
    const twice = merged.some((older) => older.through > watermark)
    for (const [part, list] of ids.parts(partBits).entries()) {
      if (part > 0) yield* nextTurnOf("snapshot")
      const taken = twice ? new Set<number>() : undefined
      const add = (hash: number, sequence: number) => {
        if (sequence > watermark || firstBits(hash, partBits) !== part) return
        if (taken?.has(sequence)) return
        taken?.add(sequence)
        list.add(hash, sequence)
      }
      const gone: Array<Entry> = []
      for (const older of merged) {
        gone.push(...(yield* this.#take(environment, older, part, partBits, add)))
      }
      yield* group([...bucketEntries(environment, run, list, part, partBits), ...gone])
    }
    yield* group(
      merged.map(({ number }) => ({ table, key: runKey(environment, number), value: null })),
    )
  }).bind(this)

  /**
   * Calls back for each id in the buckets of one of 2^bits parts of an older run. Returns the
   * entries that delete the buckets that are no longer needed.
   */
  readonly #take = Effect.fnUntraced(function* (
    this: IdIndex,
    environment: string,
    older: IdRun,
    part: number,
    bits: number,
    add: (hash: number, sequence: number) => void,
  ): Effect.fn.Return<ReadonlyArray<Entry>, Broken> {
    const gone: Array<Entry> = []
    // Buckets for each part; below 1 where a bucket has several parts.
    const scale = 2 ** (older.bits - bits)
    const first = Math.floor(part * scale)
    const end = Math.ceil((part + 1) * scale)
    const from = bucketKey(environment, older.number, first)
    const until = bucketKey(environment, older.number, end)
    const isUsedUp = (part + 1) * scale === end
    yield* eachBody(this.#storage, { table, from, until }, (key, ids) => {
      eachId(ids, add)
      if (isUsedUp) gone.push({ table, key, value: null })
    })
    return gone
  })

  /** The snapshot has ended: look-ups no longer read the merged runs. */
  ended(): void {
    for (const [environment, runs] of this.#next) this.#runs.set(environment, runs)
    this.#next.clear()
  }

  /** The snapshot has failed: look-ups still read the old runs and the one that was begun. */
  failed(): void {
    this.#next.clear()
    this.#removed.clear()
  }
}

const fillOf = (filter: BloomFilter, block: EntryBlock): void => {
  const add = (hash: number) => filter.add(hash)
  for (let n = 0; n < block.count; n++) {
    if (idPlaceOf(block.key(n)).bucket === undefined) continue
    const end = wholeBodyEnd(block.valueEnd(n))
    eachHash(block.valuesView, block.valueStart(n) + valueBodyAt, end, add)
  }
}
