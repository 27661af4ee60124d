/**
 * Counts events for metrics, and takes undone ones back. `MetricState.ts` has the values.
 *
 * An undo of a `count` or a `sum` subtracts. Another metric needs the user's earlier records where
 * the event gave one of its values: the largest, the smallest, the latest, or the only one of a day.
 * An undo of any other event needs none. An undo reads at most `metricUndoRecordsMax` records. If it
 * needs more, the state becomes `recalculating`, and a recount in the background replaces it.
 */
import { limits } from "../../Limits.ts"
import type { Metric } from "../project/Metric.ts"
import { hasValue, isExtremum, metricValue } from "../project/Metric.ts"
import type { ProjectState } from "../project/Project.ts"
import {
  type BackfilledMetric,
  backfilledMetrics,
  beforeDay,
  countedEvent,
  hasFactOf,
} from "../record/MetricRecount.ts"
import { HistoryNeeded, type Past, type PastCount } from "../record/Past.ts"
import type { Fact, JournalRecord, Tick } from "../record/Record.ts"
import {
  type CountedEvent,
  hasDay,
  isFull,
  isInSlot,
  type MetricState,
  metricTotal,
  minusEvent,
  plusEvent,
  slotFirstDay,
  slotsGivenBy,
} from "../user/MetricState.ts"
import { presentZone, type UserState } from "../user/User.ts"
import type { Metadata } from "../values/Metadata.ts"
import { revokeUnearned } from "./Badges.ts"
import type { Draft } from "./Draft.ts"

export const countMetrics = (
  draft: Draft,
  metrics: ReadonlyArray<Metric>,
  metadata: Metadata | undefined,
): void => {
  if (metrics.length === 0) return
  const { occurredAt, project, user } = draft
  const day = presentZone(user, project).dayAt(occurredAt)
  for (const metric of metrics) {
    const { aggregate, decimals, id: metricId, key } = metric
    const before = user?.metrics.get(metricId)
    const value = addedValue(draft, metric, before, day, metadata)
    if (value === undefined) continue
    const counted = { aggregate, value, day }
    const state = plusEvent(before, { ...counted, occurredAt })
    const total = metricTotal(state)
    draft.metrics ??= new Map()
    draft.metrics.set(key, { metric, added: value, state })
    draft.facts.push({ kind: "metric.changed", metricId, key, decimals, total, counted })
  }
}

/** The scaled value with which the event counts; `undefined`: it does not count. */
const addedValue = (
  draft: Draft,
  metric: Metric,
  before: MetricState | undefined,
  day: number,
  metadata: Metadata | undefined,
): number | undefined => {
  const value = metricValue(metric, metadata)
  if (value === undefined || hasValue(metric.aggregate)) {
    // A sum stops at the largest exact integer.
    if (value === undefined || metric.aggregate !== "sum") return value
    const room = Number.MAX_SAFE_INTEGER - (metricTotal(before) ?? 0)
    return room === 0 ? undefined : Math.min(value, room)
  }
  if (metric.aggregate === "count") return value
  const known = hasDay(before, day)
  if (known !== undefined) return known ? 0 : 1
  const past = draft.recall(beforeDay(day))
  return past !== undefined && standing(past, metric.id).some((event) => event.day === day) ? 0 : 1
}

/** The events of the metric that were not undone, oldest record first. */
const standing = (past: Past, metricId: string): ReadonlyArray<PastCount> =>
  past
    .countsOf(metricId)
    .filter(({ sequence }) => !past.isRevoked(sequence))
    .toSorted((one, other) => one.sequence - other.sequence)

/* Undo. */

/** A metric of an undone record, and its state without it; `undefined`: no event is left. */
interface MetricLeft extends Pick<Metric, "aggregate" | "decimals" | "key"> {
  readonly metricId: string
  readonly state: MetricState | undefined
}

export type MetricsLeft = ReadonlyArray<MetricLeft>

export const metricChanged = ({ aggregate, state, ...metric }: MetricLeft): Fact => {
  const total = metricTotal(state) ?? (isExtremum(aggregate) ? null : 0)
  return { kind: "metric.changed", ...metric, total, state: state ?? null }
}

/** The user's metrics after the changes. */
export const metricsAfter = (user: UserState, left: MetricsLeft): UserState["metrics"] => {
  if (left.length === 0) return user.metrics
  const after = new Map(user.metrics)
  for (const { metricId, state } of left) {
    if (state === undefined) after.delete(metricId)
    else after.set(metricId, state)
  }
  return after
}

/** The events of a record as metrics counted them, by a fact of the record or by a backfill. */
const countedIn = (found: JournalRecord, backfilled: ReadonlyArray<BackfilledMetric>) => [
  ...found.facts.flatMap((fact) => {
    const event = fact.kind === "metric.changed" ? countedEvent(fact, found) : undefined
    if (fact.kind !== "metric.changed" || event === undefined) return []
    const { decimals, key, metricId } = fact
    return [{ event, metricId, key, decimals, aggregate: event.aggregate, hasFact: true }]
  }),
  ...backfilled.flatMap(({ eventOf, metric }) => {
    const event = hasFactOf(found, metric.id) ? undefined : eventOf(found)
    const { aggregate, decimals, id: metricId, key } = metric
    return event === undefined
      ? []
      : [{ event, metricId, key, decimals, aggregate, hasFact: false }]
  }),
]

/** Whether only the whole history says what is left without the event. */
const needsRecount = (
  user: UserState,
  project: ProjectState,
  state: MetricState,
  { aggregate }: CountedEvent,
  hasFact: boolean,
): boolean => {
  if (aggregate === "sum" && isFull(state)) {
    return state.backfilled !== undefined || user.absorbed.length > 0
  }
  // The day on which the event counted is that of a zone which may be forgotten.
  const zones = Math.max(user.pastZones.length, project.pastZones?.length ?? 0)
  return !hasFact && zones >= limits.pastZonesMax
}

/** The states of the metrics that `found` counted for, without it. */
export const metricsLeft = (
  user: UserState,
  project: ProjectState,
  found: JournalRecord,
  past: Past | undefined,
): MetricsLeft | HistoryNeeded => {
  const left: Array<MetricLeft> = []
  const needs: Array<HistoryNeeded> = []
  const backfilled = backfilledMetrics(user, project)
  for (const { event, hasFact, ...metric } of countedIn(found, backfilled)) {
    const { metricId } = metric
    const state = user.metrics.get(metricId)
    if (state === undefined) continue
    if (state.recalculating === true) {
      left.push({ ...metric, state })
      continue
    }
    if (needsRecount(user, project, state, event, hasFact)) {
      left.push({ ...metric, state: { ...state, recalculating: true } })
      continue
    }
    const needed = othersNeeded(state, event, metricId, found.sequence)
    if (needed !== undefined && past === undefined) {
      needs.push(
        new HistoryNeeded(
          (past, at) => needed.isMet(past, at) || past.records >= limits.metricUndoRecordsMax,
          backfilled,
        ),
      )
    } else if (needed !== undefined && isCut(past!, needed)) {
      left.push({ ...metric, state: { ...state, recalculating: true } })
    } else {
      const others = othersOf(past, metricId, found.sequence)
      left.push({ ...metric, state: minusEvent(state, event, others) })
    }
  }
  return needs.length === 0 ? left : allOf(needs)
}

/** Whether `past` ends at the bound of an undo and does not meet the need. */
const isCut = (past: Past, needed: HistoryNeeded): boolean =>
  past.records >= limits.metricUndoRecordsMax && !needed.isMet(past, past.since)

/** The need that is met when all of `needs` are. */
export const allOf = (needs: ReadonlyArray<HistoryNeeded>): HistoryNeeded =>
  // Each need is asked, since each looks at every record once.
  new HistoryNeeded(
    (past, at) => needs.filter(({ isMet }) => !isMet(past, at)).length === 0,
    needs.flatMap(({ backfilled }) => backfilled),
  )

/**
 * Replaces the state of the metric by that of a recount, and revokes the badges that the user no
 * longer has by it.
 */
export const takeRecount = (
  draft: Draft,
  user: UserState,
  { backfill, metricId, state, upTo }: NonNullable<Tick["recount"]>,
): void => {
  // A state that changed after the recount is counted again.
  if (upTo !== user.sequence) return
  const before = user.metrics.get(metricId)
  if (backfill !== true && before?.recalculating !== true) return
  const backfilled = backfill === true ? upTo : before?.backfilled
  const { aggregate, decimals, key } = draft.project.metrics.get(metricId) ?? {
    key: metricId,
    decimals: 0,
    aggregate: "max",
  }
  const after = state === null ? undefined : { ...state, ...(backfilled && { backfilled }) }
  const left = [{ metricId, key, decimals, aggregate, state: after }]
  draft.facts.push(...left.map(metricChanged))
  revokeUnearned(draft, { ...user, metrics: metricsAfter(user, left) }, new Map())
}

const othersOf = (
  past: Past | undefined,
  metricId: string,
  undone: number,
): ReadonlyArray<CountedEvent> =>
  past === undefined ? [] : standing(past, metricId).filter(({ sequence }) => sequence !== undone)

/** The history that the undo of `event` needs; `undefined`: none. */
const othersNeeded = (
  state: MetricState,
  event: CountedEvent,
  metricId: string,
  sequence: number,
): HistoryNeeded | undefined => {
  const { aggregate, day, value } = event
  if (aggregate === "count" || aggregate === "sum") return undefined
  const open = new Set(aggregate === "distinct_days" ? [0] : slotsGivenBy(state, event))
  if (open.size === 0) return undefined
  // Whether `other` takes the place of the event, so that no older record matters for the slot.
  const replaces = (other: PastCount, slot: number): boolean => {
    if (aggregate === "distinct_days") return other.day === day
    if (!isInSlot(slot, state.day, other.day)) return false
    return aggregate !== "last" && other.value === value
  }
  const from = (slot: number): number =>
    aggregate === "distinct_days" ? day : slotFirstDay(slot, state.day)
  const latest = new Map<number, number>()
  let looked = 0
  return new HistoryNeeded((past, at) => {
    const counts = past.countsOf(metricId)
    for (; looked < counts.length; looked++) {
      const other = counts[looked]!
      if (other.sequence === sequence || past.isRevoked(other.sequence)) continue
      for (const slot of open) {
        if (replaces(other, slot)) open.delete(slot)
        else if (aggregate === "last" && isInSlot(slot, state.day, other.day)) {
          latest.set(slot, Math.max(latest.get(slot) ?? 0, other.occurredAt))
        }
      }
    }
    // What was decided before `at` occurred before it.
    for (const slot of open) {
      if (at < beforeDay(from(slot)) || (latest.get(slot) ?? at) > at) open.delete(slot)
    }
    return open.size === 0
  })
}
