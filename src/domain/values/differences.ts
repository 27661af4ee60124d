/**
 * Compares two JSON values and names the places where they differ, as JSON Pointers (RFC 6901).
 *
 * Numbers are compared by value, and the order of members does not matter. A member that is
 * `undefined` is absent. A pointer names a member that only one value has, or the innermost member
 * whose values differ; items of lists are compared by place.
 *
 * Cost: one visit of each member, at most until there are `most` pointers.
 */
import { limits } from "../../Limits.ts"
import { pointerToken } from "./jsonPointer.ts"

/** The first `most` differences: members of `value` in their order, then those of `other` alone. */
export const differences = (
  value: unknown,
  other: unknown,
  most: number,
): ReadonlyArray<string> => {
  const found: Array<string> = []
  compare(value, other, "", most, found)
  return found
}

type Members = Readonly<Record<string, unknown>>

const compare = (
  value: unknown,
  other: unknown,
  pointer: string,
  most: number,
  found: Array<string>,
): void => {
  if (value === other || found.length >= most) return
  if (!isObject(value) || !isObject(other) || Array.isArray(value) !== Array.isArray(other)) {
    found.push(pointer)
    return
  }
  for (const key of Object.keys(value)) {
    if (found.length >= most) return
    const mine = value[key]
    // A member that `other` inherits, such as `constructor`, is none of its own.
    const theirs = Object.hasOwn(other, key) ? other[key] : undefined
    if (mine !== theirs) compare(mine, theirs, pointer + pointerStep(key), most, found)
  }
  for (const key of Object.keys(other)) {
    if (found.length >= most) return
    if (!Object.hasOwn(value, key) && other[key] !== undefined)
      found.push(pointer + pointerStep(key))
  }
}

const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null

/** One step of a JSON Pointer. */
export const pointerStep = (key: PropertyKey): string => {
  let step = String(key)
  if (step.length > limits.pointerKeyCharactersMax) {
    step = `${step.slice(0, limits.pointerKeyCharactersMax)}…`
  }
  // A cut may leave half of a surrogate pair, and so may a caller.
  return `/${pointerToken(step.toWellFormed())}`
}
