/**
 * Finds the definitions whose conditions an event satisfies. Each definition is filed under its rarest equality
 * (`eq`, or `in` with few values), by path and value; only definitions without an equality are tried for every event.
 */
import type { Condition, Scalar } from "./Condition.ts"
import type { SharedCondition, SharedConditions, SharedPath } from "./SharedConditions.ts"

/** A definition, its place in the order of creation, and its conditions beside the equality it is filed under. */
interface Clause<A> {
  readonly place: number
  readonly item: A
  readonly rest: ReadonlyArray<SharedCondition>
}

/** An `in` with more values is not filed: filing would take longer than trying it. */
const filedValuesMax = 8

export class Matcher<A> {
  readonly #items: ReadonlyArray<A>
  readonly #conditions: SharedConditions
  readonly #unfiled: Array<Clause<A>> = []
  readonly #filed = new Map<SharedPath, Map<Scalar, Array<Clause<A>>>>()
  readonly #unconditional: boolean

  /** `items` in the order of creation. */
  constructor(
    items: ReadonlyArray<A>,
    whereOf: (item: A) => ReadonlyArray<Condition>,
    conditions: SharedConditions,
  ) {
    this.#items = items
    this.#conditions = conditions
    this.#unconditional = items.every((item) => whereOf(item).length === 0)
    if (this.#unconditional) return
    const shared = items.map((item) => conditions.share(whereOf(item)))
    for (const [place, item] of items.entries()) this.#file(item, place, shared[place]!)
  }

  #file(item: A, place: number, where: ReadonlyArray<SharedCondition>): void {
    let equality: SharedCondition | undefined
    for (const one of where) {
      if (equalityValues(one.condition) === undefined) continue
      if (equality === undefined || one.uses < equality.uses) equality = one
    }
    if (equality === undefined) {
      this.#unfiled.push({ place, item, rest: where })
      return
    }
    const clause = { place, item, rest: where.filter((one) => one !== equality) }
    let byValue = this.#filed.get(equality.path)
    if (byValue === undefined) {
      byValue = new Map()
      this.#filed.set(equality.path, byValue)
    }
    for (const value of equalityValues(equality.condition)!) {
      const clauses = byValue.get(value)
      if (clauses === undefined) byValue.set(value, [clause])
      else clauses.push(clause)
    }
  }

  /** The definitions whose conditions hold for the current event of the conditions, in the order of creation. */
  matching(): ReadonlyArray<A> {
    if (this.#unconditional) return this.#items
    const conditions = this.#conditions
    const lists: Array<ReadonlyArray<Clause<A>>> = []
    if (this.#unfiled.length > 0) lists.push(this.#unfiled)
    for (const [path, byValue] of this.#filed) {
      conditions.work++
      const clauses = byValue.get(conditions.valueAt(path) as Scalar)
      if (clauses !== undefined) lists.push(clauses)
    }
    if (lists.length === 1) return this.#hold(lists[0]!).map(({ item }) => item)
    return lists
      .flatMap((clauses) => this.#hold(clauses))
      .sort((one, other) => one.place - other.place)
      .map(({ item }) => item)
  }

  #hold(clauses: ReadonlyArray<Clause<A>>): Array<Clause<A>> {
    const conditions = this.#conditions
    conditions.work += clauses.length
    return clauses.filter(({ rest }) => {
      for (const one of rest) if (!conditions.holds(one)) return false
      return true
    })
  }
}

/** The values that satisfy the condition, if it is an equality with few values. */
const equalityValues = ({ op, value }: Condition): ReadonlyArray<Scalar> | undefined => {
  if (op === "eq") return isScalar(value) ? [value] : undefined
  if (op !== "in" || !Array.isArray(value) || value.length > filedValuesMax) return undefined
  return [...new Set<Scalar>(value)]
}

const isScalar = (value: Condition["value"]): value is Scalar =>
  value !== undefined && !Array.isArray(value)
