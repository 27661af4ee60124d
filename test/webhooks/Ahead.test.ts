import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { limits } from "../../src/Limits.ts"
import type { MessageSender, Outcome } from "../../src/webhooks/send/Sender.ts"
import { reward, sandbox } from "../engine/fixture.ts"
import { endedLog, receiving, startInMemory, until, webhook } from "./fixture.ts"

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
  it.live("that answers quickly has a few attempts that wait for its connections", () =>
    Effect.gen(function* () {
      const most = limits.webhookConcurrencyMax + limits.webhookAheadMax
      expect(yield* mostOf(limits.webhookQuickMs)).toBe(most)
    }),
  )

  it.live("that is slow has no more attempts than connections", () =>
    Effect.gen(function* () {
      expect(yield* mostOf(limits.webhookQuickMs + 1)).toBe(limits.webhookConcurrencyMax)
    }),
  )

  it.live(
    "that fails returns the attempts that wait for its connections: they were not tried",
    () =>
      Effect.gen(function* () {
        interface Flight {
          readonly id: string
          readonly settle: (outcome: Outcome) => void
          givenUp: boolean
        }
        const arrived = { status: 204, error: null, body: "", retryAfter: undefined, durationMs: 1 }
        const late: Outcome = { ...arrived, status: null, error: "timeout" }
        let hangs = false
        let flights: Array<Flight> = []
        const makeSender = (): MessageSender => ({
          send: ({ message: { id } }, settle) => {
            const flight = { id, settle, givenUp: false }
            if (hangs) flights.push(flight)
            else setImmediate(() => settle(arrived))
            return () => {
              flight.givenUp = true
            }
          },
          close: () => {},
        })
        const started = yield* startInMemory(undefined, { makeSender, schedule: [0, 0] })
        const made = webhook("http://receiver.test/", ["reward.granted"])
        yield* started.engine.askProject(sandbox, made)
        const grantAll = (prefix: string) =>
          Effect.forEach(
            users,
            (user) => started.engine.askUser(sandbox, reward(`${prefix}${user}`, 1)),
            { concurrency: "unbounded" },
          )
        yield* grantAll("quick-")
        yield* endedLog(started, made.webhook.id, users.length)
        hangs = true
        yield* grantAll("slow-")
        const most = limits.webhookConcurrencyMax + limits.webhookAheadMax
        yield* until(
          Effect.sync(() => flights.length),
          (length) => length === most,
        )
        const failed = flights.slice(0, limits.webhookBreakerFailures)
        for (const { settle } of failed) settle(late)
        const rest = flights.slice(failed.length)
        const begun = rest.slice(0, limits.webhookConcurrencyMax)
        expect(rest.map(({ givenUp }) => givenUp)).toEqual(
          rest.map((each) => !begun.includes(each)),
        )
        // An attempt that succeeds late closes the circuit, and deliveries continue.
        hangs = false
        flights = []
        for (const { settle } of begun) settle(arrived)
        const log = yield* endedLog(started, made.webhook.id, 2 * users.length)
        const attempts = new Map(log.map((delivery) => [delivery.messageId, delivery.attempts]))
        const twice = failed.map(({ id }) => id)
        expect(new Set(log.map(({ status }) => status))).toEqual(new Set(["succeeded"]))
        for (const [id, count] of attempts) expect(count).toBe(twice.includes(id) ? 2 : 1)
        yield* started.close()
      }),
  )

  it.live("never has more connections than allowed concurrent attempts", () =>
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
