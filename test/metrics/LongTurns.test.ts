import { describe, expect, it } from "vitest"
import { limits } from "../../src/Limits.ts"
import {
  LongTurns,
  markTurn,
  observeTurns,
  type TurnCause,
  turnCauses,
} from "../../src/metrics/LongTurns.ts"
import { Metrics } from "../../src/metrics/Metrics.ts"

const long = limits.longTurnMs

/** An observer, and how often and how long it has counted a cause. */
const observed = () => {
  const metrics = new Metrics()
  const histograms = Object.fromEntries(
    turnCauses.map((cause) => [
      cause,
      metrics.histogram("laurel_event_loop_long_turns_seconds", { cause }),
    ]),
  ) as Record<
    TurnCause,
    ReturnType<typeof metrics.histogram<"laurel_event_loop_long_turns_seconds">>
  >
  const turns = new LongTurns(histograms)
  let now = 0
  return {
    turns,
    /** Two ticks after all that was reported. */
    settle: (after: number) => {
      for (let tick = 0; tick < 3; tick++) {
        now = Math.max(now, after) + limits.eventLoopSampleMs
        turns.tick(now)
      }
    },
    count: (cause: TurnCause) => histograms[cause].state.count,
    ms: (cause: TurnCause) => Math.round(1_000 * histograms[cause].state.sum),
  }
}

describe("Long turns of the event loop", () => {
  it("are counted by cause from `longTurnMs` on", () => {
    const { count, ms, settle, turns } = observed()
    turns.turn("snapshot", 100, 100 + long)
    turns.turn("prune", 200, 200 + long - 0.001)
    turns.collection("gc_major", 300, 300 + long)
    turns.collection("gc_minor", 400, 400 + long - 0.001)
    settle(500)
    expect([count("snapshot"), ms("snapshot")]).toEqual([1, long])
    expect([count("gc_major"), ms("gc_major")]).toEqual([1, long])
    expect([count("prune"), count("gc_minor"), count("other")]).toEqual([0, 0, 0])
  })

  it("do not contain the collections that interrupted them, also one that is reported a tick later", () => {
    const { count, ms, settle, turns } = observed()
    turns.turn("snapshot", 100, 140)
    turns.turn("database", 150, 150 + long)
    turns.tick(160)
    turns.collection("gc_minor", 110, 120)
    turns.collection("gc_major", 135, 137)
    turns.collection("gc_minor", 151, 152)
    settle(200)
    expect([count("snapshot"), ms("snapshot")]).toEqual([1, 28])
    // Without the collection it was short.
    expect(count("database")).toBe(0)
    expect([count("gc_minor"), ms("gc_minor")]).toEqual([1, 10])
  })

  it("are `other` as far as a late timer's delay has no named turn and no collection, each taken out once", () => {
    const { count, ms, settle, turns } = observed()
    turns.turn("snapshot", 100, 130)
    turns.collection("gc_minor", 105, 115)
    turns.collection("gc_minor", 150, 160)
    turns.turn("other", 110, 200)
    turns.tick(200)
    settle(220)
    // 90 ms, minus 20 of the snapshot and 10 of a collection outside of it.
    expect([count("other"), ms("other")]).toEqual([1, 60])
    expect(ms("snapshot")).toBe(20)
    turns.turn("board", 400, 440)
    turns.turn("other", 402, 442)
    settle(442)
    expect([count("other"), count("board")]).toEqual([1, 1])
  })

  it("are counted once", () => {
    const { count, settle, turns } = observed()
    turns.turn("prune", 100, 150)
    settle(200)
    settle(300)
    expect(count("prune")).toBe(1)
  })

  it("end with the callback in which they were marked, under its first cause", async () => {
    const { count, ms, settle, turns } = observed()
    const busy = (forMs: number) => {
      const until = performance.now() + forMs
      while (performance.now() < until);
    }
    observeTurns(turns)
    try {
      await new Promise<void>((resolve) => {
        setImmediate(() => {
          markTurn("board")
          busy(20)
          markTurn("database")
          busy(20)
          setImmediate(() => {
            busy(200)
            resolve()
          })
        })
      })
      settle(performance.now())
      expect([count("board"), count("database")]).toEqual([1, 0])
      expect(ms("board")).toBeGreaterThanOrEqual(40)
    } finally {
      observeTurns(undefined)
    }
    markTurn("prune")
    await new Promise(setImmediate)
    settle(performance.now())
    expect(count("prune")).toBe(0)
  })
})
