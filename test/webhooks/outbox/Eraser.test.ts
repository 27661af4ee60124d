/**
 * Erasures beside a backlog: how often they walk through it, and that messages are sent meanwhile.
 */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import type { MessageSender } from "../../../src/webhooks/send/Sender.ts"
import { deliveryStatuses } from "../../../src/webhooks/store/Delivery.ts"
import { DeliveryStore } from "../../../src/webhooks/store/DeliveryStore.ts"
import { reward, sandbox } from "../../engine/fixture.ts"
import { RunningClock } from "../../http/RunningClock.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { startInMemory, until, webhook } from "../fixture.ts"
import { tableFaults } from "../store/tables.ts"

const erasures = 60
const backlog = 3_000
const hook = webhook("http://receiver.test/", ["reward.granted"])

const sampleOf = (metrics: Metrics, name: string): number =>
  Number(new RegExp(`^${name} (\\S+)$`, "m").exec(metrics.text())?.[1])

describe("Erasures during a backlog", () => {
  it.live("share a walk, and let the backlog be sent between its pages", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const store = new DeliveryStore(MemoryStorage.make({ state }))
      const metrics = new Metrics()
      /** Requests that wait for their answer: each page that is read answers all. */
      const held: Array<() => void> = []
      let sent = 0
      const outcome = {
        status: 204,
        error: null,
        body: "",
        retryAfter: undefined,
        durationMs: 1,
      } as const
      const makeSender = (): MessageSender => ({
        send: (_, settled) => {
          sent++
          held.push(() => settled(outcome))
          return () => {}
        },
        close: () => {},
      })
      const started = yield* startInMemory(state, {
        makeSender,
        readyMax: 64,
        metrics,
      })
      const { engine } = started
      yield* engine.askProject(sandbox, hook)
      const users = Array.from({ length: erasures }, (_, index) => `user-${index}`)
      const rewards = Array.from({ length: backlog }, (_, index) =>
        reward(users[index % (2 * erasures)] ?? "other", 1),
      )
      yield* engine.askUsers(sandbox, rewards)
      const { since: number } = (yield* engine.readProject(sandbox)).webhooks.get(hook.webhook.id)!
      const stats = Effect.orDie(store.stats(number))
      yield* until(stats, ({ stored }) => stored.pending >= backlog - 64)
      const pages = () => sampleOf(metrics, "laurel_webhook_erasure_pages_total")
      const waiting = () => sampleOf(metrics, "laurel_webhook_erasures_waiting")
      expect([pages(), waiting()]).toEqual([0, 0])

      /** By how many pages were read, how many messages were sent by then. */
      const sentAt = new Map<number, number>()
      for (const userId of users) {
        yield* engine.askUser(sandbox, { userId, command: { kind: "erasure" } })
      }
      let most = 0
      let answeredAt = pages()
      while (pages() === 0 || waiting() > 0) {
        sentAt.set(pages(), sent)
        most = Math.max(most, waiting())
        if (pages() > answeredAt) for (const answer of held.splice(0)) answer()
        answeredAt = pages()
        yield* yieldToEventLoop
      }
      expect(most).toBeGreaterThan(1)
      // The first erasure walks alone, those that came meanwhile together; each status has a page
      // that is the last.
      const oneWalk = Math.ceil(backlog / limits.webhookJobBatch) + 2 * deliveryStatuses.length
      expect(pages()).toBeLessThanOrEqual(4 * oneWalk)
      // Messages went out while pages were still to be read.
      const counts = [...sentAt.values()]
      expect(counts.at(-1)! - counts[0]!).toBeGreaterThan(0)
      const answered = Effect.tap(stats, () =>
        Effect.sync(() => {
          for (const answer of held.splice(0)) answer()
        }),
      )
      yield* until(answered, ({ stored }) => stored.pending === 0)
      yield* started.close()
      expect(tableFaults(state, [number])).toEqual([])
      expect(started.logged).toEqual([])
    }).pipe(Effect.provideService(Clock.Clock, new RunningClock("2026-11-03T12:00:00Z"))),
  )
})
