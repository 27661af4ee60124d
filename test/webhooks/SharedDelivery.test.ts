/** Dispatchers of one process share attempts, memory and the thread that sends. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { makeSharedDelivery } from "../../src/webhooks/SharedDelivery.ts"
import { AllowedRanges } from "../../src/webhooks/send/AddressGuard.ts"
import type { MessageSender } from "../../src/webhooks/send/Sender.ts"
import { reward, sandbox } from "../engine/fixture.ts"
import { endedLog, receiving, startInMemory, until, webhook } from "./fixture.ts"

const url = "http://receiver.test/"

const arrived = { status: 204, error: null, body: "", retryAfter: undefined, durationMs: 1 }

/** A dispatcher with a webhook, whose user has earned a message. */
const sending = Effect.fnUntraced(function* (
  shared: Effect.Success<ReturnType<typeof makeSharedDelivery>>,
  to: string = url,
) {
  const started = yield* startInMemory(undefined, { shared, shutdownGraceMs: 10 })
  const made = webhook(to, ["reward.granted"])
  yield* started.engine.askProject(sandbox, made)
  yield* started.engine.askUser(sandbox, reward("ada", 1))
  return { ...started, webhookId: made.webhook.id }
})

describe("Two dispatchers of a process", () => {
  it.live("share the bound on attempts, and a dispatcher that ends returns its share", () =>
    Effect.gen(function* () {
      const ends: Array<() => void> = []
      const makeSender = (): MessageSender => ({
        send: (_, settled) => {
          ends.push(() => settled(arrived))
          return () => {}
        },
        close: () => {},
      })
      const shared = yield* makeSharedDelivery({ makeSender, attemptsAtOnceMax: 1 })
      const first = yield* sending(shared)
      yield* until(
        Effect.sync(() => ends.length),
        (length) => length === 1,
      )
      const second = yield* sending(shared)
      yield* until(
        Effect.sync(() => shared.memory.deliveries),
        (deliveries) => deliveries === 2,
      )
      expect([ends.length, shared.slots.inUse]).toEqual([1, 1])
      // Its attempt never ends: it is given up, and its slot goes to the other one.
      yield* first.close()
      yield* until(
        Effect.sync(() => ends.length),
        (length) => length === 2,
      )
      expect([shared.memory.deliveries, shared.slots.inUse]).toEqual([1, 1])
      ends[1]!()
      yield* endedLog(second, second.webhookId, 1)
      yield* second.close()
      expect(shared.memory).toEqual({ deliveries: 0, bytes: 0 })
      expect(shared.slots.inUse).toBe(0)
    }),
  )

  it.live("send from one thread, which stays when one of them ends", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      const scope = yield* Scope.make()
      const allowed = new AllowedRanges(["127.0.0.0/8"])
      const shared = yield* Scope.provide(makeSharedDelivery({ allowed }), scope)
      const first = yield* sending(shared, receiver.url())
      yield* endedLog(first, first.webhookId, 1)
      const second = yield* sending(shared, receiver.url())
      yield* first.close()
      yield* endedLog(second, second.webhookId, 1)
      yield* second.close()
      expect(receiver.received).toHaveLength(2)
      yield* Scope.close(scope, Exit.void)
    }),
  )
})
