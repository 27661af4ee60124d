import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { reward, sandbox } from "../../engine/fixture.ts"
import { sampleValue } from "../../metrics/exposition.ts"
import { endedLog, logOf, startInMemory, until, webhook } from "../fixture.ts"
import { VirtualReceivers } from "../VirtualReceivers.ts"

const good = "http://good.test/"
const bad = "http://bad.test/"
const hangs = "http://hangs.test/"

describe("The metrics of webhooks", () => {
  it.live("count outcomes, attempts under way and pending deliveries", () =>
    Effect.gen(function* () {
      const metrics = new Metrics()
      const value = (name: string, labels: Record<string, string> = {}) =>
        sampleValue(metrics.text(), `laurel_webhook_${name}`, labels)
      const statuses = new Map<string, number>([
        [good, 204],
        [bad, 500],
      ])
      const receivers = new VirtualReceivers((url) => statuses.get(url))
      const started = yield* startInMemory(undefined, {
        makeSender: receivers.senders(),
        schedule: [0, 3_600_000],
        metrics,
      })
      const { engine } = started
      const made = [good, bad, hangs].map((url) => webhook(url, ["reward.granted"]))
      for (const one of made) yield* engine.askProject(sandbox, one)
      expect([value("deliveries_pending"), value("attempts_in_flight")]).toEqual([0, 0])
      yield* engine.askUser(sandbox, reward("ada", 1))
      yield* endedLog(started, made[0]!.webhook.id, 1)
      yield* until(logOf(started, made[1]!.webhook.id), ([one]) => one?.attempts === 1)
      yield* until(logOf(started, made[2]!.webhook.id), ({ length }) => length === 1)
      expect(value("attempts_total", { outcome: "succeeded" })).toBe(1)
      expect(value("attempts_total", { outcome: "failed" })).toBe(1)
      expect(value("attempts_in_flight")).toBe(1)
      expect(value("deliveries_pending")).toBeGreaterThanOrEqual(1)
      expect([value("lag_records"), value("missed_records_total")]).toEqual([0, 0])
      for (const { webhook } of made) {
        yield* engine.askProject(sandbox, { kind: "deleteWebhook", webhookId: webhook.id })
      }
      const read = Effect.sync(() => [value("deliveries_pending"), value("attempts_in_flight")])
      yield* until(read, ([pending, inFlight]) => pending === 0 && inFlight === 0)
      yield* started.close("kill")
    }),
  )
})
