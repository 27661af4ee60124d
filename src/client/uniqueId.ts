/** Unique, not a secret. `randomUUID` lacks outside of secure pages and in React Native. */
export const uniqueId = (): string =>
  globalThis.crypto?.randomUUID?.() ?? `${Math.random()}${Math.random()}`
