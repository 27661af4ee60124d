/** A due delivery of the store after its endpoint has loaded it. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { FeedEntry } from "../../src/engine/commit/Feed.ts"
import { Dispatcher, type DispatcherOptions } from "../../src/webhooks/Dispatcher.ts"
import { makeBackground } from "../../src/webhooks/endpoint/Background.ts"
import { Endpoint } from "../../src/webhooks/endpoint/Endpoint.ts"
import { Erasures } from "../../src/webhooks/endpoint/Erasures.ts"
import { Slots } from "../../src/webhooks/endpoint/Slots.ts"
import { DeliveryStore } from "../../src/webhooks/store/DeliveryStore.ts"
import { DeliveryWriter } from "../../src/webhooks/store/DeliveryWriter.ts"
import { recordsOf, reward, sandbox } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { logOf, startInMemory, until, webhook } from "./fixture.ts"
import { VirtualReceivers } from "./VirtualReceivers.ts"

const hour = 3_600_000
const retentionMs = 24 * hour
const onBroken = () => expect.unreachable()

/**
 * Loads a delivery whose first attempt failed, `ageMs` after its record, and answers its status and
 * the reason for it.
 */
const loaded = Effect.fnUntraced(function* (
  ageMs: number,
  isErased: DispatcherOptions["isErased"] = () => Effect.succeed(false),
) {
  const state = new MemoryStorage.MemoryState()
  const storage = MemoryStorage.make({ state })
  const receivers = new VirtualReceivers(() => 503)
  const makeSender = receivers.senders()
  const schedule = [0, hour]
  const started = yield* startInMemory(state, { makeSender, schedule })
  const made = webhook("http://receiver.test/", ["reward.granted"])
  yield* started.engine.askProject(sandbox, made)
  yield* started.engine.askUser(sandbox, reward("ada", 1))
  const tried = until(logOf(started, made.webhook.id), ([newest]) => newest?.attempts === 1)
  const [delivery] = yield* tried
  const { at, dueAt } = delivery!
  const { webhooks } = yield* started.engine.readProject(sandbox)
  yield* started.close()

  receivers.answer = () => 204
  const store = new DeliveryStore(storage)
  const now = () => dueAt
  const writer = new DeliveryWriter({ storage, now, onBroken, flushIntervalMs: 0 })
  const erasures = new Erasures()
  const entries = new Map(
    recordsOf(state).map((record) => [record.sequence, new FeedEntry(record, 1)]),
  )
  const dispatcher = new Dispatcher({
    feed: { find: () => Effect.succeed(entries) },
    store,
    erasures,
    now,
    recordNow: () => at + ageMs,
    longestPauseMs: hour,
    retentionMs,
    isErased,
    hasRoom: () => true,
    background: yield* makeBackground(onBroken),
  })
  const hook = webhooks.get(made.webhook.id)!
  const endpoint = new Endpoint(sandbox, hook, yield* store.stats(hook.since), {
    writer,
    slots: new Slots(8),
    memory: { deliveries: 0, bytes: 0 },
    erasures,
    metrics: { attempted: () => {} },
    makeSender,
    schedule,
    random: () => 0.5,
    now,
    wallNow: now,
    wake: dispatcher.wake,
    disable: onBroken,
  })
  writer.open(endpoint)
  writer.onWritten((deliveries) => {
    for (const delivery of deliveries) endpoint.queue.written(delivery)
  })
  writer.begin(0, 0, 1)
  yield* writer.run
  endpoint.queue.behind = true
  dispatcher.wake(endpoint)
  const [ended] = yield* until(
    Effect.orDie(store.newest(hook.since, undefined, undefined, 1)),
    ([newest]) => newest!.status !== "pending",
  )
  return [ended!.status, ended!.reason]
}, Effect.scoped)

describe("A due delivery that is loaded from the store", () => {
  it.live("is sent up to its retention time, and expires a millisecond later", () =>
    Effect.gen(function* () {
      expect(yield* loaded(retentionMs)).toEqual(["succeeded", null])
      expect(yield* loaded(retentionMs + 1)).toEqual(["dropped", "expired"])
    }),
  )

  it.live("is dropped if its user is erased, also before a job has reached it", () =>
    Effect.gen(function* () {
      expect(yield* loaded(0, () => Effect.succeed(true))).toEqual(["dropped", "erased"])
    }),
  )
})
