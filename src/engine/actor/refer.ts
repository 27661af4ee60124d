/** Finds the earlier record that a command is about: by its sequence, or by the caller's id. */
import { Effect } from "effect"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { Reference } from "../../domain/record/Reference.ts"
import type { Broken } from "../../storage/Storage.ts"
import type { Deduplicator } from "../dedupe/Deduplicator.ts"
import type { Actor, AnyActor } from "./Actor.ts"
import type { RecordFinder } from "./RecordFinder.ts"

export interface ReferParts {
  readonly deduplicator: Deduplicator
  readonly history: RecordFinder
}

interface Referring<Command> {
  /** The command about the record found. */
  readonly command: Command
  readonly key: string | undefined
  /** `undefined` also where an earlier command was about the record. */
  readonly found: JournalRecord | undefined
}

/** Runs in the actor's own turn: nothing is decided for the actor meanwhile. */
export const refer = Effect.fnUntraced(function* <State, Command>(
  actor: Actor<State, Command>,
  asked: Command,
  reference: Reference<Command>,
  parts: ReferParts,
): Effect.fn.Return<Referring<Command>, Broken> {
  const record = yield* findReferred(actor, reference, parts)
  const command = record === undefined ? asked : reference.about(record)
  const key = actor.kind.duplicateKey(command)
  if (record === undefined || key === undefined) return { command, key, found: record }
  const first = yield* firstOf(actor, key, parts)
  return { command, key, found: first === undefined ? record : undefined }
})

const findReferred = Effect.fnUntraced(function* (
  actor: AnyActor,
  { fits, key, sequence }: Pick<Reference<unknown>, "fits" | "key" | "sequence">,
  parts: ReferParts,
) {
  const named = yield* parts.history.findForActor(actor.subject, sequence)
  if (named !== undefined && fits(named)) return named
  return key === undefined ? undefined : yield* firstOf(actor, key, parts)
})

const firstOf = (
  actor: AnyActor,
  key: string,
  { deduplicator }: ReferParts,
): Effect.Effect<JournalRecord | undefined, Broken> => {
  const first = deduplicator.firstOf(actor, key)
  return Effect.isEffect(first) ? first : Effect.succeed(first)
}
