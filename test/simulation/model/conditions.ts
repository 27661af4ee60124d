/** Conditions on metadata, in one plain sentence for each operator. */

import type { Condition } from "../../../src/domain/project/Definition.ts"
import type { Metadata } from "../../../src/domain/values/Metadata.ts"

/** The value at a dotted path of the JSON; `undefined`: none. */
export const find = (metadata: Metadata | undefined, path: string): unknown => {
  // Through its text, so that it has only the values of JSON.
  let here: unknown = metadata === undefined ? undefined : JSON.parse(JSON.stringify(metadata))
  for (const name of path.split(".")) {
    if (here === null || typeof here !== "object") return undefined
    here = new Map(Object.entries(here)).get(name)
  }
  return here
}

export const satisfies = (
  conditions: ReadonlyArray<Condition>,
  metadata: Metadata | undefined,
): boolean =>
  conditions.every((condition) => satisfiesOne(condition, find(metadata, condition.path)))

const satisfiesOne = ({ op, value }: Condition, found: unknown): boolean => {
  const comparable =
    (typeof found === "number" && typeof value === "number") ||
    (typeof found === "string" && typeof value === "string")
  switch (op) {
    case "exists":
      return value === false ? found === undefined : found !== undefined
    case "eq":
      return found !== undefined && found === value
    case "ne":
      return found === undefined || found !== value
    case "gt":
      return comparable && (found as number) > (value as number)
    case "gte":
      return comparable && (found as number) >= (value as number)
    case "lt":
      return comparable && (found as number) < (value as number)
    case "lte":
      return comparable && (found as number) <= (value as number)
    case "in":
      return Array.isArray(value) && value.some((one) => one === found)
    case "contains":
      if (typeof found === "string") return typeof value === "string" && found.includes(value)
      return Array.isArray(found) && found.some((one) => one === value)
  }
}
