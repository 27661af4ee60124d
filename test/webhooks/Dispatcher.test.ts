import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ProjectCommand } from "../../src/domain/decide/Project.ts"
import { limits } from "../../src/Limits.ts"
import { event, production, reward, rule, sandbox } from "../engine/fixture.ts"
import { MemoryState } from "../storage/MemoryStorage.ts"
import {
  endedLog,
  logOf,
  receiving,
  type Started,
  startInMemory,
  until,
  webhook,
} from "./fixture.ts"
import { answer, isSignedBy, type Receiver } from "./Receiver.ts"

const wait = (promise: Promise<void>) => Effect.promise(() => promise)
const kindsOf = ({ received }: Receiver) => received.map(({ message }) => message.type)
const idsOf = ({ received }: Receiver) => received.map(({ headers }) => headers["webhook-id"])

const grant = ({ engine }: Started, userId: string, amount = 5) =>
  engine.askUser(sandbox, reward(userId, amount))
const ask = ({ engine }: Started, command: ProjectCommand) => engine.askProject(sandbox, command)
const change = (
  webhookId: string,
  of: Extract<ProjectCommand, { readonly kind: "updateWebhook" }>["change"],
) => ({ kind: "updateWebhook", webhookId, change: of }) as const

describe("A webhook", () => {
  it.live("gets each message of the kinds that it asks for once, and signed", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      const started = yield* startInMemory()
      const made = webhook(receiver.url(), ["xp.earned", "user.*"])
      yield* ask(started, made)
      yield* grant(started, "ada", 150)
      yield* grant(started, "bob")
      const log = yield* endedLog(started, made.webhook.id, 4)
      expect(log.map(({ attempts, kind, status }) => [kind, status, attempts])).toEqual([
        ["xp.earned", "succeeded", 1],
        ["user.created", "succeeded", 1],
        ["xp.earned", "succeeded", 1],
        ["user.created", "succeeded", 1],
      ])
      for (const received of receiver.received) {
        expect(isSignedBy(made.webhook.secret, received)).toBe(true)
        expect(received.headers).toMatchObject({
          "content-type": "application/json",
          "webhook-id": received.message.id,
          "user-agent": "Laurel",
        })
      }
      yield* started.close()
      expect(receiver.received).toHaveLength(4)
    }),
  )

  it.live("gets only messages of its own environment from after its creation", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      const started = yield* startInMemory()
      yield* grant(started, "before")
      const made = webhook(receiver.url())
      yield* ask(started, made)
      yield* started.engine.askUser(production, reward("elsewhere", 5))
      yield* grant(started, "ada")
      yield* endedLog(started, made.webhook.id, 3)
      expect(new Set(receiver.received.map(({ message }) => message.data.userId))).toEqual(
        new Set(["ada"]),
      )
      yield* started.close()
    }),
  )

  it.live("gets the messages about a user in order while many attempts are under way", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      let atOnce = 0
      let most = 0
      const waiting: Array<() => void> = []
      const open = new Set<string>()
      receiver.answer = (response, { message }) => {
        const { userId } = message.data
        expect(open.has(userId)).toBe(false)
        open.add(userId)
        most = Math.max(most, ++atOnce)
        waiting.push(() => {
          atOnce--
          open.delete(userId)
          response.writeHead(204).end()
        })
        // Once it has proven itself, answers are held until as many are under way as may be.
        if (receiver.received.length > 100 && most < limits.webhookConcurrencyMax) return
        for (const answer of waiting.splice(0)) setTimeout(answer, Math.random() * 4)
      }
      const started = yield* startInMemory()
      const made = webhook(receiver.url(), ["reward.granted"])
      yield* ask(started, made)
      const users = Array.from({ length: 20 }, (_, index) => `u${index}`)
      yield* started.engine.askUsers(
        sandbox,
        Array.from({ length: 400 }, (_, index) => reward(users[index % 20]!, 1)),
      )
      yield* wait(receiver.atLeast(400))
      yield* endedLog(started, made.webhook.id, 400)
      expect(receiver.received).toHaveLength(400)
      expect(most).toBe(limits.webhookConcurrencyMax)
      for (const user of users) {
        const sequences = receiver.received
          .filter(({ message }) => message.data.userId === user)
          .map(({ message }) => message.data.sequence)
        expect(sequences).toEqual(sequences.toSorted((one, other) => one - other))
        expect(sequences).toHaveLength(20)
      }
      yield* started.close()
    }),
  )

  it.live("that is slower than the events gets every message, in order, from the journal", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      const readyMax = 256
      const started = yield* startInMemory(undefined, { readyMax })
      const made = webhook(receiver.url(), ["reward.granted"])
      yield* ask(started, made)
      let release = () => {}
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      receiver.answer = (response) => held.then(() => response.writeHead(204).end())
      const count = 4 * readyMax
      for (let batch = 0; batch < 4; batch++) {
        const asked = Array.from({ length: readyMax }, () => reward("ada", 1))
        yield* started.engine.askUsers(sandbox, asked)
      }
      yield* until(logOf(started, made.webhook.id, "pending"), ({ length }) => length === 1_000)
      release()
      yield* wait(receiver.atLeast(count))
      yield* until(
        started.deliveries.stats(sandbox, made.webhook.id),
        (stats) => stats?.stored.succeeded === count,
      )
      const sequences = receiver.received.map(({ message }) => message.data.sequence)
      expect(sequences).toEqual(sequences.toSorted((one, other) => one - other))
      expect(new Set(idsOf(receiver)).size).toBe(count)
      expect(receiver.received).toHaveLength(count)
      yield* started.close()
    }),
  )

  it.live("that was changed gets messages according to its new definition", () =>
    Effect.gen(function* () {
      const [one, other] = yield* Effect.all([receiving, receiving])
      const started = yield* startInMemory()
      const made = webhook(one.url(), ["user.created"])
      const { id } = made.webhook
      yield* ask(started, made)
      yield* grant(started, "ada")
      yield* wait(one.atLeast(1))
      yield* ask(started, change(id, { url: other.url(), events: ["reward.granted"] }))
      yield* grant(started, "bob")
      yield* wait(other.atLeast(1))
      yield* ask(started, change(id, { status: "disabled" }))
      yield* grant(started, "carl")
      yield* ask(started, change(id, { status: "enabled" }))
      yield* grant(started, "dora")
      yield* wait(other.atLeast(2))
      yield* endedLog(started, id, 3)
      expect([kindsOf(one), kindsOf(other)]).toEqual([
        ["user.created"],
        ["reward.granted", "reward.granted"],
      ])
      expect(other.received[1]?.message.data.userId).toBe("dora")
      yield* started.close()
    }),
  )

  it.live("that was deleted gets no more messages, and leaves no row in the store", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      const state = new MemoryState()
      const started = yield* startInMemory(state)
      const made = webhook(receiver.url())
      const other = webhook(receiver.url("127.0.0.1", "/other"), ["reward.granted"])
      yield* ask(started, made)
      yield* ask(started, other)
      receiver.answer = answer(500)
      yield* grant(started, "ada")
      yield* until(
        logOf(started, made.webhook.id),
        (log) => log.length === 3 && log.every(({ attempts }) => attempts === 1),
      )
      yield* ask(started, { kind: "deleteWebhook", webhookId: made.webhook.id })
      const number = 1
      const left = Effect.sync(() =>
        (["endpoints", "deliveries", "due", "attempts"] as const).flatMap((table) =>
          state
            .table(table)
            .entries({ table, from: new Uint8Array([0]), until: new Uint8Array([255]) })
            .filter(([key]) => key[7] === number),
        ),
      )
      yield* until(
        Effect.andThen(logOf(started, other.webhook.id), left),
        ({ length }) => length === 0,
      )
      const before = receiver.received.filter(({ path }) => path === "/hook").length
      receiver.answer = answer(204)
      yield* grant(started, "bob")
      yield* until(logOf(started, other.webhook.id, "succeeded"), ({ length }) => length === 1)
      expect(receiver.received.filter(({ path }) => path === "/hook")).toHaveLength(before)
      yield* started.close()
    }),
  )

  it.live("reads no journal while it keeps up, and costs nothing without webhooks", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      const state = new MemoryState()
      const started = yield* startInMemory(state)
      for (let round = 0; round < 10; round++) yield* grant(started, "ada")
      const tables = ["outbox", "endpoints", "deliveries", "due", "attempts"] as const
      const stored = () =>
        tables.map(
          (table) =>
            state
              .table(table)
              .entries({ table, from: new Uint8Array([0]), until: new Uint8Array([255]) }).length,
        )
      expect(stored()).toEqual([0, 0, 0, 0, 0])
      const made = webhook(receiver.url(), ["reward.granted"])
      yield* ask(started, made)
      yield* grant(started, "ada")
      yield* endedLog(started, made.webhook.id, 1)
      // Only the cursor is in `outbox`.
      expect(stored()).toEqual([1, 1, 1, 0, 0])
      yield* started.close()
    }),
  )

  it.live("gets messages about rules and events", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      const started = yield* startInMemory()
      const made = webhook(receiver.url())
      yield* ask(started, made)
      yield* ask(started, rule("TAP", 150))
      yield* started.engine.askUser(sandbox, event("ada", "TAP", { metadata: { lesson: 7 } }))
      yield* endedLog(started, made.webhook.id, 4)
      expect(kindsOf(receiver).toSorted()).toEqual([
        "event.tracked",
        "level.changed",
        "user.created",
        "xp.earned",
      ])
      yield* started.close()
    }),
  )
})
