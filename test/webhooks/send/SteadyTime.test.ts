import type { Clock } from "effect"
import { describe, expect, it } from "vitest"
import { SteadyTime } from "../../../src/webhooks/send/SteadyTime.ts"

const begin = Date.parse("2026-11-23T10:00:00Z")

/** Both clocks, moved by hand: the engine's answers whole milliseconds. */
const clocks = () => {
  const at = { engineMs: begin, monotonicUs: 0 }
  const clock = {
    monotonicTimeNanosUnsafe: () => BigInt(at.monotonicUs) * 1_000n,
  } as Clock.Clock
  const time = new SteadyTime(clock, () => Math.floor(at.engineMs))
  const pass = (us: number) => {
    at.monotonicUs += us
    at.engineMs += us / 1_000
  }
  return { at, pass, time }
}

describe("The clock of due times", () => {
  for (const us of [50, 300, 700, 1_300, 3_000]) {
    it(`runs at real speed if it is read every ${us} µs`, () => {
      const { at, pass, time } = clocks()
      for (let n = 0; n < 10_000; n++) {
        pass(us)
        expect(Math.abs(time.now() - at.engineMs)).toBeLessThanOrEqual(1)
      }
    })
  }

  it("follows the engine's clock if that is ahead", () => {
    const { at, pass, time } = clocks()
    at.engineMs += 60_000
    expect(time.now()).toBe(begin + 60_000)
    pass(5_000_000)
    expect(time.now()).toBe(begin + 65_000)
  })

  it("continues while the engine's clock stands still or is slow, and never goes back", () => {
    const { at, time } = clocks()
    at.monotonicUs += 5_000_000
    expect(time.now()).toBe(begin + 5_000)
    at.engineMs += 500
    at.monotonicUs += 5_000_000
    expect(time.now()).toBe(begin + 10_000)
    expect(time.now()).toBe(begin + 10_000)
  })
})
