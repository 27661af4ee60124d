import type { Effect } from "effect"
import type { HistoryNeeded, Past } from "../../domain/record/Past.ts"
import type { JournalRecord, Subject } from "../../domain/record/Record.ts"
import type { Broken } from "../../storage/Storage.ts"

/** Finds the records of actors. */
export interface RecordFinder {
  /** The durable record with this sequence, for its own actor's next command; `undefined` also where it was erased. */
  readonly findForActor: (
    subject: Subject,
    sequence: number,
  ) => Effect.Effect<JournalRecord | undefined, Broken>
  /** What a decision of the actor lacks, from its records, durable or not. */
  readonly recallForActor: (
    actor: RecallingActor,
    needed: HistoryNeeded,
  ) => Effect.Effect<Past, Broken>
}

/** Of an actor, what leads to its records. */
export interface RecallingActor {
  readonly subject: Subject
  /** The sequence of the last record that its own next commands may find, 0 for none. */
  readonly lastVisible: number
}
