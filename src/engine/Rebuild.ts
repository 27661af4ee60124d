import { Effect, Stream } from "effect"
import { sameSubject } from "../domain/Record.ts"
import type { Broken, Storage } from "../storage/Storage.ts"
import type { Actor } from "./Actor.ts"
import { decodeRecord } from "./Codec.ts"
import { readActorValue } from "./History.ts"

/**
 * Puts an actor's state together anew from disk, as recovery does: the snapshot's value and the fold of the
 * journal after it. All that the actor appended must be durable. Reads the whole journal since the last
 * snapshot, which is for the rare case of a defect.
 */
export const rebuildActor = <State, Command>(
  storage: Storage["Service"],
  watermark: number,
  actor: Actor<State, Command>,
): Effect.Effect<void, Broken> =>
  Effect.gen(function* () {
    const { kind, subject } = actor
    const value = yield* readActorValue(storage, subject)
    let state = value === undefined ? kind.empty : kind.decode(value)
    const from = Math.min(watermark, kind.sequenceOf(state)) + 1
    yield* Stream.runForEach(storage.readRecords(from), (records) =>
      Effect.sync(() => {
        for (const { body } of records) {
          const record = decodeRecord(body)
          if (!sameSubject(record.subject, subject)) continue
          if (record.sequence > kind.sequenceOf(state)) state = kind.apply(state, record)
        }
      }),
    )
    actor.load(state)
    actor.crashed = false
  })
