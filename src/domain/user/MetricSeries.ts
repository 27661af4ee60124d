/**
 * A metric by day, week and month of the users' calendars: of one user, and of all users together.
 * It is made from events that count (`record/MetricRecount.ts`), so a revoked event and an erased
 * user are in no value.
 *
 * The value of a week or a month is the aggregate of its days. That of all users is the aggregate of
 * their events; for `distinct_days` it is the sum of the users' days. Each event counts on the day of
 * its own user's calendar.
 */
import type { MetricAggregate } from "../project/Metric.ts"
import { type WindowKind, windowKinds, windowOfDay } from "../values/Calendar.ts"
import type { CountedEvent } from "./MetricState.ts"

/** `value` is scaled. `at`: when the event of the latest value occurred, epoch milliseconds. */
interface Value {
  readonly value: number
  readonly at: number
}

/** The value of a window of all users, and how many users have events in it. */
export interface SharedValue extends Value {
  readonly users: number
}

/** A user's values by day. */
export class MetricDays {
  readonly #aggregate: MetricAggregate
  readonly #days = new Map<number, Value>()

  constructor(aggregate: MetricAggregate) {
    this.#aggregate = aggregate
  }

  /** Adds an event that came before all that were added. */
  add({ day, occurredAt, value }: CountedEvent): void {
    if (this.#aggregate === "distinct_days") this.#days.set(day, { value: 1, at: 0 })
    else put(this.#days, this.#aggregate, day, { value, at: occurredAt })
  }

  /** The values of the windows of a kind, by the index of the window. */
  by(kind: WindowKind): ReadonlyMap<number, Value> {
    if (kind === "daily") return this.#days
    const windows = new Map<number, Value>()
    for (const [day, value] of this.#days) {
      put(windows, this.#aggregate, windowOfDay(kind, day), value)
    }
    return windows
  }
}

/** The values of all users together. */
export class MetricOfAll {
  readonly #aggregate: MetricAggregate
  readonly #windows: Readonly<Record<WindowKind, Map<number, SharedValue>>> = {
    daily: new Map(),
    weekly: new Map(),
    monthly: new Map(),
  }

  constructor(aggregate: MetricAggregate) {
    this.#aggregate = aggregate
  }

  addUser(days: MetricDays): void {
    for (const kind of windowKinds) {
      const windows = this.#windows[kind]
      for (const [index, { at, value }] of days.by(kind)) {
        const before = windows.get(index)
        const after =
          before === undefined ? { value, at } : both(this.#aggregate, before, { value, at })
        windows.set(index, { ...after, users: (before?.users ?? 0) + 1 })
      }
    }
  }

  by(kind: WindowKind): ReadonlyMap<number, SharedValue> {
    return this.#windows[kind]
  }
}

const put = (
  values: Map<number, Value>,
  aggregate: MetricAggregate,
  index: number,
  value: Value,
): void => {
  const before = values.get(index)
  values.set(index, before === undefined ? value : both(aggregate, before, value))
}

/** The aggregate of two values. Of two latest values of one moment, the first one stays. */
const both = (aggregate: MetricAggregate, one: Value, other: Value): Value => {
  switch (aggregate) {
    case "max":
      return other.value > one.value ? other : one
    case "min":
      return other.value < one.value ? other : one
    case "last":
      return other.at > one.at ? other : one
    case "count":
    case "sum":
    case "distinct_days":
      return { value: one.value + other.value, at: 0 }
  }
}
