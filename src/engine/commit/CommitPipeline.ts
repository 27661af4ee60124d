/**
 * The path of a durable record: named stages, in this order, for one record after the other. Parts of the
 * engine subscribe to a stage when they are made; the place of a stage, with its reason, is stated here alone.
 *
 * A stage runs inside the commit of a batch, up to `commitTurnRecordsMax` records in a turn of the event loop: it is
 * synchronous, must not throw, and leaves long work to a fiber.
 * Recovery runs the stages up to `erasure` for the records that it finds in the journal.
 */
export const commitStages = [
  /** Counts and the list of users, which no later stage reads. */
  "counts",
  /** The answer is kept under its key, so that no caller finds the key free again. */
  "idempotency",
  /** The record joins those that await the next snapshot; the actor's list of durable records begins with it. */
  "snapshot",
  /** An erasure hides all records before it: before the actor's state does, so that no reader finds one without the other. */
  "erasure",
  /** The actor's durable state follows, and with it boards and agenda. All that comes later reads it. */
  "actor",
  /** Closes windows by the new settings of a project. */
  "windows",
  /** Streams and webhooks. */
  "feed",
  /** Starts the run of a badge. */
  "backfills",
  /** Tests that watch. */
  "observer",
  /** The answer. Last, since the caller may resume at once, in the middle of the batch. */
  "caller",
] as const

export type CommitStage = (typeof commitStages)[number]

/** Called after each batch that is in the journal: how many records it has, their bytes, and how long the disk took. */
type Written = (records: number, bytes: number, durationMs: number) => void

export class CommitPipeline<Entry> {
  readonly #stages = new Map<CommitStage, (entry: Entry) => void>()
  #inOrder: ReadonlyArray<(entry: Entry) => void> = []
  readonly #whenStalled: Array<(entry: Entry) => void> = []
  readonly #whenWritten: Array<Written> = []

  /** Sets what a stage does; a stage without a subscriber does nothing. */
  on(stage: CommitStage, run: (entry: Entry) => void): void {
    this.#stages.set(stage, run)
    this.#inOrder = commitStages.flatMap((name) => this.#stages.get(name) ?? [])
  }

  /** These records are durable, in the order of their sequences. */
  readonly committed = (entries: ReadonlyArray<Entry>): void => {
    for (const entry of entries) for (const run of this.#inOrder) run(entry)
  }

  /** Calls back for each record whose caller has waited too long for a full disk, at each retry. */
  onStalled(run: (entry: Entry) => void): void {
    this.#whenStalled.push(run)
  }

  onWritten(run: Written): void {
    this.#whenWritten.push(run)
  }

  readonly stalled = (entries: ReadonlyArray<Entry>): void => {
    for (const entry of entries) for (const run of this.#whenStalled) run(entry)
  }

  readonly written: Written = (...batch) => {
    for (const run of this.#whenWritten) run(...batch)
  }
}
