/**
 * Finds the earlier record of a repeated command by its name (the caller's id): among the actor's pending records, then
 * in the snapshot's index. The filter recognises a new name, the usual case, without a look-up.
 *
 * Both look-ups go by hash; the record itself has the name, which settles a collision. An actor with many pending records
 * gets a map of their hashes at its first repeat, so that a repeat costs the same however many there are. The next
 * snapshot drops the map.
 */
import { Effect } from "effect"
import type { JournalRecord, Subject } from "../../domain/record/Record.ts"
import { duplicateKey } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import type { ErasedActor, Erasures } from "../erasure/Erasures.ts"
import type { PendingRecords, RecordChain } from "../records/PendingRecords.ts"
import { findStored } from "../records/SnapshotValues.ts"
import type { IdIndex } from "./IdIndex.ts"
import { BloomFilter, hashText } from "./IdIndex.ts"

export interface DeduplicatorOptions {
  readonly storage: Storage["Service"]
  /** The ids that are known; its bits may be those of other engines, too. */
  readonly knownIds: BloomFilter
  readonly ids: IdIndex
  readonly erasures: Erasures
  readonly pending: PendingRecords
}

/** An actor, as its duplicates are found. */
export interface NamedActor extends RecordChain, ErasedActor {
  /** Where the hashes of its ids begin. */
  readonly idSeed: number
  /** Of pending records that have a name, the latest by its hash, once it was worth making. */
  named: Map<number, number> | undefined
}

export class Deduplicator {
  readonly #options: DeduplicatorOptions
  readonly #filter: BloomFilter
  /** The last name that was looked for. */
  readonly #hashed = { key: "", idSeed: 0, hash: hashText("", 0) }

  constructor(options: DeduplicatorOptions) {
    this.#options = options
    this.#filter = new BloomFilter(options.knownIds)
  }

  /** Adds what the snapshot has to the filter. Until then, every name is looked up. */
  get fill(): Effect.Effect<void, Broken> {
    return this.#options.ids.fill(this.#filter)
  }

  /** A record whose name has this hash was found in the journal. */
  replayed(hash: number): void {
    this.#filter.add(hash)
  }

  /** The first record with this name; `undefined`: there is none. */
  firstOf(
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
    return this.#stored(subject, key, hash)
  }

  /** The record in the snapshot; up to an erasure that was decided it counts as deleted. */
  readonly #stored = Effect.fnUntraced(function* (
    this: Deduplicator,
    subject: Extract<Subject, { readonly actor: "user" }>,
    key: string,
    hash: number,
  ): Effect.fn.Return<JournalRecord | undefined, Broken> {
    const { erasures, ids, storage } = this.#options
    const { environment, userId } = subject
    const erasedThrough = erasures.aheadOf(subject)
    for (const sequence of yield* ids.candidates(environment, hash)) {
      if (sequence <= erasedThrough) continue
      const record = yield* findStored(storage, environment, userId, sequence)
      // Another id, and another user's too, may have this hash.
      if (record !== undefined && duplicateKey(record.cause) === key) return record
    }
    return undefined
  })

  #pending(actor: NamedActor, key: string, hash: number): JournalRecord | undefined {
    const { pending } = this.#options
    let sequence = this.#latestWith(actor, hash)
    for (; sequence > pending.watermark; sequence = pending.olderOf(sequence)) {
      if (pending.hashOf(sequence) !== hash) continue
      const record = pending.decode(sequence)
      if (duplicateKey(record.cause) === key) return record
    }
    return undefined
  }

  /** The actor's latest pending record with a name of this hash; a sequence up to the watermark, or 0: there is none. */
  #latestWith(actor: NamedActor, hash: number): number {
    const { pending } = this.#options
    if (actor.named === undefined) {
      let sequence = actor.lastVisible
      for (let looked = 0; looked < limits.pendingNamesScannedMax; looked++) {
        if (sequence <= pending.watermark) return 0
        if (pending.hashOf(sequence) === hash) return sequence
        sequence = pending.olderOf(sequence)
      }
      actor.named = latestByHash(pending, actor.lastVisible)
    }
    return actor.named.get(hash) ?? 0
  }

  /** A record with this name is appended; returns the hash of the name. */
  add(actor: NamedActor, key: string): number {
    // An id that was not found is usually added next.
    const looked = this.#hashed
    const known = looked.key === key && looked.idSeed === actor.idSeed
    const hash = known ? looked.hash : hashText(key, actor.idSeed)
    this.#filter.add(hash)
    actor.named?.set(hash, this.#options.pending.texts.lastSequence)
    return hash
  }

  /** The actor's erasure was appended: its earlier names are new again. */
  erase(actor: NamedActor, sequence: number): void {
    this.#options.erasures.appended(actor, sequence)
  }
}

/** Of an actor's pending records that have a name, the latest of each hash. */
const latestByHash = (pending: PendingRecords, latest: number): Map<number, number> => {
  const found = new Map<number, number>()
  for (let sequence = latest; sequence > pending.watermark; sequence = pending.olderOf(sequence)) {
    const hash = pending.hashOf(sequence)
    if (hash !== undefined && !found.has(hash)) found.set(hash, sequence)
  }
  return found
}
