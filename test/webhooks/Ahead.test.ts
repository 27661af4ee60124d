import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { limits } from "../../src/Limits.ts"
import type { MessageSender } from "../../src/webhooks/Sender.ts"
import { reward, sandbox } from "../engine/fixture.ts"
import { endedLog, receiving, startInMemory, webhook } from "./fixture.ts"

const users = Array.from({ length: 200 }, (_, index) => `u${index}`)

/** The most attempts that were under way at once to an endpoint that takes so long for each. */
const mostOf = (durationMs: number) =>
  Effect.gen(function* () {
    let underWay = 0
    let most = 0
    const makeSender = (): MessageSender => ({
      send: (_, settled) => {
        most = Math.max(most, ++underWay)
        const outcome = { status: 204, error: null, body: "", retryAfter: undefined, durationMs }
        setImmediate(() => {
          underWay--
          settled(outcome)
        })
        return () => {}
      },
      close: () => {},
    })
    const started = yield* startInMemory(undefined, { makeSender })
    const made = webhook("http://receiver.test/", ["reward.granted"])
    yield* started.engine.askProject(sandbox, made)
    yield* Effect.forEach(users, (user) => started.engine.askUser(sandbox, reward(user, 1)), {
      concurrency: "unbounded",
    })
    yield* endedLog(started, made.webhook.id, users.length)
    yield* started.close()
    return most
  })

describe("An endpoint", () => {
  it.live("that answers at once has a few attempts more waiting for its connections", () =>
    Effect.gen(function* () {
      const most = limits.webhookConcurrencyMax + limits.webhookAheadMax
      expect(yield* mostOf(limits.webhookQuickMs)).toBe(most)
    }),
  )

  it.live("that takes its time has no more than may be sent at once", () =>
    Effect.gen(function* () {
      expect(yield* mostOf(limits.webhookQuickMs + 1)).toBe(limits.webhookConcurrencyMax)
    }),
  )

  it.live("never has more connections than may be sent at once", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      const started = yield* startInMemory()
      const made = webhook(receiver.url(), ["reward.granted"])
      yield* started.engine.askProject(sandbox, made)
      yield* Effect.forEach(users, (user) => started.engine.askUser(sandbox, reward(user, 1)), {
        concurrency: "unbounded",
      })
      yield* endedLog(started, made.webhook.id, users.length)
      expect(receiver.received).toHaveLength(users.length)
      expect(receiver.connections).toBe(limits.webhookConcurrencyMax)
      yield* started.close()
    }),
  )
})
