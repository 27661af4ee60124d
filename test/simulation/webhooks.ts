/**
 * Seeded runs of the delivery of webhooks: the real engine, outbox, endpoints and store, a virtual
 * clock, virtual receivers, and a process that is killed at any call of its storage, before or
 * after the call's effect.
 *
 * After each kill, and at the end, the tables pass `snapshots verify`. Messages that the store
 * knows to have succeeded are not sent again unless a caller asks. In the end every message of the
 * journal has arrived or is accounted for, and no fiber has failed.
 */

import { expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { WebhookCommand } from "../../src/domain/decide/Webhooks.ts"
import { messageId, messageKindAt } from "../../src/domain/message/Message.ts"
import { kindsOf } from "../../src/domain/message/MessageKind.ts"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import { limits } from "../../src/Limits.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import type { MessageSender, Outcome } from "../../src/webhooks/send/Sender.ts"
import { makeSecret } from "../../src/webhooks/send/Signature.ts"
import { deliveryStatuses } from "../../src/webhooks/store/Delivery.ts"
import { DeliveryStore } from "../../src/webhooks/store/DeliveryStore.ts"
import { recordsOf, reward, sandbox } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { type Started, type StartOptions, startOn } from "../webhooks/fixture.ts"
import { tableFaults } from "../webhooks/store/tables.ts"
import { Random } from "./random.ts"
import { type Life, stoppingWorld } from "./stoppingWorld.ts"

const hour = 3_600_000
const users = ["ada", "bob", "cyd", "dee", "eve"]

/** What the oracle knows of a webhook. */
interface Hook {
  readonly number: number
  readonly id: string
  readonly url: string
  readonly events: ReadonlyArray<string>
  /** Whether it was ever disabled or changed its messages: then it need not have all. */
  lax: boolean
  deleted: boolean
}

class Simulation {
  readonly random: Random
  readonly state = new MemoryStorage.MemoryState()
  readonly #store: DeliveryStore
  /** By URL and message, how often it got an answer of 2xx. */
  readonly #taken = new Map<string, number>()
  /** The deliveries that the store knew to have succeeded when a process ended. */
  readonly #done = new Set<string>()
  readonly #asked = new Set<string>()
  readonly #recovered = new Set<string>()
  readonly #erased = new Set<string>()
  readonly #again: Array<string> = []
  readonly #options: StartOptions
  /** Whether the run is at its end: then receivers accept everything. */
  #kind = false
  #made = 0
  #life!: Life
  #started: Started | undefined
  kills = 0

  constructor(seed: number) {
    this.random = new Random(seed)
    this.#store = new DeliveryStore(MemoryStorage.make({ state: this.state }))
    this.#options = {
      flushIntervalMs: this.random.pick([0, 5, 200]),
      flushDeliveries: this.random.pick([3, 1_000]),
      schedule: [0, 1_000, 1_000, 2_000, 2_000, 5_000, 5_000, 5_000, 5_000],
      // Bounds so low that runs reach them.
      pendingMax: this.random.pick([5, 1_000]),
      logMax: this.random.pick([3, 10_000]),
      readyMax: this.random.pick([1, 4, 1_000]),
      shutdownGraceMs: 0,
      random: () => this.random.next(),
      engine: { snapshotIntervalMs: 2_000, clockCheckMs: hour },
    }
  }

  /** Begins a life, which may end during its start. */
  readonly start = Effect.gen({ self: this }, function* () {
    while (this.#started === undefined) {
      const ended = { now: false }
      const life: Life = {
        alive: true,
        callsLeft: this.#kind ? Number.POSITIVE_INFINITY : this.random.integer(0, 300),
        lastKept: this.random.chance(0.5),
        onEnd: () => {
          ended.now = true
        },
      }
      this.#life = life
      const storage = stoppingWorld(MemoryStorage.make({ state: this.state }), life)
      const options = { ...this.#options, makeSender: (url: string) => this.#sender(url, life) }
      const starting = yield* Effect.forkChild(startOn(storage, options))
      while (starting.pollUnsafe() === undefined && life.alive) yield* this.pass(1)
      if (starting.pollUnsafe() === undefined) {
        yield* Fiber.interrupt(starting)
        this.kills++
        yield* this.look
      } else this.#started = yield* Fiber.join(starting)
    }
    return this.#started
  })

  /** Ends the process, at a call of its storage or at any other moment. */
  readonly end = Effect.gen({ self: this }, function* () {
    const started = this.#started!
    this.#life.alive = false
    this.#started = undefined
    this.kills++
    const closing = yield* Effect.forkChild(started.close("kill"))
    while (closing.pollUnsafe() === undefined) yield* this.pass(60_000)
    expect(started.broken).toEqual([])
    expect(started.logged.filter((line) => /crashed/.test(line))).toEqual([])
    yield* this.look
  })

  get isAlive(): boolean {
    return this.#life.alive
  }

  /** Lets time pass, and the work that is due run. */
  pass(ms: number): Effect.Effect<void> {
    return Effect.andThen(Effect.andThen(TestClock.adjust(ms), yieldToEventLoop), yieldToEventLoop)
  }

  /** Checks the durable data. */
  readonly look = Effect.gen({ self: this }, function* () {
    const hooks = this.hooks().filter(({ deleted }) => !deleted)
    expect(
      tableFaults(
        this.state,
        hooks.map(({ number }) => number),
      ),
    ).toEqual([])
    for (const { number, url } of hooks) {
      for (const { messageId: id } of yield* this.#store.oldest(number, "succeeded", 100_000)) {
        this.#done.add(`${url} ${id}`)
      }
    }
    expect(this.#again).toEqual([])
  })

  /** All webhooks in the journal. */
  hooks(): ReadonlyArray<Hook> {
    const hooks = new Map<string, Hook>()
    for (const { facts, sequence } of recordsOf(this.state)) {
      for (const fact of facts) {
        if (fact.kind === "webhook.created") {
          const { events, id, url } = fact.webhook
          hooks.set(id, { number: sequence, id, url, events, lax: false, deleted: false })
        } else if (fact.kind === "webhook.deleted") hooks.get(fact.webhookId)!.deleted = true
        else if (fact.kind === "webhook.updated") hooks.get(fact.webhook.id)!.lax = true
        else if (fact.kind === "webhook.disabled") hooks.get(fact.webhookId)!.lax = true
      }
    }
    return [...hooks.values()]
  }

  #sender(url: string, life: Life): MessageSender {
    return {
      send: ({ message: { id } }, settled) => {
        if (!life.alive) return () => {}
        let open = true
        const outcome = this.#answer(url, id)
        setImmediate(() => {
          if (open && life.alive) settled(outcome)
        })
        return () => {
          open = false
        }
      },
      close: () => {},
    }
  }

  #answer(url: string, id: string): Outcome {
    const outcome = { error: null, body: "an answer", retryAfter: undefined, durationMs: 1 }
    const name = `${url} ${id}`
    const isAsked = this.#asked.has(name) || this.#recovered.has(url)
    if (this.#done.has(name) && !isAsked) this.#again.push(name)
    const kind = this.#kind || url.includes("steady") ? 0 : this.random.next()
    if (kind < 0.7) {
      this.#taken.set(name, (this.#taken.get(name) ?? 0) + 1)
      return { ...outcome, status: 204 }
    }
    if (kind < 0.75) return { ...outcome, status: null, error: "timeout" }
    if (kind < 0.8) return { ...outcome, status: 429, retryAfter: "3" }
    return { ...outcome, status: kind > 0.995 ? 410 : 500 }
  }

  /** Sends a request. A request without an answer, because the process has ended, is forgotten. */
  ask(asked: Effect.Effect<unknown, unknown>): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const asking = yield* Effect.forkChild(Effect.exit(asked))
      while (asking.pollUnsafe() === undefined && this.isAlive) yield* this.pass(1)
      yield* Fiber.interrupt(asking)
    })
  }

  readonly step = Effect.gen({ self: this }, function* () {
    const { random } = this
    const { engine } = yield* this.start
    const kind = random.next()
    const project = (command: WebhookCommand) => engine.askProject(sandbox, command)
    const hook = this.hooks().filter(({ deleted }) => !deleted)
    if (kind < 0.03 || hook.length === 0) {
      if (hook.length < 3) yield* this.ask(project(this.#creation()))
    } else if (kind < 0.04) {
      const { id, url } = random.pick(hook)
      if (!url.includes("steady")) {
        yield* this.ask(project({ kind: "deleteWebhook", webhookId: id }))
      }
    } else if (kind < 0.07) {
      const { id, url } = random.pick(hook)
      const status = random.pick(["disabled", "enabled", "enabled"] as const)
      const change = { kind: "updateWebhook", webhookId: id, change: { status } } as const
      if (!url.includes("steady")) yield* this.ask(project(change))
    } else if (kind < 0.09) {
      const webhookId = random.pick(hook).id
      const secret = makeSecret()
      yield* this.ask(project({ kind: "rotateWebhookSecret", webhookId, secret, graceSeconds: 60 }))
    } else if (kind < 0.13) yield* this.#redeliver(random.pick(hook), project)
    else if (kind < 0.15) {
      const since = recordsOf(this.state)[0]!.at
      const { id: webhookId, url } = random.pick(hook)
      // It sends messages again that the log no longer has.
      if (this.#options.logMax === 3) this.#recovered.add(url)
      yield* this.ask(project({ kind: "recoverWebhook", webhookId, since }))
    } else if (kind < 0.2) {
      const userId = random.pick(users)
      this.#erased.add(userId)
      yield* this.ask(engine.askUser(sandbox, { userId, command: { kind: "erasure" } }))
    } else if (kind < 0.3) yield* this.pass(random.pick([1, 50, 1_000, 10_000, 60_000]))
    else if (kind < 0.33) yield* this.end
    else {
      const rewards = Array.from({ length: random.pick([1, 1, 3, 30]) }, () =>
        reward(random.pick(users), 1),
      )
      yield* this.ask(engine.askUsers(sandbox, rewards))
      for (let turn = random.integer(0, 4); turn > 0; turn--) yield* yieldToEventLoop
    }
    if (this.#started !== undefined && !this.isAlive) yield* this.end
  })

  #creation(): Extract<WebhookCommand, { readonly kind: "createWebhook" }> {
    const name = this.#made++ === 0 ? "steady" : "other"
    const webhook = {
      id: `whk_${this.#made}`,
      url: `http://${name}${this.#made}.test/`,
      events: this.random.pick([["*"], ["reward.granted", "user.*"]]),
      description: null,
      secret: makeSecret(),
    }
    return { kind: "createWebhook", webhook, webhooksMax: limits.webhooks }
  }

  #redeliver(
    { id, number, url }: Hook,
    project: (command: WebhookCommand) => Effect.Effect<unknown, unknown>,
  ): Effect.Effect<void> {
    const records = recordsOf(this.state).filter(({ sequence }) => sequence > number)
    if (records.length === 0) return Effect.void
    const record = this.random.pick(records)
    const index = record.facts.findIndex((_, at) => messageKindAt(record, at) !== undefined)
    if (index === -1) return Effect.void
    const { at, sequence } = record
    this.#asked.add(`${url} ${messageId({ at, index, sequence })}`)
    return this.ask(project({ kind: "redeliver", webhookId: id, sequence, at, index }))
  }

  /** No receiver fails any more: all pending messages are sent. */
  readonly finish = Effect.gen({ self: this }, function* () {
    if (this.#started !== undefined) yield* this.end
    this.#kind = true
    const { engine } = yield* this.start
    const hooks = this.hooks().filter(({ deleted }) => !deleted)
    for (const { id } of hooks) {
      const command = {
        kind: "updateWebhook",
        webhookId: id,
        change: { status: "enabled" },
      } as const
      yield* this.ask(engine.askProject(sandbox, command))
    }
    const settled = Effect.gen({ self: this }, function* () {
      const cursor = yield* this.#store.cursor
      const jobs = yield* this.#store.jobs
      let pending = 0
      for (const { number } of hooks) {
        pending += (yield* this.#store.oldest(number, "pending", 1)).length
      }
      return pending === 0 && jobs.length === 0 && (cursor ?? 0) >= engine.feed.head
    })
    for (let rounds = 0; hooks.length > 0 && !(yield* settled); rounds++) {
      expect(rounds).toBeLessThan(500)
      yield* this.pass(rounds < 100 ? 1_000 : 60_000)
      for (let turn = 0; turn < 10; turn++) yield* yieldToEventLoop
    }
    const strict = hooks.filter(({ lax, url }) => !lax && url.includes("steady"))
    for (const hook of strict) yield* this.#compare(hook)
    yield* this.end
  })

  /** Each message of a webhook that was never disabled has arrived, or the log has it as failed. */
  readonly #compare = Effect.fnUntraced(function* (this: Simulation, hook: Hook) {
    const kept = new Set<string>()
    for (const status of deliveryStatuses) {
      for (const { messageId: id } of yield* this.#store.oldest(hook.number, status, 100_000)) {
        kept.add(id)
      }
    }
    const { ended } = yield* this.#store.stats(hook.number)
    const missing = recordsOf(this.state)
      .filter((record) => record.sequence > hook.number && !this.#isErased(record))
      .flatMap((record) => this.#messages(record, hook))
      .filter((id) => !kept.has(id) && !this.#taken.has(`${hook.url} ${id}`))
    // Of messages that were dropped because too many were pending, only the number is known.
    if (ended.dropped === 0) expect(missing).toEqual([])
    else expect(missing.length).toBeLessThanOrEqual(ended.dropped)
  })

  #isErased({ subject }: JournalRecord): boolean {
    return subject.actor === "user" && this.#erased.has(subject.userId)
  }

  #messages(record: JournalRecord, { events, id }: Hook): ReadonlyArray<string> {
    const kinds = kindsOf(events)
    return record.facts.flatMap((fact, index) => {
      const kind = messageKindAt(record, index)
      if (kind === undefined || !kinds.has(kind)) return []
      return "webhookId" in fact && fact.webhookId !== id ? [] : [messageId({ ...record, index })]
    })
  }
}

/** Runs a number of steps; returns how many kills there were. */
export const simulateWebhooks = Effect.fnUntraced(function* (seed: number, steps: number) {
  yield* TestClock.setTime(Date.parse("2026-11-03T12:00:00Z"))
  const simulation = new Simulation(seed)
  for (let step = 0; step < steps; step++) yield* simulation.step
  yield* simulation.finish
  return simulation.kills
})
