import type { Cause, Revocable } from "./Record.ts"

/** The deduplication key of a command, in the namespace of its kind; `undefined` if it has none. */
export const duplicateKey = (cause: Cause): string | undefined => {
  switch (cause.kind) {
    case "event":
    case "reward":
    case "spend":
      return cause.id === undefined ? undefined : ownIdKey(cause.kind, cause.id)
    case "revocation":
      return `v${cause.sequence}`
    default:
      return undefined
  }
}

/** The deduplication key of an event, reward or spend with this id of the caller. */
export const ownIdKey = (kind: Revocable, id: string): string => `${keyPrefix[kind]}${id}`

const keyPrefix = { event: "e", reward: "r", spend: "s" } as const
