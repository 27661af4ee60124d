/**
 * The conditions of all definitions of one action, each of them once, however many definitions have it. For an event,
 * between `begin` and `end`, a path is looked up at most once, and a condition is evaluated at most once.
 *
 * When a definition changes, the next index goes on with the conditions of the one before, so that only what is new
 * is compiled; of what is gone, as much as is there may stay in memory.
 */
import type { Metadata } from "../values/Metadata.ts"
import { type Condition, type Test, testOf, valueAtNames } from "./Condition.ts"

/** A path, and what the event of this number has there. */
export interface SharedPath {
  readonly names: ReadonlyArray<string>
  readonly conditions: Map<Condition["op"], Map<unknown, SharedCondition>>
  event: number
  found: unknown
}

/** A condition, and whether it holds for the event of this number. */
export interface SharedCondition {
  readonly condition: Condition
  readonly path: SharedPath
  /** Made when it is first needed: with an equality in front, that may be never. */
  test: Test | undefined
  /** How many definitions have it, or had it. */
  uses: number
  event: number
  holds: boolean
}

export class SharedConditions {
  /**
   * What was done for the event so far: 1 for each condition evaluated, some 40 ns, and 1 more for every 16 units of
   * what a `contains` looked through: as much as it takes where the text is made for that, a tenth of it as a rule.
   */
  work = 0
  readonly #paths = new Map<string, SharedPath>()
  readonly #looked: Array<SharedPath> = []
  readonly #shared = new WeakMap<ReadonlyArray<Condition>, ReadonlyArray<SharedCondition>>()
  /** How many different conditions there are, with those that no definition has any more. */
  #size = 0
  #event = 0
  #metadata: Metadata | undefined

  /** Whether most of what is here is gone, where definitions have so many conditions. */
  isStale(conditions: number): boolean {
    return this.#size > 2 * conditions + staleMin
  }

  /** The conditions that are the same as these of one definition. */
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

  /** The next event. */
  begin(metadata: Metadata | undefined): void {
    this.#event++
    this.#metadata = metadata
    this.work = 0
  }

  /** Keeps nothing of the event in memory. */
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
