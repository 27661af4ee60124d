/** An orderly end with deliveries on their way, and the start after it. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import type { MessageSender } from "../../src/webhooks/send/Sender.ts"
import { reward, sandbox } from "../engine/fixture.ts"
import { RunningClock } from "../http/RunningClock.ts"
import { MemoryState } from "../storage/MemoryStorage.ts"
import { endedLog, logOf, type StartOptions, startInMemory, until, webhook } from "./fixture.ts"
import { VirtualReceivers } from "./VirtualReceivers.ts"

const hour = 3_600_000

/** Parts of every test: a store, a clock, and a receiver that answers on demand. */
const making = Effect.sync(() => {
  const clock = new RunningClock("2026-11-03T12:00:00Z")
  const state = new MemoryState()
  const receivers = new VirtualReceivers()
  const begin = (options: StartOptions = {}) =>
    Effect.provideService(
      startInMemory(state, { makeSender: receivers.senders(), ...options }),
      Clock.Clock,
      clock,
    )
  const pass = (ms: number) =>
    clock.set(new Date(clock.currentTimeMillisUnsafe() + ms).toISOString())
  return { begin, clock, pass, receivers }
})

const url = "http://receiver.test/"
const other = "http://other.test/"

describe("At a clean shutdown", () => {
  it.live("attempts under way may finish, and no new one begins", () =>
    Effect.gen(function* () {
      const { begin, receivers } = yield* making
      const made = webhook(url, ["reward.granted"])
      const ends: Array<() => void> = []
      const makeSender = (to: string): MessageSender => {
        const sender = receivers.senders()(to)
        return {
          ...sender,
          send: (message, settled) =>
            sender.send(message, (outcome) => ends.push(() => settled(outcome))),
        }
      }
      const held = yield* begin({ makeSender })
      yield* held.engine.askProject(sandbox, made)
      yield* held.engine.askUser(sandbox, reward("ada", 1))
      yield* held.engine.askUser(sandbox, reward("ada", 1))
      yield* until(
        Effect.sync(() => ends),
        ({ length }) => length === 1,
      )
      const closing = yield* Effect.forkChild(held.close(), { startImmediately: true })
      for (let turn = 0; turn < 5; turn++) yield* yieldToEventLoop
      expect(closing.pollUnsafe()).toBeUndefined()
      for (const end of ends.splice(0)) end()
      yield* Fiber.join(closing)
      expect(receivers.of(url)).toHaveLength(1)

      const next = yield* begin()
      yield* endedLog(next, made.webhook.id, 2)
      const ids = receivers.of(url).map(({ id }) => id)
      expect(ids).toHaveLength(2)
      expect(new Set(ids).size).toBe(2)
      yield* next.close()
    }),
  )

  it.live("unfinished attempts stay pending, and the next process sends them again", () =>
    Effect.gen(function* () {
      const { begin, receivers } = yield* making
      const first = yield* begin({ shutdownGraceMs: 20 })
      const made = webhook(url, ["reward.granted"])
      yield* first.engine.askProject(sandbox, made)
      receivers.answer = () => undefined
      yield* first.engine.askUser(sandbox, reward("ada", 1))
      yield* until(
        Effect.sync(() => receivers.of(url)),
        ({ length }) => length === 1,
      )
      yield* first.close()
      expect(receivers.inFlight).toBe(0)

      receivers.answer = () => 204
      const next = yield* begin()
      const [delivery] = yield* endedLog(next, made.webhook.id, 1)
      // An interrupted attempt is no failed one.
      expect([delivery!.status, delivery!.attempts]).toEqual(["succeeded", 1])
      const [one, again] = receivers.of(url)
      expect(again).toEqual(one)
      yield* next.close()
    }),
  )
})

describe("After a start", () => {
  it.live("pending deliveries are sent when they are due, overdue ones at once", () =>
    Effect.gen(function* () {
      const { begin, clock, pass, receivers } = yield* making
      const schedule = [0, hour]
      const first = yield* begin({ schedule })
      const waits = webhook(url, ["reward.granted"])
      const another = webhook(other, ["reward.granted"])
      yield* first.engine.askProject(sandbox, waits)
      receivers.answer = () => 503
      yield* first.engine.askUser(sandbox, reward("ada", 1))
      const [{ dueAt } = { dueAt: 0 }] = yield* until(
        logOf(first, waits.webhook.id),
        ([delivery]) => delivery?.attempts === 1,
      )
      expect(dueAt).toBeGreaterThanOrEqual(clock.currentTimeMillisUnsafe() + hour - 10_000)
      yield* first.close()

      receivers.answer = () => 204
      pass(hour / 2)
      const second = yield* begin({ schedule })
      // The other endpoint gets its message meanwhile.
      yield* second.engine.askProject(sandbox, another)
      yield* second.engine.askUser(sandbox, reward("bob", 1))
      yield* endedLog(second, another.webhook.id, 1)
      const [, ada] = yield* until(
        logOf(second, waits.webhook.id),
        (log) => log.length === 2 && log[0]!.status === "succeeded",
      )
      expect([ada!.status, ada!.attempts, ada!.dueAt]).toEqual(["pending", 1, dueAt])
      yield* second.close()

      pass(hour)
      const third = yield* begin({ schedule })
      const log = yield* endedLog(third, waits.webhook.id, 2)
      expect(log.map(({ attempts, status }) => [status, attempts])).toEqual([
        ["succeeded", 1],
        ["succeeded", 2],
      ])
      const [message, , repeated] = receivers.of(url)
      expect(repeated).toEqual(message)
      yield* third.close()
    }),
  )
})
