/** More messages than are kept in memory, to a receiver that falters. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { reward, sandbox } from "../engine/fixture.ts"
import { RunningClock } from "../http/RunningClock.ts"
import { startInMemory, webhook } from "./fixture.ts"
import { VirtualReceivers } from "./VirtualReceivers.ts"

const url = "http://receiver.test/"
const readyMax = 256

describe("A backlog", () => {
  it.live("is read from the store in pieces: no delivery is lost, and none succeeds twice", () => {
    const clock = new RunningClock("2026-11-03T12:00:00Z")
    return Effect.gen(function* () {
      const count = 6 * readyMax
      // Long enough for the circuit to open, twice: what was in memory goes back to the store.
      let attempts = 0
      const succeeded: Array<string> = []
      const receivers: VirtualReceivers = new VirtualReceivers((_, { id }) => {
        attempts++
        if ((attempts > 400 && attempts < 420) || (attempts > 900 && attempts < 910)) return 500
        succeeded.push(id)
        return 204
      })
      const started = yield* startInMemory(undefined, {
        readyMax,
        makeSender: receivers.senders(),
        schedule: Array.from({ length: 20 }, () => 0),
      })
      const made = webhook(url, ["reward.granted"])
      yield* started.engine.askProject(sandbox, made)
      for (let sent = 0; sent < count; sent += 500) {
        const some = Math.min(500, count - sent)
        // Two users, so that few attempts are under way at once.
        const rewards = Array.from({ length: some }, (_, index) => reward(`u${index % 2}`, 1))
        yield* started.engine.askUsers(sandbox, rewards)
      }
      while (true) {
        const stats = yield* started.deliveries.stats(sandbox, made.webhook.id)
        if (stats?.stored.succeeded === count) break
        clock.set(new Date(clock.currentTimeMillisUnsafe() + 10_000).toISOString())
        yield* Effect.sleep(1)
      }
      expect(succeeded).toHaveLength(count)
      expect(new Set(succeeded).size).toBe(count)
      expect(attempts).toBe(count + 28)
      yield* started.close()
    }).pipe(Effect.provideService(Clock.Clock, clock))
  })
})
