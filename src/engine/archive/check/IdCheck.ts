/**
 * Compares callers' ids with their records: a look-up in the index finds each record up to the
 * watermark that has an id, and the index has no other ids up to the watermark.
 *
 * Takes the records first, then the index, and compares order-independent sums. Records up to
 * `known` are not taken: an earlier check has read them, or they are no longer in the journal. The
 * ids of erased users leave the index at another time than their records leave the journal. Memory:
 * three bits per record.
 */

import { digestOf } from "../../../storage/lmdb/Sums.ts"
import type { StoredEntry } from "../../../storage/Storage.ts"
import { openValue, valueFault } from "../../../storage/Values.ts"
import { hashText, idSeed } from "../../dedupe/IdIndex.ts"
import { decodeRunHead, eachId, firstBits, idPlaceOf } from "../../dedupe/IdRun.ts"
import type { Fault } from "./JournalTail.ts"
import { Sequences } from "./Sequences.ts"

export class IdCheck {
  readonly #fault: Fault
  readonly #lastSequence: number
  readonly #watermark: number
  readonly #known: number
  readonly #named = new Sequences()
  readonly #found = new Sequences()
  readonly #erased = new Sequences()
  /** Sum over records minus sum over index entries. */
  #balance = 0
  /** The records up to the watermark to which ids of the index lead. */
  count = 0
  #run: { readonly name: string; readonly bits: number } | undefined

  constructor(fault: Fault, lastSequence: number, watermark: number, known = 0) {
    this.#fault = fault
    this.#lastSequence = lastSequence
    this.#watermark = watermark
    this.#known = known
  }

  /** Takes a user's record with an id. */
  record(environment: string, userId: string, id: string, sequence: number): void {
    if (sequence <= this.#known || sequence > this.#watermark || this.#named.add(sequence)) return
    this.#balance = (this.#balance + recordWeight(environment, userId, id, sequence)) | 0
  }

  /** Takes the number of a record that was erased. */
  erased(sequence: number): void {
    this.#erased.add(sequence)
  }

  /** Whether the index has no entry for the record's id. Call it after all entries. */
  isMissing(sequence: number): boolean {
    return this.#named.has(sequence) && !this.#found.has(sequence)
  }

  /** Takes back a record whose id is missing. */
  forgive(environment: string, userId: string, id: string, sequence: number): void {
    this.#found.add(sequence)
    this.#balance = (this.#balance - recordWeight(environment, userId, id, sequence)) | 0
  }

  /** Takes an entry of the index, in the order of keys. */
  entry([key, value]: StoredEntry): void {
    const about = (words: string) => this.#fault(valueFault("eventIds", key, words))
    const body = openValue(value)
    if (typeof body === "string") {
      about(body)
      return
    }
    try {
      const { bucket, environment, run } = idPlaceOf(key)
      const name = JSON.stringify([environment, run])
      if (bucket === undefined) this.#run = { name, bits: decodeRunHead(body).bits }
      else if (this.#run?.name !== name) about("is of no run")
      else {
        const { bits } = this.#run
        eachId(body, (hash, sequence) => this.#id(environment, bucket, bits, hash, sequence))
      }
    } catch {
      about("cannot be decoded")
    }
  }

  #id(environment: string, bucket: number, bits: number, hash: number, sequence: number): void {
    if (!(sequence >= 1 && sequence <= this.#lastSequence)) {
      this.#fault(`An id leads to record ${sequence}, which does not exist`)
    } else if (firstBits(hash, bits) !== bucket) {
      this.#fault(`The id of record ${sequence} is not where it is looked for`)
    }
    // The next snapshot rewrites ids ahead of the watermark; a merge in progress leaves some twice.
    if (!(sequence <= this.#watermark) || this.#found.add(sequence)) return
    this.count++
    if (sequence <= this.#known || this.#erased.has(sequence)) return
    if (!this.#named.has(sequence)) {
      this.#fault(`An id leads to record ${sequence}, which has none`)
    }
    this.#balance = (this.#balance - weightOf(environment, hash, sequence)) | 0
  }

  end(): void {
    let missing = 0
    for (const sequence of this.#named.notIn(this.#found)) {
      missing++
      this.#fault(`The id of record ${sequence} leads to nothing`)
    }
    let others = 0
    for (const sequence of this.#found.notIn(this.#named)) {
      if (sequence > this.#known && !this.#erased.has(sequence)) others++
    }
    if (missing + others === 0 && this.#balance !== 0) {
      this.#fault("Some callers' ids lead to records that have another id")
    }
  }
}

/** Weight of an id and its record in the sum: other pairs almost certainly have another weight. */
const weightOf = (environment: string, hash: number, sequence: number): number =>
  digestOf(hash, digestOf(sequence | 0, hashText(environment, Math.floor(sequence / 2 ** 32))))

/** Weight of a user's record with an id. */
const recordWeight = (environment: string, userId: string, id: string, sequence: number): number =>
  weightOf(environment, hashText(id, idSeed(environment, userId)), sequence)
