/** Reads values at JSON Pointers (RFC 6901). */

/** The text of a pointer: empty, or steps that begin with `/`, with `~` only as `~0` or `~1`. */
export const jsonPointerPattern = /^(\/([^~/]|~[01])*)*$/

/**
 * The value at a pointer, or `undefined` where the value has none. Inherited members count as absent.
 *
 *     valueAt({ a: [1, 2] }, "/a/1") // 2
 */
export const valueAt = (value: unknown, pointer: string): unknown => {
  if (pointer === "") return value
  let found = value
  for (const step of pointer.slice(1).split("/")) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~")
    if (typeof found !== "object" || found === null) return undefined
    // The length of a list is no member of it.
    if (Array.isArray(found) && !/^(0|[1-9]\d*)$/.test(key)) return undefined
    if (!Object.hasOwn(found, key)) return undefined
    found = (found as Record<string, unknown>)[key]
  }
  return found
}
