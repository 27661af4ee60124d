/** Retention of deliveries, and messages that are not sent any more. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { limits } from "../../../src/Limits.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import type { MessageSender, Outcome } from "../../../src/webhooks/send/Sender.ts"
import { reward, sandbox, start as startEngine } from "../../engine/fixture.ts"
import { RunningClock } from "../../http/RunningClock.ts"
import { sampleValue } from "../../metrics/exposition.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { MemoryState } from "../../storage/MemoryStorage.ts"
import {
  endedLog,
  logOf,
  type Started,
  type StartOptions,
  startInMemory,
  until,
  webhook,
} from "../fixture.ts"
import { VirtualReceivers } from "../VirtualReceivers.ts"

const hour = 3_600_000
const day = 24 * hour
const url = "http://receiver.test/"

const starting = Effect.fnUntraced(function* (
  options: StartOptions = {},
  state: MemoryState = new MemoryState(),
) {
  const clock = new RunningClock("2026-11-03T12:00:00Z")
  const receivers = new VirtualReceivers()
  const running = yield* Effect.provideService(
    startInMemory(state, { makeSender: receivers.senders(), ...options }),
    Clock.Clock,
    clock,
  )
  const made = webhook(url, ["reward.granted"])
  yield* running.engine.askProject(sandbox, made)
  const pass = (ms: number) =>
    clock.set(new Date(clock.currentTimeMillisUnsafe() + ms).toISOString())
  return { ...running, receivers, clock, pass, id: made.webhook.id }
})

const grant = ({ engine }: Pick<Started, "engine">, ...users: ReadonlyArray<string>) =>
  Effect.forEach(users, (user) => engine.askUser(sandbox, reward(user, 1)), { discard: true })
const tallyOf = ({ deliveries }: Pick<Started, "deliveries">, id: string) =>
  Effect.map(deliveries.stats(sandbox, id), (stats) => stats!)
const usersOf = ({ receivers }: { readonly receivers: VirtualReceivers }) =>
  receivers.of(url).map(({ body }) => JSON.parse(body).data.userId)

describe("Pending deliveries", () => {
  it.live("are bounded: further ones are counted as dropped, and can be recovered", () =>
    Effect.gen(function* () {
      const running = yield* starting({ pendingMax: 3, schedule: [0, hour, hour] })
      const { engine, id, receivers } = running
      receivers.answer = () => 503
      yield* grant(running, "ada", "bob", "carl")
      yield* until(
        logOf(running, id),
        (log) => log.length === 3 && log.every((one) => one.attempts > 0),
      )
      expect((yield* tallyOf(running, id)).ended.dropped).toBe(0)
      yield* grant(running, "dora", "emil")
      const full = yield* until(tallyOf(running, id), ({ ended }) => ended.dropped === 2)
      expect(full.stored).toEqual({ pending: 3, succeeded: 0, failed: 0, dropped: 0 })

      receivers.answer = () => 204
      running.pass(2 * hour)
      yield* until(tallyOf(running, id), ({ stored }) => stored.succeeded === 3)
      const since = running.clock.currentTimeMillisUnsafe() - day
      yield* engine.askProject(sandbox, { kind: "recoverWebhook", webhookId: id, since })
      yield* until(tallyOf(running, id), ({ stored }) => stored.succeeded === 5)
      expect(new Set(usersOf(running))).toEqual(new Set(["ada", "bob", "carl", "dora", "emil"]))
      yield* running.close()
    }),
  )

  it.live("are bounded also before any of them is written", () =>
    Effect.gen(function* () {
      let sent = 0
      const makeSender = (): MessageSender => ({
        // The first is answered; nothing after it.
        send: (_, settled) => {
          const outcome = { status: 204, error: null, body: "", retryAfter: undefined }
          if (++sent === 1) setImmediate(() => settled({ ...outcome, durationMs: 1 }))
          return () => {}
        },
        close: () => {},
      })
      const started = yield* startInMemory(undefined, {
        makeSender,
        pendingMax: 30,
        shutdownGraceMs: 1,
      })
      const made = webhook("http://receiver.test/", ["reward.granted"])
      const { id } = made.webhook
      const stats = Effect.map(started.deliveries.stats(sandbox, id), (found) => found!)
      yield* started.engine.askProject(sandbox, made)
      yield* started.engine.askUser(sandbox, reward("ada", 1))
      yield* until(stats, ({ stored }) => stored.succeeded === 1)
      const users = Array.from({ length: 40 }, (_, n) => reward(`u${n}`, 1))
      yield* started.engine.askUsers(sandbox, users)
      const full = yield* until(
        stats,
        ({ ended, stored }) => stored.pending + ended.dropped === users.length,
      )
      expect([full.stored.pending, full.ended.dropped]).toEqual([30, 10])
      yield* started.close()
    }),
  )

  it.live("expire after the retention time, and not before", () =>
    Effect.gen(function* () {
      const running = yield* starting({ schedule: [0, 7 * day], retentionMs: 6 * day })
      const { id, receivers } = running
      receivers.answer = () => 503
      const attempted = (count: number) =>
        until(
          logOf(running, id),
          (log) => log.length === count && log.every(({ attempts }) => attempts === 1),
        )
      yield* grant(running, "old")
      yield* attempted(1)
      running.pass(6 * day - hour)
      yield* grant(running, "young")
      const both = yield* attempted(2)
      expect(both.map(({ status }) => status)).toEqual(["pending", "pending"])
      running.pass(2 * hour)
      // Looked at now and then.
      const log = yield* until(logOf(running, id), (all) => {
        running.pass(limits.webhookSweepIntervalMs)
        return all.some(({ status }) => status !== "pending")
      })
      expect(log.map(({ reason, status }) => [status, reason])).toEqual([
        ["pending", null],
        ["dropped", "expired"],
      ])
      expect((yield* tallyOf(running, id)).ended).toEqual({ succeeded: 0, failed: 0, dropped: 1 })
      yield* running.close()
    }),
  )

  it.live("are dropped if their record was pruned from the journal", () =>
    Effect.gen(function* () {
      const state = new MemoryState()
      const first = yield* starting({ schedule: [0, hour] }, state)
      first.receivers.answer = () => 503
      yield* grant(first, "ada")
      yield* until(logOf(first, first.id), ([one]) => one?.attempts === 1)
      yield* grant(first, "bob")
      yield* until(logOf(first, first.id), (log) => log.length === 2)
      yield* first.close()
      // All but the last record.
      state.firstSequence += state.records.length - 1
      state.records = state.records.slice(-1)
      const receivers = new VirtualReceivers()
      const clock = new RunningClock(
        new Date(first.clock.currentTimeMillisUnsafe() + day).toISOString(),
      )
      const second = yield* Effect.provideService(
        startInMemory(state, { makeSender: receivers.senders() }),
        Clock.Clock,
        clock,
      )
      const log = yield* endedLog(second, first.id, 2)
      expect(log.map(({ reason, status }) => [status, reason])).toEqual([
        ["succeeded", null],
        ["dropped", "gone"],
      ])
      const said = second.logged.find((line) => line.includes("Dropped webhook deliveries"))
      expect(said).toContain(`webhookId=${first.id}`)
      expect(said).toContain("deliveries=1")
      yield* second.close()
    }),
  )
})

describe("Records that are pruned before they are expanded", () => {
  it.live("are logged and counted, and the next record makes a message", () =>
    Effect.gen(function* () {
      const state = new MemoryState()
      const first = yield* starting({}, state)
      yield* first.close()
      // Nobody delivers meanwhile.
      const between = yield* startEngine(MemoryStorage.make({ state }))
      yield* grant(between, "lost", "lost", "told")
      yield* between.close()
      state.firstSequence += state.records.length - 1
      state.records = state.records.slice(-1)
      const receivers = new VirtualReceivers()
      const metrics = new Metrics()
      const second = yield* startInMemory(state, { makeSender: receivers.senders(), metrics })
      const log = yield* endedLog(second, first.id, 1)
      expect(log.map(({ status }) => status)).toEqual(["succeeded"])
      expect(usersOf({ receivers })).toEqual(["told"])
      const [{ sequence } = { sequence: 0 }] = log
      const missed = `from=${first.engine.feed.head + 1} until=${sequence - 1}`
      const said = second.logged.find((line) => line.includes("pruned before the outbox read them"))
      expect([said, missed]).toEqual([expect.stringContaining(missed), missed])
      const counted = sampleValue(metrics.text(), "laurel_webhook_missed_records_total")
      expect(counted).toBe(sequence - 1 - first.engine.feed.head)
      yield* second.close()
    }),
  )
})

describe("Deliveries that have ended", () => {
  it.live("are kept up to a number of each status, newest first", () =>
    Effect.gen(function* () {
      const logMax = 20
      const running = yield* starting({ logMax })
      const { id } = running
      // Pruning begins a little beyond, so that it is not done for each.
      const most = logMax + limits.webhookLogSlack
      const users = Array.from({ length: most + 1 }, (_, index) => `u${index}`)
      yield* running.engine.askUsers(
        sandbox,
        users.slice(0, most).map((user) => reward(user, 1)),
      )
      yield* until(tallyOf(running, id), ({ stored }) => stored.succeeded === most)
      expect(yield* logOf(running, id)).toHaveLength(most)
      yield* grant(running, users.at(-1)!)
      const kept = yield* until(tallyOf(running, id), ({ stored }) => stored.succeeded === logMax)
      expect(kept.ended.succeeded).toBe(most + 1)
      const log = yield* logOf(running, id)
      expect(log).toHaveLength(logMax)
      const last = receivedIds(running).slice(-logMax)
      expect(log.map(({ messageId }) => messageId).toReversed()).toEqual(last)
      yield* running.close()
    }),
  )

  it.live("are removed after the retention time, with their attempts", () =>
    Effect.gen(function* () {
      const state = new MemoryState()
      const running = yield* starting({ schedule: [0, 0], retentionMs: 6 * day }, state)
      const { id, receivers } = running
      receivers.answer = (_, { id: message }) =>
        receivers.of(url).filter((one) => one.id === message).length === 1 ? 500 : 204
      yield* grant(running, "ada")
      yield* endedLog(running, id, 1)
      running.pass(6 * day - hour)
      yield* grant(running, "bob")
      yield* endedLog(running, id, 2)
      running.pass(2 * hour)
      // Looked at now and then.
      const left = yield* until(logOf(running, id), (log) => {
        running.pass(limits.webhookSweepIntervalMs)
        return log.length < 2
      })
      expect(left.map(({ user }) => user)).toHaveLength(1)
      const table = "attempts"
      const all = { table, from: new Uint8Array([0]), until: new Uint8Array([255]) } as const
      expect(state.table(table).entries(all)).toHaveLength(1)
      expect((yield* tallyOf(running, id)).ended.succeeded).toBe(2)
      yield* running.close()
    }),
  )
})

const receivedIds = ({ receivers }: { readonly receivers: VirtualReceivers }) =>
  receivers.of(url).map(({ id }) => id)

describe("The messages of an erased user", () => {
  it.live("are not sent any more, and their replies are blanked", () =>
    Effect.gen(function* () {
      const running = yield* starting({ schedule: [0, hour, hour] })
      const { deliveries, engine, id, receivers } = running
      receivers.answer = () => 503
      yield* grant(running, "ada", "bob")
      const before = yield* until(
        logOf(running, id),
        (log) => log.length === 2 && log.every(({ attempts }) => attempts === 1),
      )
      yield* engine.askUser(sandbox, { userId: "ada", command: { kind: "erasure" } })
      const log = yield* until(logOf(running, id), (all) =>
        all.some(({ status }) => status === "dropped"),
      )
      expect(log.map(({ reason, status }) => [status, reason])).toEqual([
        ["pending", null],
        ["dropped", "erased"],
      ])
      const [bob, ada] = yield* Effect.forEach(before, (one) => deliveries.find(sandbox, id, one))
      const bodiesOf = (found: typeof ada) =>
        found!.attempts.map(({ body }: Pick<Outcome, "body">) => body)
      expect([bodiesOf(bob), bodiesOf(ada)]).toEqual([["what was wrong"], [""]])
      receivers.answer = () => 204
      running.pass(2 * hour)
      yield* endedLog(running, id, 2)
      // Messages of a later user with the same id are sent.
      yield* grant(running, "ada")
      yield* endedLog(running, id, 3)
      expect(usersOf(running)).toEqual(["ada", "bob", "bob", "ada"])
      yield* running.close()
    }),
  )
})
