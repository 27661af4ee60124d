/** JSON merge patch (RFC 7396). The caller bounds the depth. */
import type { Metadata } from "./Metadata.ts"

/** JSON merge patch (RFC 7396). Bounds on depth are the caller's business. */

const isObject = (value: unknown): value is Metadata =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** `target` with the members of `patch` in place of its own: null removes one, objects are patched in turn. */
export const mergePatch = (target: Metadata, patch: Metadata): Metadata => {
  const members = new Map(Object.entries(target))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key)
    else if (isObject(value)) {
      const before = members.get(key)
      members.set(key, mergePatch(isObject(before) ? before : {}, value))
    } else members.set(key, value)
  }
  // Defines members rather than setting them, so that __proto__ is one like any other.
  return Object.fromEntries(members)
}
