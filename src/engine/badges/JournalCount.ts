/**
 * Counts the events of all users of an environment for a badge, in one pass over the journal. The
 * history of a single user costs a read for each record; the pass reads all records in order, each
 * of them at a fraction of that cost. It pays where the environment has a large share of the
 * journal (`isWorthwhile`).
 *
 * A revocation makes the count of its user unknown, since the pass has not kept the event: the
 * user's history is counted instead. An erased user has no count.
 *
 * Cost: a search in each record for the id of the environment, and the decoding of its records; a
 * number for each user with such an event.
 */
import { Effect, Stream } from "effect"
import { ActionCount, type CountedBadge } from "../../domain/record/ActionCount.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import { asBuffer } from "../../storage/Keys.ts"
import type { Broken, Storage, StoredRecord } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { EnvironmentActions } from "../actor/Counts.ts"
import { decodeRecord } from "../records/Codec.ts"

/** The count in a user's records up to the record `upTo`. */
export interface Counted {
  readonly current: number
  readonly upTo: number
}

/** Whether the pass costs less than the histories of an environment with these events. */
export const isWorthwhile = (
  { actions, others }: EnvironmentActions,
  journalRecords: number,
): boolean => {
  let events = others.count
  for (const { count } of actions.values()) events += count
  return events * limits.backfillHistoryCost > journalRecords
}

export class JournalCount {
  readonly badge: CountedBadge
  readonly #environment: string
  /** `undefined`: the count is unknown. */
  readonly #counts = new Map<string, ActionCount | undefined>()
  #upTo = 0

  private constructor(badge: CountedBadge, environment: string) {
    this.badge = badge
    this.#environment = environment
  }

  /** Reads the journal from its beginning to its present end. */
  static readonly read = Effect.fnUntraced(function* (
    { readRecords }: Pick<Storage["Service"], "readRecords">,
    badge: CountedBadge,
    environment: string,
    from: number,
  ): Effect.fn.Return<JournalCount, Broken> {
    const count = new JournalCount(badge, environment)
    const text = Buffer.from(JSON.stringify(environment))
    yield* Stream.runForEach(readRecords(from), (records) =>
      Effect.gen(function* () {
        let decoded = 0
        for (const stored of records) {
          if (!count.#take(stored, text)) continue
          if (++decoded % limits.backfillTurnRecordsMax === 0) yield* yieldToEventLoop
        }
        yield* yieldToEventLoop
      }),
    )
    return count
  })

  /** Takes the next record of the journal; returns whether it had to be decoded. */
  #take({ body, sequence }: StoredRecord, text: Buffer): boolean {
    this.#upTo = sequence
    if (!asBuffer(body).includes(text)) return false
    this.#add(decodeRecord(body))
    return true
  }

  #add(record: JournalRecord): void {
    const { cause, facts, subject } = record
    if (subject.actor !== "user" || subject.environment !== this.#environment) return
    const { userId } = subject
    // The erasure of an earlier life may be erased itself.
    if (facts[0]?.kind === "user.created") this.#counts.delete(userId)
    if (cause.kind === "erasure") this.#counts.delete(userId)
    else if (cause.kind === "revocation") {
      if (cause.of === "event" && facts.length > 0) this.#counts.set(userId, undefined)
    } else if (cause.kind === "event" && cause.action === this.badge.criteria.action) {
      if (!this.#counts.has(userId)) this.#counts.set(userId, new ActionCount(this.badge))
      this.#counts.get(userId)?.add(record)
    }
  }

  /** The count of a user; `undefined`: it is unknown. */
  of(userId: string): Counted | undefined {
    if (!this.#counts.has(userId)) return { current: 0, upTo: this.#upTo }
    const count = this.#counts.get(userId)
    return count && { current: count.current, upTo: this.#upTo }
  }
}
