/**
 * The segments of an open journal in the order of their records, without gaps. A full segment is
 * plain until it is sealed; the newest segment is plain, unless it was sealed when the journal was
 * opened.
 */

import { countWhile } from "../../domain/values/countUpTo.ts"
import type { Extent } from "./JournalReader.ts"
import { SealedSegment } from "./SealedFile.ts"
import type { Segment } from "./SegmentFormat.ts"

export type AnySegment = Segment | SealedSegment

export class SegmentList {
  readonly #all: Array<AnySegment>

  constructor(all: ReadonlyArray<AnySegment>) {
    this.#all = [...all]
  }

  get oldest(): AnySegment | undefined {
    return this.#all[0]
  }

  get newest(): AnySegment | undefined {
    return this.#all[this.#all.length - 1]
  }

  get firstSequences(): ReadonlyArray<number> {
    return this.#all.map(({ firstSequence }) => firstSequence)
  }

  get sealed(): ReadonlyArray<SealedSegment> {
    return this.#all.filter((segment) => segment instanceof SealedSegment)
  }

  add(segment: Segment): void {
    this.#all.push(segment)
  }

  /** Takes out the oldest segment if all its records are below `sequence`; never the newest. */
  takeBelow(sequence: number): AnySegment | undefined {
    const next = this.#all[1]
    return next !== undefined && next.firstSequence <= sequence ? this.#all.shift() : undefined
  }

  /** Puts `other`, which has the same records, in the place of `segment`. */
  replace(segment: AnySegment, other: SealedSegment): void {
    this.#all[this.#all.indexOf(segment)] = other
  }

  has(segment: AnySegment): boolean {
    return this.#all.includes(segment)
  }

  /** The oldest plain segment that takes no more records and is not in `except`. */
  nextFull(except: ReadonlySet<AnySegment>): AnySegment | undefined {
    return this.#all
      .slice(0, -1)
      .find((segment) => !(segment instanceof SealedSegment) && !except.has(segment))
  }

  /**
   * The segment with record `sequence`, and its end; `lastSequence` is the journal's last record.
   */
  extentOf(sequence: number, lastSequence: number): Extent | undefined {
    const all = this.#all
    const begun = countWhile(all.length, (index) => all[index]!.firstSequence <= sequence)
    const segment = all[begun - 1]
    if (segment === undefined || segment instanceof SealedSegment) return segment
    const next = all[begun]?.firstSequence ?? lastSequence + 1
    return { segment, end: segment.end, lastSequence: next - 1 }
  }
}
