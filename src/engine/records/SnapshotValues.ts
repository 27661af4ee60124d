/** The values of projects and the directory in the snapshot. */
import { Effect } from "effect"
import type { Subject } from "../../domain/record/Record.ts"
import { compositeKey, type KeyRange, keyParts, rangeOf } from "../../storage/Keys.ts"
import type { Broken, Entry, Storage } from "../../storage/Storage.ts"
import { eachBody } from "../../storage/Values.ts"

type Store = Storage["Service"]

type KeyParts = ReturnType<typeof keyParts>

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

/** The bodies of the value of an actor, and of the chunks beside it (`TeamBytes.ts`) by number. */
export interface StoredActor {
  readonly body: Uint8Array
  readonly chunks: ReadonlyArray<readonly [number: number, body: Uint8Array]>
}

/** The stored actors of a range of the table `actors`, in the order of their keys. */
export const readActors = (
  storage: Store,
  range: KeyRange,
): Effect.Effect<ReadonlyArray<StoredActor & { readonly key: KeyParts }>, Broken> => {
  const actors: Array<StoredActor & { readonly key: KeyParts }> = []
  const read = eachBody(storage, { table: "actors", ...range }, (bytes, body) => {
    const key = keyParts(bytes)
    const [, , number] = key
    if (number === undefined) actors.push({ key, body, chunks: [] })
    // A chunk comes behind the value of its project.
    else (actors.at(-1)!.chunks as Array<unknown>).push([number, body])
  })
  return Effect.as(read, actors)
}

/** The stored value of a project or the directory; `undefined`: it has none. */
export const readActorValue = (
  storage: Store,
  subject: SharedSubject,
): Effect.Effect<StoredActor | undefined, Broken> =>
  Effect.map(readActors(storage, rangeOf(actorKey(subject))), ([stored]) => stored)
