/**
 * When an endpoint begins attempts: enabled, disabled by hand, given up, and beside others that
 * hang.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import type { MessageSender } from "../../../src/webhooks/send/Sender.ts"
import { reward, sandbox } from "../../engine/fixture.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import {
  endedLog,
  logOf,
  type Started,
  startInMemory,
  startOn,
  until,
  webhook,
} from "../fixture.ts"
import { VirtualReceivers } from "../VirtualReceivers.ts"

const url = "http://receiver.test/"
const grant = ({ engine }: Started, ...users: ReadonlyArray<string>) =>
  engine.askUsers(
    sandbox,
    users.map((user) => reward(user, 1)),
  )
/** An endpoint begins its work within these turns of the event loop. */
const manyTurns = Effect.repeat(yieldToEventLoop, { times: 50 })

describe("An endpoint", () => {
  it.live(
    "disabled by hand gets nothing until it is enabled again, then its pending deliveries",
    () =>
      Effect.gen(function* () {
        const receivers = new VirtualReceivers()
        const answers: Array<() => void> = []
        const makeSender = (to: string): MessageSender => {
          const sender = receivers.senders()(to)
          return {
            ...sender,
            send: (message, settled) =>
              sender.send(message, (outcome) => answers.push(() => settled(outcome))),
          }
        }
        const answered = until(
          Effect.sync(() => answers.shift()),
          (answer) => answer !== undefined,
        )
        const started = yield* startInMemory(undefined, { makeSender })
        const made = webhook(url, ["reward.granted"])
        const { id: webhookId } = made.webhook
        const turn = (status: "enabled" | "disabled") =>
          started.engine.askProject(sandbox, {
            kind: "updateWebhook",
            webhookId,
            change: { status },
          })
        yield* started.engine.askProject(sandbox, made)
        yield* grant(started, "ada", "bob")
        // The first attempt is under way, so bob waits in memory.
        const answer = yield* answered
        yield* turn("disabled")
        answer!()
        yield* until(logOf(started, webhookId, "succeeded"), ({ length }) => length === 1)
        yield* manyTurns
        expect(yield* logOf(started, webhookId, "pending")).toHaveLength(1)
        expect(receivers.of(url)).toHaveLength(1)
        yield* turn("enabled")
        const next = yield* answered
        next!()
        yield* endedLog(started, webhookId, 2)
        expect(receivers.of(url)).toHaveLength(2)
        yield* started.close()
      }),
  )

  it.live("that answers 410 gets nothing more, even before its record is durable", () =>
    Effect.gen(function* () {
      const memory = MemoryStorage.make()
      let appends: Array<() => void> | undefined
      const receivers = new VirtualReceivers(() => 410)
      const started = yield* startOn(
        {
          ...memory,
          append: (batch) =>
            Effect.andThen(
              Effect.callback<void>((resume) => {
                if (appends === undefined) resume(Effect.void)
                else appends.push(() => resume(Effect.void))
              }),
              memory.append(batch),
            ),
        },
        { makeSender: receivers.senders() },
      )
      const made = webhook(url, ["reward.granted"])
      const { id } = made.webhook
      yield* started.engine.askProject(sandbox, made)
      yield* grant(started, "ada", "bob", "carl")
      appends = []
      yield* until(
        Effect.sync(() => appends!.length),
        (length) => length > 0,
      )
      yield* manyTurns
      expect(receivers.of(url)).toHaveLength(1)
      const held = appends
      appends = undefined
      for (const append of held) append()
      yield* until(
        started.engine.readProject(sandbox),
        ({ webhooks }) => webhooks.get(id)?.status === "disabled",
      )
      expect(yield* logOf(started, id, "pending")).toHaveLength(2)
      expect(receivers.of(url)).toHaveLength(1)
      yield* started.close()
    }),
  )

  it.live("that is new gets a slot while failing endpoints hold half of the slots", () =>
    Effect.gen(function* () {
      const receivers = new VirtualReceivers((to) => (to === url ? 204 : undefined))
      const started = yield* startInMemory(undefined, {
        makeSender: receivers.senders(),
        attemptsAtOnceMax: 4,
        shutdownGraceMs: 0,
      })
      for (const hanging of ["http://one.test/", "http://other.test/"]) {
        yield* started.engine.askProject(sandbox, webhook(hanging, ["reward.granted"]))
      }
      yield* grant(started, "ada")
      yield* until(
        Effect.sync(() => receivers.inFlight),
        (inFlight) => inFlight === 2,
      )
      const made = webhook(url, ["reward.granted"])
      yield* started.engine.askProject(sandbox, made)
      yield* grant(started, "bob")
      yield* endedLog(started, made.webhook.id, 1)
      expect(receivers.of(url)).toHaveLength(1)
      expect(started.logged).toEqual([])
      yield* started.close()
    }),
  )

  it.live("that is disabled while it waits for a slot passes the slot on", () =>
    Effect.gen(function* () {
      const { answer, hasGot, of, senders } = heldReceivers()
      const started = yield* startInMemory(undefined, {
        makeSender: senders,
        attemptsAtOnceMax: 1,
        shutdownGraceMs: 0,
      })
      const [holds, waits, next] = ["http://holds.test/", "http://waits.test/", url].map((to) =>
        webhook(to, ["reward.granted"]),
      )
      yield* started.engine.askProject(sandbox, holds!)
      yield* grant(started, "ada")
      yield* hasGot(holds!.webhook.url, 1)
      yield* started.engine.askProject(sandbox, waits!)
      yield* started.engine.askProject(sandbox, next!)
      yield* grant(started, "bob")
      yield* until(logOf(started, next!.webhook.id, "pending"), ({ length }) => length === 1)
      yield* manyTurns
      yield* started.engine.askProject(sandbox, {
        kind: "updateWebhook",
        webhookId: waits!.webhook.id,
        change: { status: "disabled" },
      })
      yield* started.engine.askProject(sandbox, {
        kind: "updateWebhook",
        webhookId: holds!.webhook.id,
        change: { status: "disabled" },
      })
      answer(holds!.webhook.url)
      yield* hasGot(url, 1)
      expect(of(waits!.webhook.url)).toBe(0)
      yield* started.close()
    }),
  )

  it.live("that may not take an offered slot passes the slot on", () =>
    Effect.gen(function* () {
      const { answer, hasGot, of, senders, state } = heldReceivers()
      const started = yield* startInMemory(undefined, {
        makeSender: senders,
        attemptsAtOnceMax: 4,
        shutdownGraceMs: 0,
      })
      const names = ["one", "two", "three", "four", "moves", "next"]
      const made = names.map((name) => webhook(`http://${name}.test/`, ["reward.granted"]))
      for (const each of made) {
        yield* started.engine.askProject(sandbox, each)
        const to = each.webhook.url
        // Each has answered once.
        yield* started.engine.askProject(sandbox, {
          kind: "testWebhook",
          webhookId: each.webhook.id,
        })
        yield* hasGot(to, 1)
        answer(to)
        yield* endedLog(started, each.webhook.id, 1)
      }
      yield* grant(started, "ada")
      yield* until(
        Effect.sync(() => state.inFlight),
        (inFlight) => inFlight === 4,
      )
      yield* manyTurns
      const [waiting, next] = made.filter(({ webhook: { url: to } }) => of(to) === 1)
      const busy = made.find(({ webhook: { url: to } }) => of(to) === 2)
      // Nothing is known of its new address, and new ones may not take the last slot.
      yield* started.engine.askProject(sandbox, {
        kind: "updateWebhook",
        webhookId: waiting!.webhook.id,
        change: { url },
      })
      yield* manyTurns
      answer(busy!.webhook.url)
      yield* hasGot(next!.webhook.url, 2)
      expect(of(url)).toBe(0)
      yield* started.close()
    }),
  )
})

/**
 * Receivers that answer when a test says so: how many messages each URL got, and how many wait for
 * an answer.
 */
const heldReceivers = () => {
  const got = new Map<string, number>()
  const waiting = new Map<string, Array<() => void>>()
  const state = { inFlight: 0 }
  const senders = (to: string): MessageSender => ({
    send: (_message, settled) => {
      got.set(to, (got.get(to) ?? 0) + 1)
      state.inFlight++
      const settle = () => {
        state.inFlight--
        settled({ status: 204, error: null, body: "", retryAfter: undefined, durationMs: 1 })
      }
      waiting.set(to, [...(waiting.get(to) ?? []), settle])
      return () => {
        state.inFlight--
      }
    },
    close: () => {},
  })
  const hasGot = (to: string, count: number) =>
    until(
      Effect.sync(() => got.get(to) ?? 0),
      (found) => found === count,
    )
  return {
    state,
    senders,
    hasGot,
    of: (to: string) => got.get(to) ?? 0,
    answer: (to: string) => waiting.get(to)!.shift()!(),
  }
}
