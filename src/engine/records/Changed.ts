/**
 * What changed since the last snapshot began, by name, for the rows that a snapshot has as of its watermark.
 *
 * Invariant: a change is written by each snapshot that begins after it, until one of them has ended. A snapshot that
 * failed leaves its changes to the next.
 *
 * Cost: an entry of a map for each change. A snapshot begins with an exchange of two maps.
 */
export class Changed<A> {
  #latest = new Map<string, A>()
  /** Of the snapshot that is being written. */
  #written = new Map<string, A>()

  /** The latest change of a name replaces those before. */
  note(name: string, change: A): void {
    this.#latest.set(name, change)
  }

  /** A snapshot begins. Returns the changes that it writes; later ones are not among them. */
  begin(): ReadonlyMap<string, A> {
    const changes = this.#latest
    for (const [name, change] of this.#written) {
      if (!changes.has(name)) changes.set(name, change)
    }
    this.#latest = new Map()
    this.#written = changes
    return changes
  }

  /** The snapshot that began last has ended. */
  ended(): void {
    this.#written = new Map()
  }
}
