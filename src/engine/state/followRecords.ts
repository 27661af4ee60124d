import type { JournalRecord } from "../../domain/record/Record.ts"
import type { AnyActor } from "../actor/Actor.ts"
import type { CommitPipeline } from "../commit/CommitPipeline.ts"
import type { EngineState } from "./EngineState.ts"

export interface DurableRecord {
  readonly actor: AnyActor
  readonly record: JournalRecord
}

/** Subscribes a state to the stages of each durable record, decided by its actor or found in the journal by recovery. */
export const followRecords = <Entry extends DurableRecord>(
  pipeline: CommitPipeline<Entry>,
  { changed, environments, idempotency }: EngineState,
): void => {
  pipeline.on("counts", ({ record }) => environments.durable(record))
  pipeline.on("idempotency", ({ record }) => idempotency.committed(record))
  pipeline.on("snapshot", ({ actor, record }) => changed.committed(actor, record.sequence))
}
