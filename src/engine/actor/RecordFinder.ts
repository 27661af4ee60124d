import type { Effect } from "effect"
import type { HistoryNeeded, Past } from "../../domain/record/Past.ts"
import type { JournalRecord, Subject } from "../../domain/record/Record.ts"
import type { Broken } from "../../storage/Storage.ts"
import type { AnyActor } from "./Actor.ts"

/** Finds the earlier records that an actor's next command needs. `UserHistory` implements it. */
export interface RecordFinder {
  /**
   * The actor's durable record with this sequence; `undefined`: there is none, or it was erased.
   */
  readonly findForActor: (
    subject: Subject,
    sequence: number,
  ) => Effect.Effect<JournalRecord | undefined, Broken>
  /** The history that a decision needs, from the actor's records, durable or not. */
  readonly recallForActor: (
    actor: RecallingActor,
    needed: HistoryNeeded,
  ) => Effect.Effect<Past, Broken>
}

/** The parts of an actor that lead to its records. */
export type RecallingActor = Pick<AnyActor, "kind" | "state" | "subject">
