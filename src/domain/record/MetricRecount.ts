/**
 * The events of records as metrics counted them, and a recount of a user's metric from the user's
 * whole history.
 *
 * A recount reads the history backwards, so the revocation of an event comes before the event,
 * which then does not count. Events that came after the recount began are added to it.
 */

import { compileWhere } from "../project/Definition.ts"
import { type Metric, metricValue } from "../project/Metric.ts"
import type { ProjectState } from "../project/Project.ts"
import {
  type CountedEvent,
  emptyOn,
  type MetricState,
  metricTotal,
  plusEvent,
} from "../user/MetricState.ts"
import { type UserState, userZones } from "../user/User.ts"
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

/**
 * A metric that a backfill has counted in a user's records up to `backfilled`. A record without a
 * fact of the metric then counts as the definition says, which never changes, on the day of the zone
 * that the user had at its decision.
 */
export interface BackfilledMetric {
  readonly metric: Metric
  /** The event of a record that has no fact of the metric; `undefined`: it does not count. */
  readonly eventOf: (record: JournalRecord) => CountedEvent | undefined
}

/** The metric as a backfill counts it in the records up to `through`. */
export const backfilledMetric = (
  user: UserState,
  project: ProjectState,
  metric: Metric,
  through: number,
): BackfilledMetric => {
  const holds = compileWhere(metric.where)
  const zones = userZones(user, project)
  return {
    metric,
    eventOf: (record) => {
      const { cause, facts, sequence } = record
      // A kept refusal has no facts.
      if (sequence > through || cause.kind !== "event" || facts.length === 0) return undefined
      if (!metric.actions.includes(cause.action) || !holds(cause.metadata)) return undefined
      const value = metricValue(metric, cause.metadata)
      if (value === undefined) return undefined
      const at = decidedAt(record)
      const occurredAt = occurredAtOf(record)
      const day = zones.find(({ until }) => at < until)!.zone.dayAt(occurredAt)
      return { aggregate: metric.aggregate, value, day, occurredAt }
    },
  }
}

/** The user's metrics that a backfill has counted. */
export const backfilledMetrics = (
  user: UserState | undefined,
  project: ProjectState,
): ReadonlyArray<BackfilledMetric> => {
  const found: Array<BackfilledMetric> = []
  for (const [metricId, { backfilled }] of user?.metrics ?? []) {
    const metric = backfilled === undefined ? undefined : project.metrics.get(metricId)
    if (metric === undefined) continue
    found.push(backfilledMetric(user!, project, metric, backfilled!))
  }
  return found
}

/** Whether a record has a fact of the metric. */
export const hasFactOf = ({ facts }: JournalRecord, metricId: string): boolean =>
  facts.some((fact) => fact.kind === "metric.changed" && fact.metricId === metricId)

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
  readonly #backfilled: BackfilledMetric | undefined
  /** Whether an event counted that has no fact of the metric. */
  isMore = false

  constructor(metricId: string, day: number, backfilled?: BackfilledMetric) {
    this.#metricId = metricId
    this.#day = day
    this.#backfilled = backfilled
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
    const found = facts.flatMap((fact) => {
      if (fact.kind !== "metric.changed" || fact.metricId !== this.#metricId) return []
      return countedEvent(fact, record) ?? []
    })
    const more = found.length > 0 ? undefined : this.#backfilled?.eventOf(record)
    if (more === undefined) return found
    this.isMore = true
    return [more]
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

/** The events of the user's metric; `through`: as a backfill counts them up to this record. */
export const recountOf = (
  user: UserState,
  project: ProjectState,
  metricId: string,
  { day = 0, through }: { readonly day?: number; readonly through?: number } = {},
): MetricRecount => {
  const metric = project.metrics.get(metricId)
  const upTo = through ?? user.metrics.get(metricId)?.backfilled
  return metric === undefined || upTo === undefined
    ? new MetricRecount(metricId, day)
    : new MetricRecount(metricId, day, backfilledMetric(user, project, metric, upTo))
}
