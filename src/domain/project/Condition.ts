/** Conditions of rules, quest steps and badges on an event's metadata. */
import type { Metadata } from "../values/Metadata.ts"

export const conditionOperators = [
  "eq",
  "ne",
  "gt",
  "gte",
  "lt",
  "lte",
  "in",
  "exists",
  "contains",
] as const
export type ConditionOperator = (typeof conditionOperators)[number]

/**
 * `path` is a dotted path inside the metadata: `amount`, `cart.total`, `items.0.price`. `value` is the operand
 * of the operator: a scalar for `eq ne contains`, a number or a string for `gt gte lt lte`, a list
 * of scalars for `in`, a boolean (default true) for `exists`.
 */
export interface Condition {
  readonly path: string
  readonly op: ConditionOperator
  readonly value?: ConditionValue
}

export type Scalar = string | number | boolean | null
export type ConditionValue = Scalar | ReadonlyArray<Scalar>

/** The value at `path`, by own members only; `undefined` if absent. */
export const valueAt = (metadata: Metadata | undefined, path: string): unknown =>
  valueAtNames(metadata, path.split("."))

/** The value at the path of these names. */
export const valueAtNames = (
  metadata: Metadata | undefined,
  names: ReadonlyArray<string>,
): unknown => {
  let value: unknown = metadata
  for (const name of names) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined
    // An own member of a list, but not of its JSON.
    if (name === "length" && Array.isArray(value)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

/** Whether a condition holds for the value at its path. */
export type Test = (found: unknown) => boolean

/** Whether all conditions hold for the metadata of an event. */
export type Where = (metadata: Metadata | undefined) => boolean

/** For one definition and many events; for one event and many definitions see `Matcher.ts`. */
export const compileWhere = (conditions: ReadonlyArray<Condition>): Where => {
  const compiled = conditions.map((condition) => ({
    names: condition.path.split("."),
    test: testOf(condition),
  }))
  return (metadata) => compiled.every(({ names, test }) => test(valueAtNames(metadata, names)))
}

/** The test of a condition; where something is missing, only `ne` and `exists: false` hold. */
export const testOf = ({ op, value }: Condition): Test => {
  switch (op) {
    case "exists": {
      const wanted = value ?? true
      return (found) => (found !== undefined) === wanted
    }
    case "eq":
      return (found) => found === value
    case "ne":
      return (found) => found !== value
    case "in": {
      if (!Array.isArray(value)) return never
      if (value.length <= listedMax) return (found) => value.includes(found as Scalar)
      const values = new Set<unknown>(value)
      return (found) => values.has(found)
    }
    case "contains":
      return (found) => {
        if (typeof found === "string") return typeof value === "string" && found.includes(value)
        return Array.isArray(found) && found.includes(value)
      }
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return orderTest(op, value)
  }
}

/** A linear search of so few values is as fast as a set. */
const listedMax = 8

const never: Test = () => false

/** Orders numbers by size, strings by code unit (so ISO dates by time); false for all other values. */
const orderTest = (op: "gt" | "gte" | "lt" | "lte", value: Condition["value"]): Test => {
  const kind = typeof value
  if (kind !== "number" && kind !== "string") return never
  const limit = value as number
  // Strings compare like numbers here; `typeof` keeps the two apart.
  switch (op) {
    case "gt":
      return (found) => typeof found === kind && (found as number) > limit
    case "gte":
      return (found) => typeof found === kind && (found as number) >= limit
    case "lt":
      return (found) => typeof found === kind && (found as number) < limit
    case "lte":
      return (found) => typeof found === kind && (found as number) <= limit
  }
}
