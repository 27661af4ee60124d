/**
 * The part of a snapshot with the new records of users, as pages of history, and the callers' ids
 * in them.
 */
import type { Entry } from "../../storage/Storage.ts"
import { IdList } from "../dedupe/IdRun.ts"
import { pageEntries } from "../records/SnapshotValues.ts"
import type { EngineState } from "../state/EngineState.ts"

/**
 * The snapshot has everything up to `watermark` when it has ended. Records up to `offered` may be
 * stored already.
 */
export interface SnapshotBounds {
  readonly offered: number
  readonly watermark: number
}

export class HistoryPart {
  readonly #state: EngineState
  readonly #bounds: SnapshotBounds
  /** Callers' new ids, by environment. */
  readonly newIds = new Map<string, IdList>()

  constructor(state: EngineState, bounds: SnapshotBounds) {
    this.#state = state
    this.#bounds = bounds
  }

  /** The entries of a user's new records, of which `lastDurable` is the last. */
  entriesOf(environment: string, userId: string, lastDurable: number): Iterable<Entry> {
    const { erasures, pending } = this.#state
    const { offered, watermark } = this.#bounds
    const erasedThrough = erasures.throughOf(environment, userId)
    const sequences = pending.backFrom(lastDurable, erasedThrough, watermark)
    for (const sequence of sequences) {
      const hash = pending.hashOf(sequence)
      if (hash !== undefined) this.#idsOf(environment).add(hash, sequence)
    }
    return pageEntries(environment, userId, sequences, pending.texts, offered)
  }

  #idsOf(environment: string): IdList {
    let list = this.newIds.get(environment)
    if (list === undefined) {
      list = new IdList()
      this.newIds.set(environment, list)
    }
    return list
  }
}
