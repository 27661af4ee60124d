/** A unique id, not a secret. Pages without https and React Native have no `randomUUID`. */
export const uniqueId = (): string =>
  globalThis.crypto?.randomUUID?.() ?? `${Math.random()}${Math.random()}`
