/** The value of each actor in the snapshot. */
import { type Effect, Exit } from "effect"
import type { Subject } from "../../domain/record/Record.ts"
import { continueWith } from "../../storage/exitOf.ts"
import { compositeKey } from "../../storage/Keys.ts"
import type { Broken, Entry, Storage } from "../../storage/Storage.ts"
import { decodeValue } from "../../storage/Values.ts"

type Store = Storage["Service"]

const actorPlace = (
  subject: Subject,
): { readonly table: Entry["table"]; readonly key: Uint8Array } => {
  switch (subject.actor) {
    case "user":
      return { table: "users", key: compositeKey(subject.environment, subject.userId) }
    case "project":
      return { table: "actors", key: compositeKey("project", subject.environment) }
    case "directory":
      return { table: "actors", key: compositeKey("directory") }
  }
}

export const actorEntry = (
  subject: Subject,
  value: Uint8Array | null,
  replaces: Entry["replaces"],
): Entry => ({ ...actorPlace(subject), value, replaces })

/**
 * The body of an actor's value in the snapshot; `undefined`: it has none. As with
 * `Storage.readEntry`, an exit if nothing must be waited for.
 */
export const readActorValue = (
  storage: Store,
  subject: Subject,
): Effect.Effect<Uint8Array | undefined, Broken> => {
  const { table, key } = actorPlace(subject)
  return continueWith(storage.readEntry(table, key), (value) =>
    value === undefined ? Exit.succeed(undefined) : decodeValue(value, { table, key }),
  )
}
