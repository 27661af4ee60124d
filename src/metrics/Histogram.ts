import type { Metric } from "effect"

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
