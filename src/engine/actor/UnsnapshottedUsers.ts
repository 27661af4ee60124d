/**
 * The users of an environment that no snapshot may have yet: those created since the last one began. They are
 * kept by generation, so that a snapshot that ends lets go of all that it has at once. One that fails leaves
 * them where they are. A user may be here and in the snapshot: who reads both tells by the id.
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
