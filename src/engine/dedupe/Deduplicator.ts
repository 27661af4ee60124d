/**
 * Finds the earlier record of a repeated command by its name (the caller's id): among the actor's
 * pending records, then in the snapshot's index (`IdIndex`).
 *
 * Invariants:
 * - A name that has a record is always found, unless the user was erased after the record.
 * - The filter has the hash of every name with a record, so a name whose hash it lacks is new.
 * - Look-ups go by hash. The record itself has the name, which settles a collision.
 *
 * Cost: a new name, the usual case, costs a hash and a test of the filter. A repeat looks at up to
 * `pendingNamesScannedMax` pending records. An actor with more gets a map of their hashes at its
 * first repeat, so that further repeats cost one look-up however many records there are; the next
 * snapshot drops the map.
 */
import { Effect } from "effect"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { duplicateKey } from "../../domain/record/Record.ts"
import { type AbsorbedUser, noneAbsorbed } from "../../domain/user/User.ts"
import { limits } from "../../Limits.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import type { ErasedActor, Erasures } from "../erasure/Erasures.ts"
import type { PendingRecords, RecordChain } from "../records/PendingRecords.ts"
import { RecordReader } from "../records/RecordReader.ts"
import type { IdIndex } from "./IdIndex.ts"
import { BloomFilter, hashText, idSeed } from "./IdIndex.ts"

interface DeduplicatorOptions {
  readonly storage: Storage["Service"]
  /** The filter of known ids, whose bits the engines of a process share. */
  readonly knownIds: BloomFilter
  readonly ids: IdIndex
  readonly erasures: Erasures
  readonly pending: PendingRecords
}

/** The parts of an actor by which its duplicates are found. */
interface NamedActor extends RecordChain, ErasedActor {
  /** The seed for hashes of its ids. */
  readonly idSeed: number
  named: NamedRecords | undefined
}

/** The end of a list of pending records, and what is known of their names. */
type Chain = Pick<NamedActor, "lastVisible" | "named">

/** By hash of a name, an actor's latest pending record with it. */
export interface NamedRecords {
  /** The watermark of the snapshot when it was made. It is dropped at the next one. */
  readonly watermark: number
  readonly latest: Map<number, number>
}

export class Deduplicator {
  readonly #options: DeduplicatorOptions
  readonly #filter: BloomFilter
  readonly #reader: RecordReader
  /** The last name that was looked up, with its hash. */
  readonly #hashed = { key: "", idSeed: 0, hash: hashText("", 0) }

  constructor(options: DeduplicatorOptions) {
    this.#options = options
    this.#filter = new BloomFilter(options.knownIds)
    this.#reader = new RecordReader(options.storage, options.pending)
  }

  /** Adds the ids of the snapshot to the filter. Until that has ended, every name is looked up. */
  get fill(): Effect.Effect<void, Broken> {
    return this.#options.ids.fill(this.#filter)
  }

  /** Recovery has read a record whose name has this hash. */
  replayed(hash: number): void {
    this.#filter.add(hash)
  }

  /**
   * The first record with this name; `undefined`: there is none. The actor's own records come before
   * those of users who were merged into it.
   */
  firstOf(
    actor: NamedActor,
    key: string,
    absorbed: ReadonlyArray<AbsorbedUser> = noneAbsorbed,
  ): JournalRecord | undefined | Effect.Effect<JournalRecord | undefined, Broken> {
    const own = this.#firstOwn(actor, key)
    const { subject } = actor
    if (absorbed.length === 0 || subject.actor !== "user") return own
    if (own !== undefined && !Effect.isEffect(own)) return own
    const { environment } = subject
    const others = this.#mayHave(environment, absorbed, key)
    if (others.length === 0) return own
    return Effect.flatMap(own ?? Effect.undefined, (record) =>
      record === undefined ? this.#firstAmong(environment, others, key) : Effect.succeed(record),
    )
  }

  /** Those of the merged users who may have a record with this name. */
  #mayHave(
    environment: string,
    absorbed: ReadonlyArray<AbsorbedUser>,
    key: string,
  ): ReadonlyArray<AbsorbedUser> {
    return absorbed.filter(({ userId }) =>
      this.#filter.mayHave(hashText(key, idSeed(environment, userId))),
    )
  }

  readonly #firstAmong = Effect.fnUntraced(function* (
    this: Deduplicator,
    environment: string,
    absorbed: ReadonlyArray<AbsorbedUser>,
    key: string,
  ): Effect.fn.Return<JournalRecord | undefined, Broken> {
    for (const { frozen, userId } of absorbed) {
      const record = yield* this.#firstDurableOf({ environment, userId }, frozen, key)
      if (record !== undefined && record.sequence <= frozen) return record
    }
    return undefined
  })

  #firstOwn(
    actor: NamedActor,
    key: string,
  ): JournalRecord | undefined | Effect.Effect<JournalRecord | undefined, Broken> {
    const hash = hashText(key, actor.idSeed)
    this.#hashed.key = key
    this.#hashed.idSeed = actor.idSeed
    this.#hashed.hash = hash
    if (!this.#filter.mayHave(hash)) return undefined
    const pending = this.#pending(actor, key, hash)
    if (pending !== undefined) return pending
    const { subject } = actor
    if (subject.actor !== "user") return undefined
    // Records up to an erasure, durable or not, count as deleted.
    return this.#stored(subject, key, hash, this.#options.erasures.aheadOf(subject))
  }

  /**
   * `firstOf` for a reader: the first durable record with this name. `last` is the user's last
   * durable record.
   */
  firstDurableOf(
    place: { readonly environment: string; readonly userId: string },
    last: number,
    key: string,
    absorbed: ReadonlyArray<AbsorbedUser> = noneAbsorbed,
  ): Effect.Effect<JournalRecord | undefined, Broken> {
    const own = this.#firstDurableOf(place, last, key)
    if (absorbed.length === 0) return own
    const others = this.#mayHave(place.environment, absorbed, key)
    return Effect.flatMap(own, (record) =>
      record === undefined
        ? this.#firstAmong(place.environment, others, key)
        : Effect.succeed(record),
    )
  }

  #firstDurableOf(
    { environment, userId }: { readonly environment: string; readonly userId: string },
    last: number,
    key: string,
  ): Effect.Effect<JournalRecord | undefined, Broken> {
    return Effect.suspend(() => {
      const hash = hashText(key, idSeed(environment, userId))
      if (!this.#filter.mayHave(hash)) return Effect.undefined
      const pending = this.#pending({ lastVisible: last, named: undefined }, key, hash)
      if (pending !== undefined) return Effect.succeed(pending)
      const erasedThrough = this.#options.erasures.throughOf(environment, userId)
      return this.#stored({ environment, userId }, key, hash, erasedThrough)
    })
  }

  /** The record in the snapshot. */
  readonly #stored = Effect.fnUntraced(function* (
    this: Deduplicator,
    { environment, userId }: { readonly environment: string; readonly userId: string },
    key: string,
    hash: number,
    erasedThrough: number,
  ): Effect.fn.Return<JournalRecord | undefined, Broken> {
    const { ids } = this.#options
    for (const sequence of yield* ids.candidates(environment, hash)) {
      if (sequence <= erasedThrough) continue
      const record = yield* this.#reader.recordOf(environment, userId, sequence)
      // Another id of this or another user may have this hash.
      if (record !== undefined && duplicateKey(record.cause) === key) return record
    }
    return undefined
  })

  #pending(actor: Chain, key: string, hash: number): JournalRecord | undefined {
    const { pending } = this.#options
    let sequence = this.#latestWith(actor, hash)
    for (; sequence > pending.watermark; sequence = pending.previousOf(sequence)) {
      if (pending.hashOf(sequence) !== hash) continue
      const record = pending.decode(sequence)
      if (duplicateKey(record.cause) === key) return record
    }
    return undefined
  }

  /**
   * The actor's latest pending record whose name has this hash; 0 or a sequence up to the
   * watermark: none.
   */
  #latestWith(actor: Chain, hash: number): number {
    const { pending } = this.#options
    this.#dropOld(actor)
    if (actor.named === undefined) {
      let sequence = actor.lastVisible
      for (let looked = 0; looked < limits.pendingNamesScannedMax; looked++) {
        if (sequence <= pending.watermark) return 0
        if (pending.hashOf(sequence) === hash) return sequence
        sequence = pending.previousOf(sequence)
      }
      const latest = latestByHash(pending, actor.lastVisible)
      actor.named = { watermark: pending.watermark, latest }
    }
    return actor.named.latest.get(hash) ?? 0
  }

  #dropOld(actor: Chain): void {
    if (actor.named?.watermark !== this.#options.pending.watermark) actor.named = undefined
  }

  /** A record with this name is appended; returns the hash of the name. */
  add(actor: NamedActor, key: string): number {
    // The id that is added is usually the one that was looked up last.
    const looked = this.#hashed
    const known = looked.key === key && looked.idSeed === actor.idSeed
    const hash = known ? looked.hash : hashText(key, actor.idSeed)
    this.#filter.add(hash)
    this.#dropOld(actor)
    actor.named?.latest.set(hash, this.#options.pending.texts.lastSequence)
    return hash
  }

  /** The actor's erasure was appended: its earlier names count as new. */
  erase(actor: NamedActor, sequence: number): void {
    this.#options.erasures.appended(actor, sequence)
  }
}

/** By hash of a name, the actor's latest pending record with it. */
const latestByHash = (pending: PendingRecords, latest: number): Map<number, number> => {
  const found = new Map<number, number>()
  for (
    let sequence = latest;
    sequence > pending.watermark;
    sequence = pending.previousOf(sequence)
  ) {
    const hash = pending.hashOf(sequence)
    if (hash !== undefined && !found.has(hash)) found.set(hash, sequence)
  }
  return found
}
