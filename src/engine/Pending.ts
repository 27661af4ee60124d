/**
 * Records that are durable, or about to be, and not in the snapshot yet. Kept as their journal text: one
 * string costs the garbage collector less than the tree of a record, and is what the history stores.
 */
import type { AnyActor } from "./Actor.ts"

export interface PendingRecord {
  readonly actor: AnyActor
  readonly sequence: number
  /** The record's text in the journal. */
  readonly encoded: string
  /** The name under which a repeat of its command is a duplicate. */
  readonly key: string | undefined
}

/** One actor's pending records that have such a name. Few as a rule: a list until `listMax`, then a map. */
export class PendingKeys {
  #list: Array<PendingRecord> | undefined = []
  #map: Map<string, PendingRecord> | undefined

  get size(): number {
    return this.#list?.length ?? this.#map!.size
  }

  get(key: string): PendingRecord | undefined {
    return this.#list === undefined
      ? this.#map!.get(key)
      : this.#list.find((record) => record.key === key)
  }

  add(record: PendingRecord): void {
    if (this.#list === undefined) {
      this.#map!.set(record.key!, record)
      return
    }
    this.#list.push(record)
    if (this.#list.length <= listMax) return
    this.#map = new Map(this.#list.map((listed) => [listed.key!, listed]))
    this.#list = undefined
  }

  delete(record: PendingRecord): void {
    if (this.#list === undefined) {
      this.#map!.delete(record.key!)
      return
    }
    const index = this.#list.indexOf(record)
    if (index >= 0) this.#list.splice(index, 1)
  }
}

const listMax = 16
