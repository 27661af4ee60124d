/**
 * The numbers of a metric under one set of labels. Each part of a process that has the metric, such as each engine of a
 * cluster's runner, gives its own number; the process shows one. A counter never goes back: it keeps what a former part has
 * counted, and begins at the number that a part had when it came.
 */
import { type Combined, catalogue, type MetricName } from "./Catalogue.ts"
import { Histogram } from "./Histogram.ts"

export type Labels = Readonly<Record<string, string>>

/** A counter or a gauge. */
export class NumberSeries {
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

export class HistogramSeries {
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
