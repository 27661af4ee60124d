import type { Cause } from "./Record.ts"

/** The deduplication key of a command, in the namespace of its kind; `undefined` if it has none. */
export const duplicateKey = (cause: Cause): string | undefined => {
  switch (cause.kind) {
    case "event":
      return cause.id === undefined ? undefined : `e${cause.id}`
    case "reward":
      return cause.id === undefined ? undefined : `r${cause.id}`
    case "spend":
      return cause.id === undefined ? undefined : `s${cause.id}`
    case "revocation":
      return `v${cause.sequence}`
    default:
      return undefined
  }
}
