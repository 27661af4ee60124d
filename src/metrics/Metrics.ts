/**
 * The metrics of one server. Counts on the path of a request are plain numbers that this hands out
 * (`Counter`, `Histogram`: 1 and 10 ns); all else is read when somebody asks for the metrics. The numbers stand in
 * a registry of Effect's, whose formatter and exporter read them (`PrometheusMetrics`, `OtlpMetrics`).
 *
 * Effect's own counters and histograms would cost 40 and 70 ns, prom-client's 160 and 400 ns; and the buckets
 * of the former are 32-bit, which a busy server overflows within three days.
 */
import { Context, Metric } from "effect"
import { formatUnsafe } from "effect/observability/PrometheusMetrics"
import {
  type Combined,
  catalogue,
  type LabelsOf,
  type MetricKind,
  type MetricName,
  type NameOf,
} from "./Catalogue.ts"

/** How many observations fell into each bucket, and their sum. */
export class Histogram {
  readonly #bounds: Float64Array
  /** Of each bucket alone; the last one is for what is beyond all bounds. Doubles: they count to 2^53. */
  readonly #counts: Float64Array
  #sum = 0
  #min = Number.POSITIVE_INFINITY
  #max = Number.NEGATIVE_INFINITY

  constructor(bounds: ReadonlyArray<number>) {
    this.#bounds = Float64Array.from(bounds)
    this.#counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    const bounds = this.#bounds
    let bucket = 0
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++
    this.#counts[bucket]!++
    this.#sum += value
    if (value < this.#min) this.#min = value
    if (value > this.#max) this.#max = value
  }

  /** Adds the count of each bucket to `counts`. */
  addTo(counts: Float64Array): void {
    this.#counts.forEach((count, bucket) => {
      counts[bucket]! += count
    })
  }

  /** Adds the observations of one with the same bounds. */
  merge(other: Histogram): void {
    other.addTo(this.#counts)
    this.#sum += other.#sum
    this.#min = Math.min(this.#min, other.#min)
    this.#max = Math.max(this.#max, other.#max)
  }

  /** As Effect has it: buckets are cumulative. */
  get state(): Metric.HistogramState {
    let count = 0
    const buckets: Array<[number, number]> = []
    this.#bounds.forEach((bound, index) => {
      count += this.#counts[index]!
      buckets.push([bound, count])
    })
    count += this.#counts[this.#bounds.length]!
    const [min, max] = count === 0 ? [0, 0] : [this.#min, this.#max]
    return { buckets, count, sum: this.#sum, min, max }
  }
}

/*
 * The numbers of a metric under one set of labels. Each part of a process that has the metric, such as each engine of a
 * cluster's runner, gives its own number; the process shows one. A counter never goes back: it keeps what a former part has
 * counted, and begins at the number that a part had when it came.
 */

export type Labels = Readonly<Record<string, string>>

/** A counter or a gauge. */
class NumberSeries {
  readonly labels: Labels
  readonly #combined: Combined
  readonly #parts = new Set<() => number>()
  /** What parts that left have counted. */
  #former = 0

  constructor(name: MetricName, labels: Labels) {
    this.labels = labels
    this.#combined = (catalogue[name] as { readonly combined?: Combined }).combined ?? "sum"
  }

  /** Returns what takes the part away. */
  addGauge(read: () => number): () => void {
    this.#parts.add(read)
    return () => this.#parts.delete(read)
  }

  /** As `addGauge`. */
  addCounter(read: () => number, from: number): () => void {
    const counted = () => read() - from
    this.#parts.add(counted)
    return () => {
      const last = counted()
      if (!Number.isNaN(last)) this.#former += last
      this.#parts.delete(counted)
    }
  }

  get isEmpty(): boolean {
    return this.#parts.size === 0
  }

  /** NaN where one cannot be read. */
  get value(): number {
    const values = Array.from(this.#parts, (read) => read())
    if (this.#combined === "sum") return values.reduce((sum, each) => sum + each, this.#former)
    const [least, most] = [Math.min(...values), Math.max(...values)]
    return this.#combined === "smallest" || -least > most ? least : most
  }
}

class HistogramSeries {
  readonly labels: Labels
  readonly #bounds: ReadonlyArray<number>
  readonly #parts = new Set<Histogram>()
  readonly #former: Histogram

  constructor(name: MetricName, labels: Labels) {
    this.labels = labels
    this.#bounds = (catalogue[name] as { readonly bounds: ReadonlyArray<number> }).bounds
    this.#former = new Histogram(this.#bounds)
  }

  /** A part, and what takes it away. */
  add(): readonly [Histogram, () => void] {
    const part = new Histogram(this.#bounds)
    this.#parts.add(part)
    const remove = () => {
      if (this.#parts.delete(part)) this.#former.merge(part)
    }
    return [part, remove]
  }

  get value(): Histogram {
    const whole = new Histogram(this.#bounds)
    whole.merge(this.#former)
    for (const part of this.#parts) whole.merge(part)
    return whole
  }
}

/** A number that only grows. */
export class Counter {
  value = 0

  increment(): void {
    this.value++
  }

  add(amount: number): void {
    this.value += amount
  }
}

/** No arguments where a metric has no labels. */
type LabelArguments<Name extends MetricName> = keyof LabelsOf<Name> extends never
  ? []
  : [labels: LabelsOf<Name>]

/** Where they are served, and exported from. */
export const prometheusContentType = "text/plain; version=0.0.4; charset=utf-8"

/** The series of each metric, by its labels. */
type AllSeries<Of> = Map<MetricName, Map<string, Of>>

/** The series of this metric and these labels; `make` for the first who registers it. */
const seriesOf = <Of>(all: AllSeries<Of>, name: MetricName, labels: Labels, make: () => Of): Of => {
  const ofName = all.get(name) ?? new Map<string, Of>()
  all.set(name, ofName)
  const key = keyOf(labels)
  const series = ofName.get(key) ?? make()
  ofName.set(key, series)
  return series
}

const keyOf = (labels: Labels): string => JSON.stringify(Object.entries(labels).sort())

const matching = <Of extends { readonly labels: Labels }>(
  all: AllSeries<Of>,
  name: MetricName,
  wanted: Labels,
): ReadonlyArray<Of> =>
  [...(all.get(name)?.values() ?? [])].filter(({ labels }) =>
    Object.entries(wanted).every(([key, text]) => labels[key] === text),
  )

/** A metric that could not be read, and what its `read` threw. */
export interface ReadFailure {
  readonly metric: MetricName
  readonly cause: unknown
}

export class Metrics {
  /** The registry, for those of Effect who read it. */
  readonly context: Context.Context<never>
  /** How often a metric could not be read: its value is NaN then, and all others are shown. */
  readFailures = 0
  readonly #broken = new Set<MetricName>()
  #newlyBroken: Array<ReadFailure> = []
  readonly #numbers: AllSeries<NumberSeries>
  readonly #histograms: AllSeries<HistogramSeries>
  readonly #whole: Metrics
  readonly #removals: Array<() => void> = []

  /** A part of `whole`, until `remove`: its numbers are among those there (`Metrics.ts`). */
  constructor(whole?: Metrics) {
    this.#whole = whole ?? this
    const isPart = whole !== undefined
    this.context = isPart ? whole.context : Context.make(Metric.MetricRegistry, new Map())
    this.#numbers = isPart ? whole.#numbers : new Map()
    this.#histograms = isPart ? whole.#histograms : new Map()
  }

  /** Takes away all that were registered here; of counters and histograms, what was counted stays. */
  remove(): void {
    for (const take of this.#removals.splice(0)) take()
  }

  /** A counter of its own, to be counted up where things happen. Made once, kept by who counts. */
  counter<Name extends NameOf<"counter">>(name: Name, ...[labels]: LabelArguments<Name>): Counter {
    const counter = new Counter()
    this.#registerCounter(name, labels, () => counter.value)
    return counter
  }

  /** A counter whose number is kept elsewhere, and read when it is asked for. */
  readCounter<Name extends NameOf<"counter">>(
    name: Name,
    read: () => number,
    ...[labels]: LabelArguments<Name>
  ): void {
    this.#registerCounter(name, labels, read)
  }

  /** A number that goes up and down, read when it is asked for. */
  gauge<Name extends NameOf<"gauge">>(
    name: Name,
    read: () => number,
    ...[given]: LabelArguments<Name>
  ): void {
    const labels: Labels = given ?? {}
    const metric = Metric.gauge(name, optionsOf(name, labels))
    const series = seriesOf(this.#numbers, name, labels, () => {
      const made = new NumberSeries(name, labels)
      Metric.registerUnsafe(
        metric,
        this.context,
        hooksOf(() => ({ value: made.value })),
      )
      return made
    })
    const take = series.addGauge(() => this.#read(name, read))
    this.#removals.push(() => {
      take()
      if (!series.isEmpty) return
      this.#numbers.get(name)!.delete(keyOf(labels))
      Metric.removeUnsafe(metric, this.context)
    })
  }

  histogram<Name extends NameOf<"histogram">>(
    name: Name,
    ...[given]: LabelArguments<Name>
  ): Histogram {
    const labels: Labels = given ?? {}
    const series = seriesOf(this.#histograms, name, labels, () => {
      const made = new HistogramSeries(name, labels)
      const boundaries = catalogue[name].bounds
      const metric = Metric.histogram(name, { ...optionsOf(name, labels), boundaries })
      Metric.registerUnsafe(
        metric,
        this.context,
        hooksOf(() => made.value.state),
      )
      return made
    })
    const [histogram, take] = series.add()
    this.#removals.push(take)
    return histogram
  }

  /** The number of a counter or gauge now: the sum of those that have these labels; NaN where one cannot be read. */
  value<Name extends NameOf<"counter" | "gauge">>(
    name: Name,
    labels: Partial<LabelsOf<Name>> = {},
  ): number {
    let sum = 0
    for (const { value } of matching(this.#numbers, name, labels as Labels)) sum += value
    return sum
  }

  /** How many observations each bucket of a histogram has, of all that have these labels; the last one is beyond all bounds. */
  observations<Name extends NameOf<"histogram">>(
    name: Name,
    labels: Partial<LabelsOf<Name>> = {},
  ): Float64Array {
    const counts = new Float64Array(catalogue[name].bounds.length + 1)
    for (const { value } of matching(this.#histograms, name, labels as Labels)) value.addTo(counts)
    return counts
  }

  /** All of them in Prometheus' text format (`prometheusContentType`). */
  text(): string {
    return formatUnsafe(this.context)
  }

  /** The first failure of each metric since the last call, for the log. */
  takeReadFailures(): ReadonlyArray<ReadFailure> {
    const failures = this.#newlyBroken
    this.#newlyBroken = []
    return failures
  }

  #read(metric: MetricName, read: () => number): number {
    try {
      return read()
    } catch (cause) {
      const whole = this.#whole
      whole.readFailures++
      if (!whole.#broken.has(metric)) {
        whole.#broken.add(metric)
        whole.#newlyBroken.push({ metric, cause })
      }
      return Number.NaN
    }
  }

  #registerCounter(name: NameOf<"counter">, labels: Labels = {}, count: () => number): void {
    const series = seriesOf(this.#numbers, name, labels, () => {
      const made = new NumberSeries(name, labels)
      const metric = Metric.counter(name, { ...optionsOf(name, labels), incremental: true })
      const get = () => ({ count: made.value, incremental: true })
      Metric.registerUnsafe(metric, this.context, hooksOf(get))
      return made
    })
    const read = () => this.#read(name, count)
    this.#removals.push(series.addCounter(read, this.#whole === this ? 0 : read()))
  }
}

const optionsOf = (name: MetricName, labels: object | undefined) => {
  const { help }: MetricKind = catalogue[name]
  const unit = /_(seconds|bytes)(_total)?$/.exec(name)?.[1]
  // Prometheus does not show `unit`, since names have it; OTLP does.
  return { description: help, attributes: { ...labels, ...(unit !== undefined && { unit }) } }
}

const hooksOf = <State>(get: () => State) => ({ get, update: () => {}, modify: () => {} })
