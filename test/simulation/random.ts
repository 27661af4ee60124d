// Used by several suites: extend, do not replace.
/** Seeded random numbers (mulberry32): the same seed gives the same run. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** A number from 0 (inclusive) to 1 (exclusive). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }

  /** An integer from `from` to `to`, both inclusive. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** The same items in a random order. */
  shuffled<A>(items: ReadonlyArray<A>): Array<A> {
    const rest = [...items]
    return items.map(() => rest.splice(this.integer(0, rest.length - 1), 1)[0]!)
  }

  pick<A>(choices: ReadonlyArray<A>): A {
    const choice = choices[this.integer(0, choices.length - 1)]
    if (choice === undefined) throw new Error("nothing to pick from")
    return choice
  }
}

/** The seeds of a suite: LAUREL_TEST_SEED, or LAUREL_TEST_RUNS (by default `count`) new ones. */
export const seeds = (count: number): ReadonlyArray<number> => {
  const asked = process.env.LAUREL_TEST_SEED
  if (asked !== undefined) return [Number(asked)]
  const length = Number(process.env.LAUREL_TEST_RUNS ?? count)
  return Array.from({ length }, () => Math.floor(Math.random() * 0x1_0000_0000))
}

/** `covering`, the seeds of runs in which all happens that a test asks for, and `count` random ones. */
export const seedsAfter = (
  covering: ReadonlyArray<number>,
  count: number,
): ReadonlyArray<number> =>
  process.env.LAUREL_TEST_SEED === undefined ? [...covering, ...seeds(count)] : seeds(count)

/** The secret of users' hashes in a run, so that the same seed gives the same buckets. */
export const hashSecretOf = (seed: number) => (): Uint8Array => {
  const random = new Random(seed)
  return Uint8Array.from({ length: 16 }, () => random.integer(0, 255))
}

/** A function that returns the numbers of `Random.next` for `seed`. */
export const randomOf = (seed: number): (() => number) => {
  const random = new Random(seed)
  return () => random.next()
}
