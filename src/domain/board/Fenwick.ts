/**
 * A row of counts with fast prefix sums (a Fenwick tree). Changing a count, summing those before a position
 * and finding the position that holds the n-th thing are O(log n); inserting or removing a position
 * rebuilds the tree, O(n) over contiguous memory, which is fine where that is rare.
 */
export class Fenwick {
  #length = 0
  #counts = new Uint32Array(8)
  /** One-based: node i holds the sum of the `i & -i` counts that end at position i - 1. */
  #tree = new Uint32Array(9)

  /** How many positions there are. */
  get length(): number {
    return this.#length
  }

  /** The count at `position`. */
  at(position: number): number {
    return this.#counts[position]!
  }

  /** Adds `delta` to the count at `position`. */
  add(position: number, delta: number): void {
    this.#counts[position]! += delta
    const tree = this.#tree
    for (let node = position + 1; node <= this.#length; node += node & -node) tree[node]! += delta
  }

  /** The sum of the counts before `position`. */
  before(position: number): number {
    const tree = this.#tree
    let sum = 0
    for (let node = position; node > 0; node &= node - 1) sum += tree[node]!
    return sum
  }

  /** The position that holds thing number `offset` (from 0) when all counts are laid end to end; `length` when past the end. */
  find(offset: number): number {
    const tree = this.#tree
    let node = 0
    let left = offset
    for (let step = 1 << (31 - Math.clz32(this.#length | 1)); step > 0; step >>= 1) {
      const next = node + step
      if (next <= this.#length && tree[next]! <= left) {
        node = next
        left -= tree[next]!
      }
    }
    return node
  }

  /** Makes room at `position` for a new count; those from there on move up by one. */
  insert(position: number, count: number): void {
    if (this.#length === this.#counts.length) {
      const counts = new Uint32Array(this.#length * 2)
      counts.set(this.#counts)
      this.#counts = counts
      this.#tree = new Uint32Array(this.#length * 2 + 1)
    }
    this.#counts.copyWithin(position + 1, position, this.#length)
    this.#counts[position] = count
    this.#length++
    this.#rebuild()
  }

  /** Takes the count at `position` out; those after it move down by one. */
  remove(position: number): void {
    this.#counts.copyWithin(position, position + 1, this.#length)
    this.#length--
    this.#rebuild()
  }

  /** Replaces everything. */
  reset(counts: Uint32Array): void {
    const capacity = Math.max(8, counts.length)
    this.#length = counts.length
    this.#counts = new Uint32Array(capacity)
    this.#counts.set(counts)
    this.#tree = new Uint32Array(capacity + 1)
    this.#rebuild()
  }

  #rebuild(): void {
    const tree = this.#tree
    const length = this.#length
    tree.set(this.#counts.subarray(0, length), 1)
    for (let node = 1; node <= length; node++) {
      const parent = node + (node & -node)
      if (parent <= length) tree[parent]! += tree[node]!
    }
  }
}
