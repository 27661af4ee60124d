/**
 * The users of an environment created since the last snapshot began, which it may lack. They are kept by generation: a
 * snapshot that ends drops its own at once, one that fails leaves them. A user may be both here and in the snapshot;
 * readers of both merge by id.
 */
export class UnsnapshottedUsers {
  /** Oldest first; the last one takes new ids. */
  #generations: Array<Set<string>> = [new Set()]

  add(userId: string): void {
    this.#generations.at(-1)!.add(userId)
  }

  /** A snapshot begins: it will have all that are here. */
  seal(): void {
    this.#generations.push(new Set())
  }

  /** The snapshot that began last has ended. */
  drop(): void {
    this.#generations = [this.#generations.at(-1)!]
  }

  /** Each id at least once; those added meanwhile may be missing. */
  *[Symbol.iterator](): Generator<string> {
    for (const generation of [...this.#generations]) yield* generation
  }
}
