/** Metadata as a whole, through a merge patch that names what changes. */
import { isDeepStrictEqual } from "node:util"
import type { Metadata } from "../../../domain/values/Metadata.ts"

const isObject = (value: unknown): value is Metadata =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The JSON merge patch (RFC 7396) that makes `after` of `before`. */
export const metadataPatch = (before: Metadata, after: Metadata): Metadata => {
  const removed = Object.keys(before)
    .filter((name) => !Object.hasOwn(after, name))
    .map((name) => [name, null] as const)
  const changed = Object.entries(after).flatMap(([name, value]) => {
    const old = Object.hasOwn(before, name) ? before[name] : undefined
    if (isDeepStrictEqual(old, value)) return []
    return [[name, isObject(value) && isObject(old) ? metadataPatch(old, value) : value] as const]
  })
  return Object.fromEntries([...removed, ...changed])
}

/** Whether `after` has a `null` that a merge patch cannot set: there it removes a member. */
export const hasNewNull = (before: unknown, after: Metadata): boolean =>
  Object.entries(after).some(([name, value]) => {
    const old = isObject(before) && Object.hasOwn(before, name) ? before[name] : undefined
    if (value === null) return old !== null
    return isObject(value) && hasNewNull(old, value)
  })
