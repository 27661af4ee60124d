/**
 * Counts the members of a JSON value that a program reads: a measure of its work that does not
 * depend on the processor.
 */

export interface Watched {
  readonly value: unknown
  /** The number of members and items that were read or tested so far. */
  readonly visits: () => number
}

/** `value`, a result of `JSON.parse`, with counting proxies at every depth. */
export const watched = (value: unknown): Watched => {
  let visits = 0
  const watch = (member: unknown): unknown => {
    if (typeof member !== "object" || member === null) return member
    return new Proxy(member, {
      get: (target, key) => {
        if (typeof key === "string" && key !== "length" && Object.hasOwn(target, key)) visits++
        // Inherited array methods, such as slice, read the items through the proxy.
        return watch(Reflect.get(target, key))
      },
      getOwnPropertyDescriptor: (target, key) => {
        visits++
        return Reflect.getOwnPropertyDescriptor(target, key)
      },
    })
  }
  return { value: watch(value), visits: () => visits }
}
