/** Conditions on an event's metadata, as rules, quest steps and badges carry them. */
import type { Metadata } from "./Record.ts"

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
 * `path` is a dotted path inside the metadata: `amount`, `cart.total`, `items.0.price`. `value` is what
 * the operator compares with: a scalar for `eq ne contains`, a number or a string for `gt gte lt lte`, a list
 * of scalars for `in`, a boolean (default true) for `exists`.
 */
export interface Condition {
  readonly path: string
  readonly op: ConditionOperator
  readonly value?: ConditionValue
}

export type Scalar = string | number | boolean | null
export type ConditionValue = Scalar | ReadonlyArray<Scalar>

/** What stands at `path`; `undefined` where there is nothing. Only own members count. */
export const valueAt = (metadata: Metadata | undefined, path: string): unknown => {
  let value: unknown = metadata
  for (const key of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined
    // The one member that a list has of its own and JSON does not.
    if (key === "length" && Array.isArray(value)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

/** Whether all of `conditions` hold for `metadata`; where something is missing, only `ne` and `exists: false` do. */
export const holds = (
  conditions: ReadonlyArray<Condition>,
  metadata: Metadata | undefined,
): boolean => conditions.every((condition) => holdsOne(condition, metadata))

const holdsOne = ({ op, path, value }: Condition, metadata: Metadata | undefined): boolean => {
  const found = valueAt(metadata, path)
  switch (op) {
    case "exists":
      return (found !== undefined) === (value ?? true)
    case "eq":
      return found === value
    case "ne":
      return found !== value
    case "in":
      return Array.isArray(value) && value.includes(found as Scalar)
    case "contains":
      if (typeof found === "string") return typeof value === "string" && found.includes(value)
      return Array.isArray(found) && found.includes(value)
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      return isOrdered(op, found, value)
  }
}

/** Numbers by size, strings by code unit (so ISO dates by time); anything else is never in order. */
const isOrdered = (
  op: "gt" | "gte" | "lt" | "lte",
  found: unknown,
  value: Condition["value"],
): boolean => {
  if (typeof found === "number" ? typeof value !== "number" : typeof value !== "string")
    return false
  if (typeof found !== "number" && typeof found !== "string") return false
  const limit = value as number | string
  switch (op) {
    case "gt":
      return found > limit
    case "gte":
      return found >= limit
    case "lt":
      return found < limit
    case "lte":
      return found <= limit
  }
}
