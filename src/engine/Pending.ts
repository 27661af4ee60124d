/**
 * Records that are durable, or about to be, and not in the snapshot yet. Their text stays as the bytes that
 * went into the journal, in one buffer per batch outside the heap: a tree of objects or a string for each
 * would cost the garbage collector more than all else that is done for an event.
 */
import type { JournalRecord } from "../domain/Record.ts"
import type { AnyActor } from "./Actor.ts"
import { decodeRecord } from "./Codec.ts"
import type { RecordText } from "./RecordTexts.ts"

export interface PendingRecord {
  readonly actor: AnyActor
  readonly sequence: number
  /** The name under which a repeat of its command is a duplicate. */
  readonly key: string | undefined
  /** The actor's record before it, if that is pending too and both are durable (`UserHistory`). */
  older: PendingRecord | undefined
  text: RecordText
  textStart: number
  textBytes: number
}

export const decodePending = ({ text, textBytes, textStart }: PendingRecord): JournalRecord =>
  decodeRecord(text.bytes.subarray(textStart, textStart + textBytes))

/** A record that was read back from the journal, whose text is `bytes`. */
export const pendingOf = (
  actor: AnyActor,
  { sequence }: JournalRecord,
  key: string | undefined,
  bytes: Buffer,
): PendingRecord => ({
  actor,
  sequence,
  key,
  older: undefined,
  text: { bytes },
  textStart: 0,
  textBytes: bytes.length,
})

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
      const listed = this.#map!.get(record.key!)
      if (listed?.sequence === record.sequence) this.#map!.delete(record.key!)
      return
    }
    // By its number: a rebuilt actor remembers the record as another object.
    const index = this.#list.findIndex(({ sequence }) => sequence === record.sequence)
    if (index >= 0) this.#list.splice(index, 1)
  }
}

const listMax = 16
