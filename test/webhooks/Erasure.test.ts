/** The remains of an erased user in the tables of webhooks. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { limits } from "../../src/Limits.ts"
import { tables } from "../../src/storage/Storage.ts"
import type { Outcome, OutgoingMessage } from "../../src/webhooks/send/Sender.ts"
import { DeliveryStore } from "../../src/webhooks/store/DeliveryStore.ts"
import { event, recordsOf, reward, sandbox, start as startEngine } from "../engine/fixture.ts"
import { RunningClock } from "../http/RunningClock.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { endedLog, logOf, receiving, startInMemory, until, webhook } from "./fixture.ts"

/** All happens in one millisecond; what is slept passes all the same. */
class StandingClock extends RunningClock {
  readonly #now: number

  constructor(now: string) {
    super(now)
    this.#now = Date.parse(now)
  }

  override currentTimeMillisUnsafe(): number {
    return this.#now
  }
}

const id = "somebody-ünique"
const everything = { from: new Uint8Array(), until: Uint8Array.of(255) }

/** The tables that have something of the user, without the erasures that are not carried out yet. */
const traces = (state: MemoryStorage.MemoryState): ReadonlyArray<string> =>
  tables
    .filter((table) => table !== "erasures")
    .flatMap((table) =>
      state
        .table(table)
        .entries({ table, ...everything })
        .filter((entry) => entry.some((bytes) => Buffer.from(bytes).includes(id)))
        .map(() => table),
    )

/** A receiver that answers so, with all that it was sent. */
const echoing = (status: () => number) =>
  Effect.map(receiving, (receiver) => {
    receiver.answer = (response, { body }) => {
      response.writeHead(status()).end(body)
    }
    return receiver
  })

describe("An erased user", () => {
  it.live("leaves nothing if an attempt about the user ends after everything else was erased", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const ends: Array<() => void> = []
      const outcome = { status: 200, error: null, body: id, retryAfter: undefined, durationMs: 1 }
      const makeSender = () => ({
        send: (_: OutgoingMessage, settled: (of: Outcome) => void) => {
          ends.push(() => settled(outcome))
          return () => {}
        },
        close: () => {},
      })
      const started = yield* startInMemory(state, {
        engine: { snapshotIntervalMs: 20 },
        makeSender,
      })
      yield* started.engine.askProject(sandbox, webhook("http://receiver.test/"))
      yield* started.engine.askUser(sandbox, reward(id, 5))
      yield* until(
        Effect.sync(() => ends.length),
        (length) => length === 1,
      )
      yield* started.engine.askUser(sandbox, { userId: id, command: { kind: "erasure" } })
      const store = new DeliveryStore(MemoryStorage.make({ state }))
      const head = started.engine.feed.head
      yield* until(
        Effect.all([store.cursor, store.jobs]).pipe(Effect.orDie),
        ([cursor = 0, jobs]) => cursor >= head && jobs.length === 0,
      )
      for (const end of ends.splice(0)) end()
      yield* until(
        Effect.sync(() => ends.length),
        (length) => length > 0,
      )
      for (const end of ends.splice(0)) end()
      yield* started.close()
      expect(traces(state)).toEqual([])
    }),
  )

  it.live("causes no redelivery of an older message that was requested just before", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const receiver = yield* receiving
      const hook = webhook(receiver.url(), ["reward.granted", "user.deleted"])
      const before = yield* startInMemory(state)
      yield* before.engine.askProject(sandbox, hook)
      yield* before.engine.askUser(sandbox, reward(id, 5))
      const [delivery] = yield* endedLog(before, hook.webhook.id, 1)
      yield* before.close()
      // Nobody delivers meanwhile: so the order is seen only when the user is gone.
      const between = yield* startEngine(MemoryStorage.make({ state }))
      const { at, index, sequence } = delivery!
      const command = {
        kind: "redeliver",
        webhookId: hook.webhook.id,
        sequence,
        at,
        index,
      } as const
      yield* between.engine.askProject(sandbox, command)
      // The order and the erasure do not come in the same turn.
      for (let other = 1; other <= limits.outboxTurnDeliveries; other++) {
        yield* between.engine.askUser(sandbox, reward(`other-${other}`, 5))
      }
      yield* between.engine.askUser(sandbox, { userId: id, command: { kind: "erasure" } })
      yield* between.close()
      const after = yield* startInMemory(state)
      const log = yield* endedLog(after, hook.webhook.id, limits.outboxTurnDeliveries + 2)
      yield* after.close()
      expect(log.at(-1)).toMatchObject({ sequence, status: "succeeded", attempts: 1 })
      const about = receiver.received.filter(({ message }) => message.data.userId === id)
      expect(about.map(({ message }) => message.type)).toEqual(["reward.granted", "user.deleted"])
    }),
  )

  it.live("is in no table of webhooks, for any status of the messages", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const started = yield* startInMemory(state, {
        engine: { snapshotIntervalMs: 20 },
        schedule: [0, 0.01, 3_600],
      })
      // One takes all, one refuses all, one refuses what is about this user at first.
      let refusals = 3
      const [taking, refusing, wavering] = [
        yield* echoing(() => 200),
        yield* echoing(() => 500),
        yield* echoing(() => (refusals-- > 0 ? 503 : 200)),
      ]
      const webhooks = [taking, refusing, wavering].map((receiver) => webhook(receiver!.url()))
      for (const made of webhooks) yield* started.engine.askProject(sandbox, made)
      yield* started.engine.askUser(sandbox, event(id, "TAP", { metadata: { me: id } }))
      yield* started.engine.askUser(sandbox, reward(id, 5))
      for (const made of webhooks) {
        yield* until(
          logOf(started, made.webhook.id),
          (log) =>
            log.length >= 4 &&
            log.some(({ attempts, status }) => attempts > 0 || status === "succeeded"),
        )
      }
      const left = Effect.sync(() => traces(state))
      // Receivers' replies are kept, for the search for faults.
      yield* until(left, (found) => found.includes("deliveries"))
      yield* started.engine.askUser(sandbox, { userId: id, command: { kind: "erasure" } })
      yield* started.engine.askUser(sandbox, reward("other", 5))
      yield* until(left, (found) => found.length === 0)
      yield* Effect.promise(() =>
        taking!.until(() =>
          ["user.deleted", "reward.granted"].every((type) =>
            taking!.received.some(
              ({ message }) =>
                message.type === type &&
                (message.data.userId === "other") === (type !== "user.deleted"),
            ),
          ),
        ),
      )
      const log = yield* logOf(started, webhooks[1]!.webhook.id)
      yield* started.close()
      expect(yield* left).toEqual([])
      expect(log.some(({ reason, status }) => status === "dropped" && reason === "erased")).toBe(
        true,
      )
      expect(taking!.received.map(({ message }) => message.type)).toContain("user.deleted")
    }),
  )

  it.live("appears in no later message, wherever the outbox is", () =>
    Effect.gen(function* () {
      const state = new MemoryStorage.MemoryState()
      const receiver = yield* receiving
      const made = webhook(receiver.url())
      const first = yield* startInMemory(state)
      yield* first.engine.askProject(sandbox, made)
      yield* first.close()
      // Without deliveries: more messages than the outbox takes at once lie between an event and
      // the end.
      const engine = yield* startEngine(MemoryStorage.make({ state }))
      yield* engine.engine.askUser(sandbox, event(id, "TAP", { metadata: { me: id } }))
      const others = Array.from({ length: limits.outboxTakeRecordsMax }, () => reward("other", 1))
      yield* engine.engine.askUsers(sandbox, others)
      yield* engine.engine.askUser(sandbox, { userId: id, command: { kind: "erasure" } })
      yield* engine.close()
      const second = yield* startInMemory(state)
      const deleted = () => receiver.received.find(({ message }) => message.type === "user.deleted")
      yield* Effect.promise(() => receiver.until(() => deleted() !== undefined))
      yield* second.close()
      const about = receiver.received.filter(({ body }) => body.includes(id))
      expect(about.map(({ message }) => message.type)).toEqual(["user.deleted"])
    }),
  )

  it.live(
    "appears in no later message if a new user takes the id within the same millisecond",
    () =>
      Effect.gen(function* () {
        const state = new MemoryStorage.MemoryState()
        const receiver = yield* receiving
        const made = webhook(receiver.url(), ["user.*", "event.tracked"])
        const first = yield* startInMemory(state)
        yield* first.engine.askProject(sandbox, made)
        yield* first.close()
        // The outbox does not take the event and the erasure at once.
        const others = Array.from({ length: limits.outboxTakeRecordsMax }, () => reward("other", 1))
        const engine = yield* startEngine(MemoryStorage.make({ state }))
        yield* engine.engine.askUser(sandbox, event(id, "BEFORE"))
        yield* engine.engine.askUsers(sandbox, others)
        yield* engine.engine.askUser(sandbox, { userId: id, command: { kind: "erasure" } })
        yield* engine.engine.askUser(sandbox, event(id, "AFTER"))
        yield* engine.engine.askUser(sandbox, event(id, "AFTER"))
        yield* engine.close()
        const about = recordsOf(state).filter(
          ({ subject }) => subject.actor === "user" && subject.userId === id,
        )
        expect(new Set(about.map(({ at }) => at)).size).toBe(1)
        const second = yield* startInMemory(state)
        const told = () => receiver.received.filter(({ body }) => body.includes(id))
        yield* Effect.promise(() =>
          receiver.until(() => told().at(-1)?.message.data.sequence === about.at(-1)!.sequence),
        )
        const [before] = about
        expect(yield* second.deliveries.standing({ ...before!, index: 0 })).toBe("erased")
        for (const after of about.slice(1)) {
          expect(yield* second.deliveries.standing({ ...after, index: 0 })).toBe("kept")
        }
        yield* second.close()
        expect(told().map(({ message: { data, type } }) => [type, data.action])).toEqual([
          ["user.deleted", undefined],
          ["user.created", undefined],
          ["event.tracked", "AFTER"],
          ["event.tracked", "AFTER"],
        ])
      }).pipe(Effect.provideService(Clock.Clock, new StandingClock("2026-11-03T12:00:00Z"))),
  )
})
