/** Snapshots of an engine, and a kill in the middle of one. */
import { Effect, Latch } from "effect"
import { TestClock } from "effect/testing"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import type { Stalling } from "../../storage/stalling.ts"
import type { Fixture } from "../fixture.ts"

/** Options of an engine that does nothing by itself but these snapshots. */
export const quiet = { clockCheckMs: 3_600_000, snapshotIntervalMs: 600_000 }

const turns = (count: number) => Effect.repeat(yieldToEventLoop, { times: count - 1 })

/** Lets a snapshot be taken, which needs turns of the event loop besides time. */
export const snapshot = Effect.andThen(TestClock.adjust(quiet.snapshotIntervalMs), turns(50))

/** A snapshot waits after `before` writes while `meanwhile` happens. It makes `after` more, then a kill follows. */
export const killInSnapshot = Effect.fnUntraced(function* <E>(
  { close }: Fixture,
  disk: Stalling,
  { after, before }: { readonly before: number; readonly after: number },
  meanwhile: Effect.Effect<unknown, E>,
) {
  const gate = yield* Latch.make(false)
  disk.writesLeft = before
  disk.gate = gate
  yield* snapshot
  yield* meanwhile
  disk.writesLeft = after
  yield* Latch.open(gate)
  yield* turns(20)
  disk.gate = undefined
  disk.writesLeft = 0
  yield* close("kill")
  disk.writesLeft = Number.POSITIVE_INFINITY
})
