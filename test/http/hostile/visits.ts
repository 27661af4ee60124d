/** Counts what a program looks at of a JSON value: a measure of its work that no processor changes. */

export interface Watched {
  readonly value: unknown
  /** Members and items that were read or asked about so far. */
  readonly visits: () => number
}

/** `value` as `JSON.parse` made it, watched with all that it holds. */
export const watched = (value: unknown): Watched => {
  let visits = 0
  const watch = (member: unknown): unknown => {
    if (typeof member !== "object" || member === null) return member
    return new Proxy(member, {
      get: (target, key) => {
        if (typeof key === "string" && key !== "length" && Object.hasOwn(target, key)) visits++
        // Methods that arrays inherit, such as slice, read their items through the proxy.
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
