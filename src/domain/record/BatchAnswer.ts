/**
 * The kept answer to a batch: the outcome of each event or, if the caller asked only for them,
 * the counts and refusals of the reply. An outcome names the record of the event and no user, so the reply
 * to a repeat has nothing of users who were erased meanwhile.
 */
export type BatchAnswer =
  | { readonly outcomes: ReadonlyArray<BatchItemOutcome | BatchItemRefusal> }
  | { readonly summary: unknown }

/** `revoked`: the event was a duplicate of an event that was revoked before the batch. */
export interface BatchItemOutcome {
  readonly sequence: number
  readonly duplicate?: true
  readonly revoked?: true
}

/** A refused event, as the reply shows it after `ok`. */
export interface BatchItemRefusal {
  readonly status: number
}
