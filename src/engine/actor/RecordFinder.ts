import type { Effect } from "effect"
import type { JournalRecord, Subject } from "../../domain/record/Record.ts"
import type { Broken } from "../../storage/Storage.ts"

/** Finds the records of actors. */
export interface RecordFinder {
  /** The durable record with this sequence, for its own actor's next command; `undefined` also where it was erased. */
  readonly findForActor: (
    subject: Subject,
    sequence: number,
  ) => Effect.Effect<JournalRecord | undefined, Broken>
}
