/** When messages are sent again, by a clock that a test sets, and when an endpoint is given up. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { limits } from "../../src/Limits.ts"
import { defaultSchedule } from "../../src/webhooks/endpoint/RetrySchedule.ts"
import { makeSecret } from "../../src/webhooks/send/Signature.ts"
import type { Delivery } from "../../src/webhooks/store/Delivery.ts"
import { reward, sandbox, start as startEngine } from "../engine/fixture.ts"
import { RunningClock } from "../http/RunningClock.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import {
  endedLog,
  logOf,
  receiving,
  type StartOptions,
  startInMemory,
  until,
  webhook,
} from "./fixture.ts"
import { answer, isSignedBy } from "./Receiver.ts"
import { VirtualReceivers } from "./VirtualReceivers.ts"

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
/** The test's own time may pass besides: the clock runs. */
const tolerance = 10 * second

/** A server whose clock advances by `pass`. */
const starting = Effect.fnUntraced(function* (options: StartOptions = {}) {
  const clock = new RunningClock("2026-11-03T12:00:00Z")
  const now = () => clock.currentTimeMillisUnsafe()
  const running = yield* Effect.provideService(
    startInMemory(undefined, { logMax: 100, ...options }),
    Clock.Clock,
    clock,
  )
  const set = (time: number) => clock.set(new Date(time).toISOString())
  return { ...running, now, set, pass: (ms: number) => set(now() + ms) }
})
type Running = Effect.Success<ReturnType<typeof starting>>

const grant = ({ engine }: Running, userId = "ada") => engine.askUser(sandbox, reward(userId, 1))
const first = (running: Running, id: string, holds: (delivery: Delivery) => boolean) =>
  Effect.map(
    until(logOf(running, id), ([newest]) => newest !== undefined && holds(newest)),
    ([newest]) => newest!,
  )
const attempted = (running: Running, id: string, attempts: number) =>
  first(running, id, (delivery) => delivery.attempts === attempts)

describe("A replaced secret", () => {
  it.live("signs together with the new secret until its grace period ends, and not after", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      const running = yield* starting()
      const made = webhook(receiver.url(), ["reward.granted"])
      const { id: webhookId, secret: old } = made.webhook
      yield* running.engine.askProject(sandbox, made)
      const secret = makeSecret()
      const rotation = {
        kind: "rotateWebhookSecret",
        webhookId,
        secret,
        graceSeconds: 600,
      } as const
      yield* running.engine.askProject(sandbox, rotation)
      /** Those of the old and the new secret that sign the next message. */
      const signers = Effect.gen(function* () {
        const sent = receiver.received.length
        yield* grant(running)
        yield* endedLog(running, webhookId, sent + 1)
        return [old, secret].map((each) => isSignedBy(each, receiver.received[sent]!))
      })
      expect(yield* signers).toEqual([true, true])
      running.pass(9 * minute)
      expect(yield* signers).toEqual([true, true])
      running.pass(2 * minute)
      expect(yield* signers).toEqual([false, true])
      yield* running.close()
    }),
  )
})

describe("A message that is refused", () => {
  it.live("is sent ten times over three days with increasing pauses, and then has failed", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      receiver.answer = answer(500)
      const running = yield* starting()
      const made = webhook(receiver.url(), ["reward.granted"])
      yield* running.engine.askProject(sandbox, made)
      yield* grant(running)
      const pauses: Array<number> = []
      for (let attempt = 1; attempt < defaultSchedule.length; attempt++) {
        const { dueAt, last } = yield* attempted(running, made.webhook.id, attempt)
        pauses.push(Math.round((dueAt - last!.at) / second))
        running.set(dueAt + 1)
      }
      const [delivery] = yield* endedLog(running, made.webhook.id, 1)
      expect([delivery!.status, delivery!.attempts]).toEqual(["failed", 10])
      expect(pauses).toHaveLength(9)
      for (const [index, pause] of pauses.entries()) {
        const expected = defaultSchedule[index + 1]! / second
        expect(pause).toBeGreaterThanOrEqual(expected)
        expect(pause).toBeLessThan(expected + tolerance / second)
      }
      const ids = receiver.received.map(({ headers }) => headers["webhook-id"])
      expect(ids).toEqual(Array.from({ length: 10 }, () => delivery!.messageId))
      const times = receiver.received.map(({ headers }) => Number(headers["webhook-timestamp"]))
      expect(times).toEqual(times.toSorted((one, other) => one - other))
      expect(times.at(-1)! - times[0]!).toBeGreaterThan((3 * day) / second)
      yield* running.close()
    }),
  )

  const httpDate = (ms: number) => new Date(ms).toUTCString()
  it.live.each<readonly [string, number, (now: number) => string | undefined, number]>([
    ["429 and nothing more", 429, () => undefined, 5 * second],
    ["429 and a number of seconds", 429, () => "90", 90 * second],
    ["429 and a date", 429, (now) => httpDate(now + 2 * minute), 2 * minute],
    ["429 and nonsense", 429, () => "soon", 5 * second],
    ["429 and less than it would wait", 429, () => "1", 5 * second],
    ["429 and a date that is past", 429, (now) => httpDate(now - hour), 5 * second],
    ["429 and more than a day", 429, () => "9999999", limits.webhookRetryAfterMsMax],
    ["503 and a number of seconds", 503, () => "90", 90 * second],
  ])("waits as long as it is asked to by %s", ([, status, value, pause]) =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      const running = yield* starting()
      const retryAfter = value(running.now())
      receiver.answer = answer(
        status,
        retryAfter === undefined ? {} : { "retry-after": retryAfter },
      )
      const made = webhook(receiver.url(), ["reward.granted"])
      yield* running.engine.askProject(sandbox, made)
      yield* grant(running)
      const waiting = yield* attempted(running, made.webhook.id, 1)
      expect(waiting.status).toBe("pending")
      const waits = waiting.dueAt - waiting.last!.at
      // A date has no milliseconds.
      expect(waits).toBeGreaterThanOrEqual(pause - second)
      expect(waits).toBeLessThan(pause + tolerance)
      receiver.answer = answer(204)
      // The next one does not go before the time that was asked for, and both do after it.
      yield* grant(running)
      running.set(waiting.dueAt + 1)
      const log = yield* endedLog(running, made.webhook.id, 2)
      expect(log.map(({ status: ended }) => ended)).toEqual(["succeeded", "succeeded"])
      if (pause > 5 * second) {
        const notBefore = waiting.last!.at + Math.min(pause, limits.webhookBreakerPauseMsMax)
        for (const { last } of log) expect(last!.at).toBeGreaterThan(notBefore - second)
      }
      yield* running.close()
    }),
  )
})

describe("An endpoint that only fails", () => {
  it.live(
    "is disabled after five days; other webhooks get a message, and it can be enabled again",
    () =>
      Effect.gen(function* () {
        const [bad, good] = yield* Effect.all([receiving, receiving])
        bad.answer = answer(500)
        const running = yield* starting({ schedule: [0] })
        const { engine, logged } = running
        const failing = webhook(bad.url(), ["reward.granted"])
        const watching = webhook(good.url(), ["webhook.*"])
        const { id } = failing.webhook
        yield* engine.askProject(sandbox, failing)
        yield* engine.askProject(sandbox, watching)
        const state = Effect.map(engine.readProject(sandbox), ({ webhooks }) => webhooks.get(id)!)
        for (let half = 0; half < 10; half++) {
          yield* grant(running, `u${half}`)
          yield* endedLog(running, id, half + 1)
          expect((yield* state).status).toBe("enabled")
          running.pass(day / 2)
        }
        yield* grant(running, "last")
        const disabled = yield* until(state, ({ status }) => status === "disabled")
        expect(disabled).toMatchObject({ disabledReason: "failing" })
        yield* Effect.promise(() => good.atLeast(1))
        expect(good.received[0]!.message).toMatchObject({
          type: "webhook.disabled",
          data: { webhookId: id, reason: "failing" },
        })
        expect(logged.join("\n")).toMatch(/A webhook is disabled.*failing/)

        yield* grant(running, "missed")
        bad.answer = answer(204)
        const change = { status: "enabled" } as const
        yield* engine.askProject(sandbox, { kind: "updateWebhook", webhookId: id, change })
        const before = bad.received.length
        const since = running.now() - 1.75 * day
        yield* engine.askProject(sandbox, { kind: "recoverWebhook", webhookId: id, since })
        yield* Effect.promise(() => bad.atLeast(before + 5))
        yield* until(logOf(running, id, "succeeded"), ({ length }) => length === 5)
        const users = bad.received.slice(before).map(({ message }) => message.data.userId)
        expect(users.toSorted()).toEqual(["last", "missed", "u7", "u8", "u9"])
        expect(yield* logOf(running, id, "failed")).toHaveLength(7)
        yield* running.close()
      }),
  )

  it.live("recovers failed messages, and none from before its creation", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      receiver.answer = answer(500)
      const running = yield* starting({ schedule: [0] })
      const made = webhook(receiver.url(), ["reward.granted"])
      const { id } = made.webhook
      yield* grant(running, "before")
      yield* running.engine.askProject(sandbox, made)
      yield* grant(running, "after")
      yield* endedLog(running, id, 1)
      receiver.answer = answer(204)
      const since = running.now() - day
      yield* running.engine.askProject(sandbox, { kind: "recoverWebhook", webhookId: id, since })
      yield* until(logOf(running, id, "succeeded"), ({ length }) => length === 1)
      expect(yield* logOf(running, id)).toHaveLength(1)
      const users = receiver.received.map(({ message }) => message.data.userId)
      expect(users).toEqual(["after", "after"])
      yield* running.close()
    }),
  )

  it.live("is not disabled after one success in between", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      const running = yield* starting({ schedule: [0] })
      const made = webhook(receiver.url(), ["reward.granted"])
      yield* running.engine.askProject(sandbox, made)
      for (let half = 0; half < 12; half++) {
        receiver.answer = answer(half === 6 ? 204 : 500)
        yield* grant(running)
        yield* endedLog(running, made.webhook.id, half + 1)
        running.pass(day / 2)
      }
      const { webhooks } = yield* running.engine.readProject(sandbox)
      expect(webhooks.get(made.webhook.id)?.status).toBe("enabled")
      yield* running.close()
    }),
  )
})

describe("A clock that is set", () => {
  const waiting = Effect.gen(function* () {
    const receiver = yield* receiving
    receiver.answer = answer(500)
    const running = yield* starting({ schedule: [0, 1] })
    const made = webhook(receiver.url(), ["reward.granted"])
    yield* running.engine.askProject(sandbox, made)
    return { receiver, running, id: made.webhook.id }
  })

  it.live("back by a year lets pending deliveries arrive when their pause is over", () =>
    Effect.gen(function* () {
      const { id, receiver, running } = yield* waiting
      yield* grant(running)
      yield* attempted(running, id, 1)
      running.pass(-365 * day)
      receiver.answer = answer(204)
      const delivery = yield* first(running, id, ({ status }) => status === "succeeded")
      expect(delivery.attempts).toBe(2)
      yield* grant(running)
      const log = yield* endedLog(running, id, 2)
      expect(log.map(({ status }) => status)).toEqual(["succeeded", "succeeded"])
      expect(receiver.received).toHaveLength(3)
      yield* running.close()
    }),
  )

  it.live("forward by an hour and back sends nothing twice and loses nothing", () =>
    Effect.gen(function* () {
      const { id, receiver, running } = yield* waiting
      receiver.answer = answer(204)
      const steps = [hour, -hour, -day, 2 * day, -day, minute, -minute]
      for (const [index, step] of steps.entries()) {
        yield* grant(running)
        running.pass(step)
        yield* grant(running)
        const log = yield* endedLog(running, id, 2 * (index + 1))
        expect(new Set(log.map(({ status }) => status))).toEqual(new Set(["succeeded"]))
      }
      const ids = receiver.received.map(({ headers }) => headers["webhook-id"])
      expect(new Set(ids).size).toBe(2 * steps.length)
      expect(ids).toHaveLength(2 * steps.length)
      yield* running.close()
    }),
  )
})

describe("A server whose clock is behind the clock of the previous server", () => {
  it.live("first sends pending messages in the order of the journal", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const at = (time: string) => Effect.provideService(Clock.Clock, new RunningClock(time))
      const url = "http://receiver.test/"
      const made = webhook(url, ["reward.granted"])
      const { id } = made.webhook
      const amounts = [1, 2, 3]
      // The messages are of 12:00, and are expanded at 13:00.
      const early = yield* startEngine(MemoryStorage.make({ state })).pipe(
        at("2026-11-03T12:00:00Z"),
      )
      yield* early.engine.askProject(sandbox, made)
      for (const each of amounts) yield* early.engine.askUser(sandbox, reward("ada", each))
      yield* early.close()
      const silent = { makeSender: new VirtualReceivers(() => undefined).senders() }
      const former = yield* startInMemory(state, { ...silent, shutdownGraceMs: 0 }).pipe(
        at("2026-11-03T13:00:00Z"),
      )
      yield* until(logOf(former, id, "pending"), ({ length }) => length === amounts.length)
      yield* former.close()

      const receivers = new VirtualReceivers()
      const next = yield* startInMemory(state, { makeSender: receivers.senders() }).pipe(
        at("2026-11-03T12:00:00Z"),
      )
      yield* next.engine.askUser(sandbox, reward("ada", 4))
      const sent = Effect.sync(() => receivers.of(url))
      yield* until(sent, ({ length }) => length > 0)
      const first = yield* logOf(next, id)
      expect((yield* sent)[0]!.id).toBe(first.at(-1)!.messageId)
      const log = yield* endedLog(next, id, amounts.length + 1)
      expect((yield* sent).map((message) => message.id)).toEqual(
        log.map(({ messageId }) => messageId).toReversed(),
      )
      yield* next.close()
    }),
  )
})
