/** JSON merge patch (RFC 7396). The caller bounds the depth. */
import type { Metadata } from "./Metadata.ts"

const isObject = (value: unknown): value is Metadata =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** `target` with the members of `patch`: null removes a member, objects are patched recursively. */
export const mergePatch = (target: Metadata, patch: Metadata): Metadata => {
  const members = new Map(Object.entries(target))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key)
    else if (isObject(value)) {
      const before = members.get(key)
      members.set(key, mergePatch(isObject(before) ? before : {}, value))
    } else members.set(key, value)
  }
  // fromEntries defines members, so __proto__ is an ordinary one.
  return Object.fromEntries(members)
}
