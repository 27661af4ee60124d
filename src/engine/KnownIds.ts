/**
 * Which commands an actor has had before, by the names that make a repeat a duplicate: those whose records
 * are not in the snapshot yet are found along the actor's `latest`, the others in the snapshot's index. A new
 * name, the usual case, is told from both by the filter, and costs no look-up.
 *
 * Whoever has many records that wait and repeats itself is given a map of their names, so that a repeat costs
 * the same however many there are. It goes with the next snapshot.
 */
import type { Effect } from "effect"
import type { JournalRecord } from "../domain/Record.ts"
import { limits } from "../Limits.ts"
import type { Broken, Storage } from "../storage/Storage.ts"
import type { AnyActor } from "./Actor.ts"
import type { Erasures } from "./Erasures.ts"
import { findByKey } from "./History.ts"
import { hashText, IdFilter } from "./IdFilter.ts"
import type { IdIndex } from "./IdIndex.ts"
import { decodePending, type PendingRecord } from "./Pending.ts"

export interface KnownIdsOptions {
  readonly storage: Storage["Service"]
  readonly filterBytes: number
  readonly ids: IdIndex
  readonly erasures: Erasures
  /** Everything up to this sequence is in the snapshot. */
  readonly watermark: () => number
}

export class KnownIds {
  readonly #options: KnownIdsOptions
  readonly #filter: IdFilter
  /** The last name that was looked for. */
  readonly #hashed = { key: "", idSeed: 0, hash: hashText("", 0) }

  constructor(options: KnownIdsOptions) {
    this.#options = options
    this.#filter = new IdFilter(options.filterBytes)
  }

  /** Adds what the snapshot has to the filter. Until then, every name is looked up. */
  get fill(): Effect.Effect<void, Broken> {
    return this.#options.ids.fill(this.#filter)
  }

  /** The record was found in the journal. */
  replayed({ actor, key }: PendingRecord): void {
    if (key !== undefined) this.#filter.add(hashText(key, actor.idSeed))
  }

  /** The first record with this name; `undefined`: there is none. */
  firstOf(
    actor: AnyActor,
    key: string,
  ): JournalRecord | undefined | Effect.Effect<JournalRecord | undefined, Broken> {
    const { erasures, ids, storage } = this.#options
    const hash = hashText(key, actor.idSeed)
    this.#hashed.key = key
    this.#hashed.idSeed = actor.idSeed
    this.#hashed.hash = hash
    if (!this.#filter.mayHave(hash)) return undefined
    const pending = this.#pending(actor, key)
    if (pending !== undefined) return decodePending(pending)
    const { subject } = actor
    if (subject.actor !== "user") return undefined
    return findByKey(storage, ids, subject, { key, hash }, erasures.aheadOf(subject))
  }

  #pending(actor: AnyActor, key: string): PendingRecord | undefined {
    if (actor.named !== undefined) return actor.named.get(key)
    const watermark = this.#options.watermark()
    let record = actor.latest
    for (let looked = 0; record !== undefined && record.sequence > watermark; looked++) {
      if (record.key === key) return record
      if (looked === limits.pendingNamesLookedAtMax) {
        actor.named = namesOf(actor.latest, watermark)
        return actor.named.get(key)
      }
      record = record.older
    }
    return undefined
  }

  /** A record with this name was appended. */
  add(actor: AnyActor, key: string): void {
    // What was looked for and not found is added next, as a rule.
    const { hash, idSeed, key: looked } = this.#hashed
    const known = looked === key && idSeed === actor.idSeed
    this.#filter.add(known ? hash : hashText(key, actor.idSeed))
  }

  /** The actor's erasure was appended: what it had before is not known any more. */
  erase(actor: AnyActor, sequence: number): void {
    this.#options.erasures.appended(actor, sequence)
  }
}

const namesOf = (
  latest: PendingRecord | undefined,
  watermark: number,
): Map<string, PendingRecord> => {
  const named = new Map<string, PendingRecord>()
  for (
    let record = latest;
    record !== undefined && record.sequence > watermark;
    record = record.older
  ) {
    if (record.key !== undefined) named.set(record.key, record)
  }
  return named
}
