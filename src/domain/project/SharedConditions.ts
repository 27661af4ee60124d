/**
 * The distinct conditions of all definitions of one action. Per event, between `begin` and `end`, each path is looked up
 * and each condition evaluated at most once.
 *
 * After a change of definitions the next index reuses these conditions and compiles only new ones. Unused conditions may
 * stay in memory, at most as many as used ones.
 */
import type { Metadata } from "../values/Metadata.ts"
import { type Condition, type Test, testOf, valueAtNames } from "./Condition.ts"

/** A path, and its value in the event of this number. */
export interface SharedPath {
  readonly names: ReadonlyArray<string>
  readonly conditions: Map<Condition["op"], Map<unknown, SharedCondition>>
  event: number
  found: unknown
}

/** A condition, and its result for the event of this number. */
export interface SharedCondition {
  readonly condition: Condition
  readonly path: SharedPath
  /** Compiled when first needed, which an equality in front may prevent. */
  test: Test | undefined
  /** The number of definitions that have or had it. */
  uses: number
  event: number
  holds: boolean
}

export class SharedConditions {
  /**
   * Work for the current event: 1 per condition evaluated, about 40 ns, plus 1 per 16 code units that a `contains`
   * searched: the worst case of a hostile text, and ten times the usual cost.
   */
  work = 0
  readonly #paths = new Map<string, SharedPath>()
  readonly #looked: Array<SharedPath> = []
  readonly #shared = new WeakMap<ReadonlyArray<Condition>, ReadonlyArray<SharedCondition>>()
  /** The number of distinct conditions, unused ones included. */
  #size = 0
  #event = 0
  #metadata: Metadata | undefined

  /** Whether most conditions are unused, given the number of conditions that definitions have now. */
  isStale(conditions: number): boolean {
    return this.#size > 2 * conditions + staleMin
  }

  /** The shared conditions equal to those of one definition. */
  share(where: ReadonlyArray<Condition>): ReadonlyArray<SharedCondition> {
    let shared = this.#shared.get(where)
    if (shared === undefined) {
      shared = where.map((condition) => this.#share(condition))
      this.#shared.set(where, shared)
    }
    return shared
  }

  #share(condition: Condition): SharedCondition {
    const { op, value } = condition
    const path = this.#path(condition.path)
    let sameOperator = path.conditions.get(op)
    if (sameOperator === undefined) {
      sameOperator = new Map()
      path.conditions.set(op, sameOperator)
    }
    const key = op === "in" ? JSON.stringify(value) : value
    let shared = sameOperator.get(key)
    if (shared === undefined) {
      shared = { condition, path, test: undefined, uses: 0, event: 0, holds: false }
      sameOperator.set(key, shared)
      this.#size++
    }
    shared.uses++
    return shared
  }

  #path(path: string): SharedPath {
    let shared = this.#paths.get(path)
    if (shared === undefined) {
      shared = { names: path.split("."), conditions: new Map(), event: 0, found: undefined }
      this.#paths.set(path, shared)
    }
    return shared
  }

  /** Starts the next event. */
  begin(metadata: Metadata | undefined): void {
    this.#event++
    this.#metadata = metadata
    this.work = 0
  }

  /** Releases the event. */
  end(): void {
    this.#metadata = undefined
    for (const path of this.#looked) path.found = undefined
    this.#looked.length = 0
  }

  valueAt(path: SharedPath): unknown {
    if (path.event !== this.#event) {
      path.event = this.#event
      path.found = valueAtNames(this.#metadata, path.names)
      this.#looked.push(path)
    }
    return path.found
  }

  holds(shared: SharedCondition): boolean {
    if (shared.event !== this.#event) {
      shared.event = this.#event
      const found = this.valueAt(shared.path)
      this.work++
      if (shared.condition.op === "contains") this.work += lengthOf(found) >>> 4
      shared.test ??= testOf(shared.condition)
      shared.holds = shared.test(found)
    }
    return shared.holds
  }
}

const staleMin = 1_000

const lengthOf = (found: unknown): number =>
  typeof found === "string" || Array.isArray(found) ? found.length : 0
