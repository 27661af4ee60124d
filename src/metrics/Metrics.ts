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
  catalogue,
  type LabelsOf,
  type MetricKind,
  type MetricName,
  type NameOf,
} from "./Catalogue.ts"

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

/** No arguments where a metric has no labels. */
type LabelArguments<Name extends MetricName> = keyof LabelsOf<Name> extends never
  ? []
  : [labels: LabelsOf<Name>]

/** Where they are served, and exported from. */
export const prometheusContentType = "text/plain; version=0.0.4; charset=utf-8"

type Labels = Readonly<Record<string, string>>

interface Labelled<A> {
  readonly labels: Labels
  readonly of: A
}

/** Returns what takes it away again. */
const addTo = <A>(
  all: Map<MetricName, Array<Labelled<A>>>,
  name: MetricName,
  labels: Labels = {},
  of: A,
): (() => void) => {
  const added = { labels, of }
  const found = all.get(name)
  if (found === undefined) all.set(name, [added])
  else found.push(added)
  return () => {
    const left = all.get(name)!.filter((each) => each !== added)
    all.set(name, left)
  }
}

const matching = <A>(
  all: ReadonlyMap<MetricName, ReadonlyArray<Labelled<A>>>,
  name: MetricName,
  wanted: Labels,
): ReadonlyArray<A> =>
  (all.get(name) ?? [])
    .filter(({ labels }) => Object.entries(wanted).every(([key, text]) => labels[key] === text))
    .map(({ of }) => of)

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
  /** The value of each metric for each set of its labels. */
  readonly #numbers: Map<MetricName, Array<Labelled<() => number>>>
  readonly #histograms: Map<MetricName, Array<Labelled<Histogram>>>
  readonly #whole: Metrics
  readonly #removals: Array<() => void> = []

  /** Of `whole`: its metrics are among those, until `remove` takes them away. */
  constructor(whole?: Metrics) {
    this.#whole = whole ?? this
    const isPart = whole !== undefined
    this.context = isPart ? whole.context : Context.make(Metric.MetricRegistry, new Map())
    this.#numbers = isPart ? whole.#numbers : new Map()
    this.#histograms = isPart ? whole.#histograms : new Map()
  }

  /** Takes away all that were registered here. */
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
    ...[labels]: LabelArguments<Name>
  ): void {
    const metric = Metric.gauge(name, optionsOf(name, labels))
    const hooks = hooksOf(() => ({ value: this.#read(name, read) }))
    this.#removals.push(
      addTo(this.#numbers, name, labels, () => this.#read(name, read)),
      Metric.registerUnsafe(metric, this.context, hooks).remove,
    )
  }

  histogram<Name extends NameOf<"histogram">>(
    name: Name,
    ...[labels]: LabelArguments<Name>
  ): Histogram {
    const { bounds } = catalogue[name]
    const histogram = new Histogram(bounds)
    const metric = Metric.histogram(name, { ...optionsOf(name, labels), boundaries: bounds })
    const hooks = hooksOf(() => histogram.state)
    this.#removals.push(
      addTo(this.#histograms, name, labels, histogram),
      Metric.registerUnsafe(metric, this.context, hooks).remove,
    )
    return histogram
  }

  /** The number of a counter or gauge now: the sum of those that have these labels; NaN where one cannot be read. */
  value<Name extends NameOf<"counter" | "gauge">>(
    name: Name,
    labels: Partial<LabelsOf<Name>> = {},
  ): number {
    let sum = 0
    for (const read of matching(this.#numbers, name, labels as Labels)) sum += read()
    return sum
  }

  /** How many observations each bucket of a histogram has, of all that have these labels; the last one is beyond all bounds. */
  observations<Name extends NameOf<"histogram">>(
    name: Name,
    labels: Partial<LabelsOf<Name>> = {},
  ): Float64Array {
    const counts = new Float64Array(catalogue[name].bounds.length + 1)
    for (const histogram of matching(this.#histograms, name, labels as Labels)) {
      histogram.addTo(counts)
    }
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

  #registerCounter(name: NameOf<"counter">, labels: Labels | undefined, read: () => number): void {
    const metric = Metric.counter(name, { ...optionsOf(name, labels), incremental: true })
    const hooks = hooksOf(() => ({ count: this.#read(name, read), incremental: true }))
    this.#removals.push(
      addTo(this.#numbers, name, labels, () => this.#read(name, read)),
      Metric.registerUnsafe(metric, this.context, hooks).remove,
    )
  }
}

const optionsOf = (name: MetricName, labels: object | undefined) => {
  const { help }: MetricKind = catalogue[name]
  const unit = /_(seconds|bytes)(_total)?$/.exec(name)?.[1]
  // Prometheus does not show `unit`, since names have it; OTLP does.
  return { description: help, attributes: { ...labels, ...(unit !== undefined && { unit }) } }
}

const hooksOf = <State>(get: () => State) => ({ get, update: () => {}, modify: () => {} })
