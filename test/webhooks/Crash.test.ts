/**
 * The process is killed between each two steps of a delivery: at each write to the journal and to
 * the store, before and after it is on disk, with attempts under way. The next process continues,
 * and in the end every message of the journal has arrived, and nothing else.
 */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { messageId, messageKindAt } from "../../src/domain/message/Message.ts"
import { kindsOf } from "../../src/domain/message/MessageKind.ts"
import { tables } from "../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { deliveryStatuses } from "../../src/webhooks/store/Delivery.ts"
import { DeliveryStore } from "../../src/webhooks/store/DeliveryStore.ts"
import { recordsOf, reward, sandbox } from "../engine/fixture.ts"
import { RunningClock } from "../http/RunningClock.ts"
import { type Dying, dyingDisk } from "../simulation/dyingDisk.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { endedLog, logOf, type Started, startInMemory, startOn, until, webhook } from "./fixture.ts"
import { VirtualReceivers } from "./VirtualReceivers.ts"

const hour = 3_600_000
const hooks = () => [
  webhook("http://steady.test/", ["*"]),
  webhook("http://failing.test/", ["reward.granted", "user.*"]),
]

/**
 * One life of the data: a process that dies as `dying` says, and one that continues. Returns
 * whether the first died.
 */
const lives = Effect.fnUntraced(function* (dying: Dying, clock: RunningClock) {
  const state = new MemoryStorage.MemoryState()
  const store = new DeliveryStore(MemoryStorage.make({ state }))
  const made = hooks()
  // The first attempt of each message fails.
  const receivers: VirtualReceivers = new VirtualReceivers((url, { id }) => {
    const times = receivers.of(url).filter((message) => message.id === id).length
    return url.includes("failing") && times === 1 ? 500 : 204
  })

  const begin = Effect.fnUntraced(function* (disk: Dying) {
    const process = { alive: true }
    const storage = dyingDisk(MemoryStorage.make({ state }), disk)
    const started = yield* startOn(storage, {
      flushIntervalMs: 0,
      schedule: [0, 0, 0, 0, 0, 0],
      makeSender: receivers.senders(process),
      engine: { snapshotIntervalMs: hour, clockCheckMs: hour },
    })
    return { process, started }
  })

  /** The requests of clients, repeated until they are answered. */
  const use = Effect.fnUntraced(function* ({ engine }: Started) {
    const { webhooks } = yield* engine.readProject(sandbox)
    for (const hook of made) {
      if (!webhooks.has(hook.webhook.id)) yield* engine.askProject(sandbox, hook)
    }
    for (let round = 0; round < 5; round++) {
      for (const user of ["ada", "bob"]) {
        yield* engine.askUser(sandbox, reward(user, 1, `${user}${round}`))
        yield* yieldToEventLoop
      }
      for (let turn = 0; turn < 4; turn++) yield* yieldToEventLoop
    }
  })

  /** The ids of the messages that the journal has for a webhook. */
  const expected = ({ engine }: Started, id: string) =>
    Effect.map(engine.readProject(sandbox), ({ webhooks }) => {
      const { events, since } = webhooks.get(id)!
      const kinds = kindsOf(events)
      return recordsOf(state)
        .filter(({ sequence }) => sequence > since)
        .flatMap((record) =>
          record.facts.flatMap((_, index) => {
            const kind = messageKindAt(record, index)
            return kind !== undefined && kinds.has(kind) ? [messageId({ ...record, index })] : []
          }),
        )
    })

  const settled = Effect.fnUntraced(function* (started: Started) {
    for (const { webhook: hook } of made) {
      const ids = yield* expected(started, hook.id)
      while (true) {
        const log = yield* logOf(started, hook.id)
        if (log.length === ids.length && log.every(({ status }) => status !== "pending")) break
        clock.set(new Date(clock.currentTimeMillisUnsafe() + 1_000).toISOString())
        yield* yieldToEventLoop
      }
    }
  })

  const first = yield* begin(dying)
  const died = () => dying.writesLeft < 0 || dying.appendsLeft < 0
  const using = yield* Effect.forkChild(
    Effect.andThen(use(first.started), settled(first.started)),
    { startImmediately: true },
  )
  while (using.pollUnsafe() === undefined && !died()) yield* yieldToEventLoop
  // Work without disk continues for a moment.
  for (let turn = 0; died() && turn < 3; turn++) yield* yieldToEventLoop
  first.process.alive = false
  Object.assign(dying, { writesLeft: 0, appendsLeft: 0, lastWriteKept: false })
  dying.writesLeft = dying.appendsLeft = -1
  dying.lastAppendKept = false
  const finished = using.pollUnsafe() !== undefined
  yield* Fiber.interrupt(using)
  const closing = yield* Effect.forkChild(first.started.close("kill"), { startImmediately: true })
  while (closing.pollUnsafe() === undefined) {
    clock.set(new Date(clock.currentTimeMillisUnsafe() + 60_000).toISOString())
    yield* yieldToEventLoop
  }

  /** The messages known to have arrived: they do not come again. */
  const known = new Map<string, ReadonlyArray<string>>()
  for (const { webhook: hook } of made) {
    const since = recordsOf(state).find(({ facts }) =>
      facts.some((fact) => fact.kind === "webhook.created" && fact.webhook.id === hook.id),
    )?.sequence
    const stored = since === undefined ? [] : yield* store.oldest(since, "succeeded", 1_000)
    known.set(
      hook.url,
      stored.map((delivery) => delivery.messageId),
    )
  }
  const before = new Map(made.map(({ webhook: { url } }) => [url, receivers.of(url).length]))

  const second = yield* begin({
    appendsLeft: Infinity,
    lastAppendKept: false,
    writesLeft: Infinity,
  })
  yield* use(second.started)
  yield* settled(second.started)
  for (const { webhook: hook } of made) {
    const ids = yield* expected(second.started, hook.id)
    const received = receivers.of(hook.url)
    expect(new Set(received.map(({ id }) => id))).toEqual(new Set(ids))
    const bodies = new Map(received.map(({ body, id }) => [id, body]))
    for (const { body, id } of received) {
      expect([JSON.parse(body).id, bodies.get(id)]).toEqual([id, body])
    }
    const later = received.slice(before.get(hook.url)).map(({ id }) => id)
    expect(later.filter((id) => known.get(hook.url)!.includes(id))).toEqual([])
    const log = yield* logOf(second.started, hook.id)
    expect(log.map((delivery) => delivery.messageId).toSorted()).toEqual(ids.toSorted())
    const stats = yield* second.started.deliveries.stats(sandbox, hook.id)
    for (const status of deliveryStatuses) {
      expect(stats?.stored[status]).toBe(log.filter((each) => each.status === status).length)
    }
    expect(stats?.stored.succeeded).toBe(ids.length)
  }
  expect([...first.started.broken, ...second.started.broken]).toEqual([])
  yield* second.started.close()
  return !finished
})

const whole = { appendsLeft: Infinity, lastAppendKept: false, writesLeft: Infinity }

describe("A process that is killed loses no message, invents none, and keeps their ids", () => {
  it.live.each<readonly [string, (left: number) => Dying]>([
    ["before the journal has a batch", (appendsLeft) => ({ ...whole, appendsLeft })],
    [
      "when the journal has a batch",
      (appendsLeft) => ({ ...whole, appendsLeft, lastAppendKept: true }),
    ],
    ["before the store has what it was told", (writesLeft) => ({ ...whole, writesLeft })],
    [
      "when the store has what it was told",
      (writesLeft) => ({ ...whole, writesLeft, lastWriteKept: true }),
    ],
  ])("at each write: %s", ([, dying]) => {
    const clock = new RunningClock("2026-11-03T12:00:00Z")
    return Effect.gen(function* () {
      let died = 0
      while (yield* lives(dying(died), clock)) died++
      // How many writes there are depends on what is written together.
      expect(died).toBeGreaterThanOrEqual(6)
    }).pipe(Effect.provideService(Clock.Clock, clock))
  })
})

/** The state after a power cut at this moment. */
const copyOf = (state: MemoryStorage.MemoryState): MemoryStorage.MemoryState => {
  const copy = new MemoryStorage.MemoryState()
  copy.records = [...state.records]
  copy.firstSequence = state.firstSequence
  for (const table of tables) {
    const all = { table, from: new Uint8Array(), until: new Uint8Array([255, 255]) }
    for (const [key, value] of state.table(table).entries(all)) copy.table(table).set(key, value)
  }
  return copy
}

describe("A process that is killed while an older message is under way", () => {
  it.live("sends that message again, and none that was answered since", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const store = new DeliveryStore(MemoryStorage.make({ state }))
      const receivers = new VirtualReceivers((url) => (url.includes("hanging") ? undefined : 204))
      const options = { makeSender: receivers.senders(), shutdownGraceMs: 0 }
      const first = yield* startInMemory(state, options)
      const slow = webhook("http://hanging.test/", ["reward.granted"])
      const quick = webhook("http://quick.test/", ["reward.granted"])
      for (const made of [slow, quick]) yield* first.engine.askProject(sandbox, made)
      const { webhooks } = yield* first.engine.readProject(sandbox)
      const number = webhooks.get(quick.webhook.id)!.since
      // The creation of a webhook is written at once, with all deliveries that exist by then.
      yield* until(Effect.orDie(store.cursor), (cursor = 0) => cursor >= number)
      yield* first.engine.askUser(sandbox, reward("ada", 1))
      yield* until(Effect.orDie(store.stats(number)), ({ stored }) => stored.succeeded === 1)
      const [cursor = 0, reached = 0] = yield* Effect.orDie(
        Effect.all([store.cursor, store.reached]),
      )
      expect(cursor).toBeLessThan(reached)
      const left = copyOf(state)
      yield* first.close()

      receivers.answer = () => 204
      const second = yield* startInMemory(left, options)
      for (const made of [slow, quick]) yield* endedLog(second, made.webhook.id, 1)
      expect(receivers.of(slow.webhook.url)).toHaveLength(2)
      expect(receivers.of(quick.webhook.url)).toHaveLength(1)
      yield* second.close()
    }),
  )
})
