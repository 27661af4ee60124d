/**
 * The events of records as metrics counted them, and a recount of a user's metric from the user's
 * whole history.
 *
 * A recount reads the history backwards, so the revocation of an event comes before the event,
 * which then does not count. Events that came after the recount began are added to it.
 */
import {
  type CountedEvent,
  emptyOn,
  type MetricState,
  metricTotal,
  plusEvent,
} from "../user/MetricState.ts"
import { decidedAt, type FactOf, type JournalRecord } from "./Record.ts"

/** When the event of a record occurred; of another record, when it was decided. */
export const occurredAtOf = (record: JournalRecord): number => {
  const at = decidedAt(record)
  return record.cause.kind === "event" ? Math.min(record.cause.occurredAt ?? at, at) : at
}

/** The event of `record` as a metric counted it; `undefined`: the fact is of no event. */
export const countedEvent = (
  { counted }: FactOf<"metric.changed">,
  record: JournalRecord,
): CountedEvent | undefined =>
  counted === undefined ? undefined : { ...counted, occurredAt: occurredAtOf(record) }

const dayMs = 86_400_000

/** A time before which no event of the local day occurred, in any time zone. */
export const beforeDay = (day: number): number => (day - 1) * dayMs

export class MetricRecount {
  readonly #metricId: string
  /** The day of the user's state, which a recount keeps. */
  readonly #day: number
  #state: MetricState | undefined
  /** The days of a metric by distinct days. */
  #days: Set<number> | undefined
  /** The sequences of revoked events that were not read yet. */
  readonly #revoked = new Set<number>()

  constructor(metricId: string, day: number) {
    this.#metricId = metricId
    this.#day = day
  }

  /** Whether revoked events remain to be read. */
  get open(): boolean {
    return this.#revoked.size > 0
  }

  /** Adds the user's next older record. */
  add(record: JournalRecord): void {
    for (const event of this.eventsOf(record)) {
      if (event.aggregate === "distinct_days") {
        this.#days ??= new Set()
        this.#days.add(event.day)
      } else {
        this.#state ??= emptyOn(this.#day, event.aggregate)
        this.#state = plusEvent(this.#state, event, "before")
      }
    }
  }

  /** The events of the user's next older record that count. */
  eventsOf(record: JournalRecord): ReadonlyArray<CountedEvent> {
    const { cause, facts, sequence } = record
    if (cause.kind === "revocation" && cause.of === "event" && facts.length > 0) {
      this.#revoked.add(cause.sequence)
      return []
    }
    if (cause.kind !== "event" || this.#revoked.delete(sequence)) return []
    return facts.flatMap((fact) => {
      if (fact.kind !== "metric.changed" || fact.metricId !== this.#metricId) return []
      return countedEvent(fact, record) ?? []
    })
  }

  /**
   * The state of the metric after `later` events, oldest first; null: no event is left. `later`
   * events are those that came after the records that were added.
   */
  stateWith(later: ReadonlyArray<CountedEvent>): MetricState | null {
    let state = this.#state
    const days = new Set(this.#days)
    for (const event of later) {
      if (event.aggregate === "distinct_days") days.add(event.day)
      else state = plusEvent(state ?? emptyOn(this.#day, event.aggregate), event)
    }
    for (const day of [...days].sort((one, other) => one - other)) {
      state = plusEvent(state, { aggregate: "distinct_days", value: 1, day, occurredAt: 0 })
    }
    return state === undefined || metricTotal(state) === null ? null : state
  }
}
