/**
 * An actor's state put together from the snapshot's value and its own records after the watermark, whose texts are in
 * memory (`PendingRecords`) until the snapshot has them. The same for a cold actor, which has no such records, and for
 * one that failed. The journal is not read, so that neither its age, nor what was pruned of it, nor a batch that still
 * waits for the disk makes a difference.
 *
 * Cost: one look-up in the snapshot, and the actor's own records since the last one.
 */
import { Effect } from "effect"
import { exitOf } from "../../storage/exitOf.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import type { Erasures } from "../erasure/Erasures.ts"
import type { PendingRecords } from "../records/PendingRecords.ts"
import { readActorValue } from "../records/SnapshotValues.ts"
import type { Actor, AnyActor } from "./Actor.ts"

export interface LoadParts {
  readonly storage: Storage["Service"]
  readonly pending: PendingRecords
  readonly erasures: Erasures
}

/** Loads `actor`, in one turn once its value is read. A throw in decode or apply is a defect. */
export const loadActor = <State, Command>(
  parts: LoadParts,
  actor: Actor<State, Command>,
): Effect.Effect<void, Broken> =>
  Effect.suspend(() => {
    const { erasures, pending, storage } = parts
    const { watermark } = pending
    return Effect.flatMap(readActorValue(storage, actor.subject), (value) => {
      // A snapshot ended meanwhile: records are gone from memory which this value may lack.
      if (pending.watermark !== watermark) return loadActor(parts, actor)
      load(pending, erasures, actor, value)
      return Effect.void
    })
  })

/**
 * Loads `actor`; returns the bytes of its value, or `undefined` where that has to be waited for or can not be read. Throws
 * as `loadActor`.
 */
export const loadAtOnce = (
  { erasures, pending, storage }: LoadParts,
  actor: AnyActor,
): number | undefined => {
  const exit = exitOf(readActorValue(storage, actor.subject))
  if (exit?._tag !== "Success") return undefined
  load(pending, erasures, actor, exit.value)
  return exit.value?.length ?? 0
}

const load = <State, Command>(
  pending: PendingRecords,
  erasures: Erasures,
  actor: Actor<State, Command>,
  value: Uint8Array | undefined,
): void => {
  const { kind, lastDurable, lastVisible, subject } = actor
  const fold = (from: State, sequences: ReadonlyArray<number>): State =>
    sequences.reduce((state, sequence) => kind.apply(state, pending.decode(sequence)), from)
  const stored = value === undefined ? kind.empty : kind.decode(value)
  const erased =
    subject.actor === "user" ? erasures.throughOf(subject.environment, subject.userId) : 0
  const isErased = erased > 0 && kind.sequenceOf(stored) <= erased
  const after = Math.max(erased, kind.sequenceOf(stored))
  const durable = fold(isErased ? kind.empty : stored, pending.backFrom(lastDurable, after))
  // An erasure that is not durable yet counts for the actor's own next commands alone.
  const ahead = erasures.aheadOf(subject)
  const isErasing = ahead > Math.max(lastDurable, after)
  const state = fold(
    isErasing ? kind.empty : durable,
    pending.backFrom(lastVisible, isErasing ? ahead : Math.max(lastDurable, after)),
  )
  actor.resume(durable, state)
}
