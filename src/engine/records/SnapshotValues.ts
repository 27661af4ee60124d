/** The values of projects and the directory in the snapshot. */
import { type Effect, Exit } from "effect"
import type { Subject } from "../../domain/record/Record.ts"
import { continueWith } from "../../storage/exitOf.ts"
import { compositeKey } from "../../storage/Keys.ts"
import type { Broken, Entry, Storage } from "../../storage/Storage.ts"
import { decodeValue } from "../../storage/Values.ts"

type Store = Storage["Service"]

type SharedSubject = Exclude<Subject, { readonly actor: "user" }>

/** The key of a project or the directory in the table `actors`. */
const actorKey = (subject: SharedSubject): Uint8Array =>
  subject.actor === "project"
    ? compositeKey("project", subject.environment)
    : compositeKey("directory")

export const actorEntry = (
  subject: SharedSubject,
  value: Uint8Array,
  replaces: Entry["replaces"],
): Entry => ({ table: "actors", key: actorKey(subject), value, replaces })

/**
 * The body of the value of a project or the directory; `undefined`: it has none. As with
 * `Storage.readEntry`, an exit if nothing must be waited for.
 */
export const readActorValue = (
  storage: Store,
  subject: SharedSubject,
): Effect.Effect<Uint8Array | undefined, Broken> => {
  const table = "actors"
  const key = actorKey(subject)
  return continueWith(storage.readEntry(table, key), (value) =>
    value === undefined ? Exit.succeed(undefined) : decodeValue(value, { table, key }),
  )
}
