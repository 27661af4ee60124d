/**
 * Which commands an actor has had before, by the names that make a repeat a duplicate: those whose records
 * are not in the snapshot yet are remembered by the actor, the others are in the snapshot's index. A new name,
 * the usual case, is told from both by the filter, and costs no look-up.
 */
import type { Effect } from "effect"
import type { JournalRecord } from "../domain/Record.ts"
import type { Broken, Storage } from "../storage/Storage.ts"
import type { AnyActor } from "./Actor.ts"
import type { Erasures } from "./Erasures.ts"
import { findByKey } from "./History.ts"
import { hashText, type IdFilter } from "./IdFilter.ts"
import { decodePending, type PendingRecord } from "./Pending.ts"

export class KnownIds {
  readonly #storage: Storage["Service"]
  readonly #filter: IdFilter

  readonly #erasures: Erasures

  constructor(storage: Storage["Service"], filter: IdFilter, erasures: Erasures) {
    this.#storage = storage
    this.#filter = filter
    this.#erasures = erasures
  }

  /** The first record with this name; `undefined`: there is none. */
  firstOf(
    actor: AnyActor,
    key: string,
  ): JournalRecord | undefined | Effect.Effect<JournalRecord | undefined, Broken> {
    if (!this.#filter.mayHave(hashText(key, actor.idSeed))) return undefined
    const pending = actor.pending?.get(key)
    if (pending !== undefined) return decodePending(pending)
    const { subject } = actor
    return findByKey(this.#storage, subject, key, this.#erasures.aheadOf(subject))
  }

  /** A record with this name was appended. */
  add(actor: AnyActor, record: PendingRecord, key: string): void {
    this.#filter.add(hashText(key, actor.idSeed))
    actor.remember(record)
  }

  /** The actor's erasure was appended: what it had before is not known any more. */
  erase(actor: AnyActor, sequence: number): void {
    this.#erasures.appended(actor, sequence)
  }
}
