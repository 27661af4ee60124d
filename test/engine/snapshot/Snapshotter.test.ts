import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { JournalRecord } from "../../../src/domain/record/Record.ts"
import { IdempotencyKeys } from "../../../src/engine/dedupe/Idempotency.ts"
import { IdIndex } from "../../../src/engine/dedupe/IdIndex.ts"
import { Erasures } from "../../../src/engine/erasure/Erasures.ts"
import { EngineMetrics } from "../../../src/engine/metrics/EngineMetrics.ts"
import { PendingRecords } from "../../../src/engine/records/PendingRecords.ts"
import { readActorValue } from "../../../src/engine/records/SnapshotValues.ts"
import { decodeUser } from "../../../src/engine/records/UserCodec.ts"
import { Snapshotter } from "../../../src/engine/snapshot/Snapshotter.ts"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import * as MemoryStorage from "../../../src/storage/MemoryStorage.ts"
import { anEnvironment } from "../fixture.ts"

describe("A snapshot", () => {
  it.effect("that a commit asks for has all that the commit brings", () =>
    Effect.gen(function* () {
      const storage = MemoryStorage.make()
      const erasures = new Erasures()
      const pending = new PendingRecords(0)
      const snapshotter = new Snapshotter({
        storage,
        pending,
        ids: yield* IdIndex.open(storage),
        written: Effect.void,
        first: () => Effect.void,
        idempotency: new IdempotencyKeys({ storage, now: () => 0, erasures, next: () => 1 }),
        erasures,
        isThere: () => true,
        begins: () => ({ entries: [], ended: () => {}, failed: () => {} }),
        onEnded: () => {},
        held: Effect.succeed(Number.POSITIVE_INFINITY),
        heartbeat: () => {},
        now: () => 0,
        mark: { watermark: 0, at: 0, journal: [] },
        sliceEntriesMax: limits.snapshotSliceEntriesMax,
        metrics: new EngineMetrics(new Metrics()),
      })
      const taken = yield* Effect.forkChild(
        Effect.andThen(snapshotter.requested, snapshotter.take),
        { startImmediately: true },
      )
      const actor = anEnvironment().newUser("u1")
      const amount = 1
      for (let sequence = 1; sequence <= limits.snapshotRecordsMax; sequence++) {
        const record: JournalRecord = {
          sequence,
          at: 0,
          subject: actor.subject,
          cause: { kind: "reward", type: "xp", amount },
          facts: [
            { kind: "user.created" },
            { kind: "xp.earned", amount, total: sequence, source: "reward" },
          ],
        }
        const state = actor.kind.apply(actor.durable, record)
        const text = sequence === 1 ? Buffer.from(JSON.stringify(record)) : Buffer.alloc(0)
        // As the engine does it: the last of them asks for a snapshot before its state may be seen.
        pending.texts.keep(text)
        pending.link(actor, undefined)
        snapshotter.committed(actor, sequence)
        actor.durable = state
      }
      yield* Fiber.join(taken)
      expect(pending.watermark).toBe(limits.snapshotRecordsMax)
      const value = yield* readActorValue(storage, actor.subject)
      expect(decodeUser(value!)?.sequence).toBe(limits.snapshotRecordsMax)
    }),
  )
})
