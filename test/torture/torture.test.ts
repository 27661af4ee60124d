/** A short run of what `npm run torture` does for minutes, and whether its oracle would notice. */
import { describe, expect, it } from "vitest"
import { Random, seeds } from "../simulation/random.ts"
import { waitMs } from "../waitMs.ts"
import { kills } from "./kills.ts"
import { Ledger } from "./Ledger.ts"
import { torture } from "./torture.ts"

describe("Torture", () => {
  for (const seed of seeds(1)) {
    it(`of one round loses nothing; again with LAUREL_TEST_SEED=${seed}`, async () => {
      const order = ["torn journal tail"] as const
      const said: Array<string> = []
      const say = (line: string) => said.push(line)
      const summary = await torture({ seed, durationMs: 0, order, say })
      expect(summary.lost, said.join("\n")).toEqual([])
      expect(summary.rounds).toBe(order.length)
      expect(summary.kills).toBeGreaterThanOrEqual(1)
      expect(summary.acknowledged).toBe(summary.sent)
      expect(summary.verified).toBeGreaterThan(0)
    })
  }
})

describe("Kills in short cycles, with webhooks on,", () => {
  for (const seed of seeds(1)) {
    it(`lose no message and send none again; again with LAUREL_TEST_SEED=${seed}`, async () => {
      const said: Array<string> = []
      const say = (line: string) => said.push(line)
      const summary = await kills({ seed, kills: 2, durationMs: waitMs, forgottenMs: 20_000, say })
      expect(summary.faults, said.join("\n")).toEqual([])
      expect(summary.kills).toBe(2)
    })
  }
})

describe("Its oracle", () => {
  it("detects lost, changed and double-counted events", () => {
    const ledger = new Ledger()
    const sent = ledger.next(new Random(1))
    ledger.acknowledge(sent, ["first"])
    ledger.verify(sent, ["first"], true)
    ledger.verifyTotals(sent.xp)
    expect(ledger.lost).toEqual([])
    ledger.verify(sent, ["second"], true)
    ledger.verify(sent, ["first"], false)
    ledger.verifyTotals(new Map())
    ledger.verifyTotals(new Map([...sent.xp].map(([userId, xp]) => [userId, 2 * xp])))
    expect(ledger.lost.length).toBe(2 + 2 * sent.xp.size)
  })
})
