/**
 * One endpoint: its definition, its queue, and its attempts under way. `Dispatcher.ts` runs a
 * supervised fiber for it while it has work. Attempts are plain callbacks.
 *
 * An endpoint that answers quickly has a few more attempts than connections, so that the next
 * attempt is ready when a connection is free. After a failure the waiting attempts return to the
 * store.
 *
 * Messages about one user are sent one at a time, so they arrive in order. While a message waits
 * for a retry, later messages overtake it.
 */
import type { KeyObject } from "node:crypto"
import { Effect, Schedule, Semaphore } from "effect"
import { isFactFor, type MessageName, messageKindAt } from "../../domain/message/Message.ts"
import { kindsOf, type MessageKind } from "../../domain/message/MessageKind.ts"
import type { DisabledReason, Webhook } from "../../domain/project/Project.ts"
import type { FeedEntry } from "../../engine/commit/Feed.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import type { MessageSender, Outcome } from "../send/Sender.ts"
import { secretKey } from "../send/Signature.ts"
import { Delivery, userOf } from "../store/Delivery.ts"
import type { DeliveryStore, EndpointStats } from "../store/DeliveryStore.ts"
import type { Account, DeliveryWriter } from "../store/DeliveryWriter.ts"
import type { Background } from "./Background.ts"
import { CircuitBreaker } from "./CircuitBreaker.ts"
import type { Erasures } from "./Erasures.ts"
import { type Memory, Queue } from "./Queue.ts"
import { nextPause, type RetrySchedule, retryAfterOf } from "./RetrySchedule.ts"
import { hostOf, type Slots, type Standing } from "./Slots.ts"
import type { WebhookMetrics } from "./WebhookMetrics.ts"

/** Shared by all endpoints. */
export interface Shared {
  readonly writer: DeliveryWriter
  readonly slots: Slots
  readonly memory: Memory
  readonly erasures: Erasures
  readonly metrics: Pick<WebhookMetrics, "attempted">
  readonly makeSender: (url: string) => MessageSender
  readonly schedule: RetrySchedule
  readonly random: () => number
  /** The largest number of deliveries of one endpoint that are in memory to be sent. */
  readonly readyMax?: number | undefined
  /** Monotonic milliseconds at real speed (`SteadyTime.ts`), for due times. */
  readonly now: () => number
  /** Epoch milliseconds, for the log and signatures. */
  readonly wallNow: () => number
  /** Wakes an endpoint that has work. */
  readonly wake: (endpoint: Endpoint) => void
  readonly disable: (endpoint: Endpoint, reason: Exclude<DisabledReason, "manual">) => void
}

interface Flight {
  readonly delivery: Delivery
  readonly startedAt: number
  /** The host whose slot the attempt has. */
  readonly host: string
  giveUp: () => void
}

export class Endpoint implements Account {
  readonly number: number
  readonly environment: string
  readonly queue: Queue
  readonly breaker: CircuitBreaker
  readonly stats: EndpointStats
  kinds: ReadonlySet<MessageKind>
  /** Laurel is disabling the endpoint; the record is not durable yet. */
  givenUp = false
  readonly #shared: Shared
  #webhook: Webhook
  #host: string
  #keys: ReadonlyArray<Key>
  /** The keys that signed the last message. */
  #signing: ReadonlyArray<KeyObject> = []
  #sender: MessageSender | undefined
  /** Held while deliveries are read from the store and changed. */
  readonly lock = Semaphore.makeUnsafe(1)
  /**
   * The attempts under way, oldest first. There are few, and an array is used for the reason given
   * in `SenderThread.ts`.
   */
  readonly #flights: Array<Flight> = []
  #lastDurationMs = Number.POSITIVE_INFINITY

  constructor(environment: string, webhook: Webhook, stats: EndpointStats, shared: Shared) {
    this.number = webhook.since
    this.environment = environment
    this.stats = stats
    this.#shared = shared
    this.breaker = new CircuitBreaker(shared.random)
    this.queue = new Queue(shared, () => this.breaker.standing === "proven")
    this.#webhook = webhook
    this.#host = hostOf(environment, webhook.url)
    this.kinds = kindsOf(webhook.events)
    this.#keys = keysOf(webhook, [])
  }

  get webhook(): Webhook {
    return this.#webhook
  }

  get isEnabled(): boolean {
    return this.#webhook.status === "enabled" && !this.givenUp
  }

  /**
   * Whether a message of a requested kind is for this endpoint: newer than the webhook, and
   * addressed to it or to all endpoints.
   */
  accepts({ record }: FeedEntry, index: number): boolean {
    return record.sequence > this.number && isFactFor(record.facts[index]!, this.webhook.id)
  }

  get inFlight(): number {
    return this.#flights.length
  }

  /** Changes the definition of the endpoint. */
  define(webhook: Webhook): void {
    const before = this.#webhook
    this.#webhook = webhook
    this.kinds = kindsOf(webhook.events)
    this.#keys = keysOf(webhook, this.#keys)
    const moved = webhook.url !== before.url
    if (moved) {
      this.closeSender()
      this.leaveSlots()
      this.#host = hostOf(this.environment, webhook.url)
    }
    if (moved || (webhook.status === "enabled" && before.status === "disabled")) {
      this.givenUp = false
      this.breaker.reset()
      this.#countNoFailure()
      this.#shared.writer.touchAccount(this)
    }
    this.#shared.wake(this)
  }

  /** Begins all attempts that may begin now. */
  start(): void {
    const { slots } = this.#shared
    const now = this.#shared.now()
    while (this.isEnabled && this.#shared.writer.hasRoom) {
      const at = this.#next(now)
      if (at === -1) break
      const standing = slots.areFree(this.#host) ? "failing" : this.#standing(now)
      // A slot may have been offered for another standing than the present one.
      if (!slots.take(this.#host, standing, this.inFlight === 0, this.#wake)) break
      this.#send(this.queue.take(at), now)
    }
    // Offers an unused slot to another endpoint.
    slots.offer(this.#host)
  }

  /** Stops waiting for a slot, and offers an unused slot to another endpoint. */
  leaveSlots(): void {
    const { slots } = this.#shared
    slots.forget(this.#host, this.#wake)
    slots.offer(this.#host)
  }

  readonly #wake = (): void => this.#shared.wake(this)

  /**
   * The index of the delivery to send next; -1 if there is none. Urgent deliveries are first, and
   * ignore the circuit breaker.
   */
  #next(now: number): number {
    const { ready } = this.queue
    const ahead = this.breaker.isFull && this.#isQuick(now) ? limits.webhookAheadMax : 0
    const may = this.breaker.mayStart(this.inFlight - ahead, now)
    const mayUrgent = this.inFlight < limits.webhookConcurrencyMax
    let busy: ReadonlySet<string> | undefined
    for (let at = 0; at < ready.length; at++) {
      const { urgent, user } = ready[at]!
      if (!may && !urgent) return -1
      if ((may || mayUrgent) && !(busy?.has(user) ?? this.#isBusy(user))) return at
      // If one delivery waits for a message about the same user, thousands may, so a set is built.
      busy ??= this.#busyUsers()
    }
    return -1
  }

  /** Whether an attempt with a message about the user is under way. */
  #isBusy(user: string): boolean {
    if (user === "") return false
    for (const { delivery } of this.#flights) if (delivery.user === user) return true
    return false
  }

  #busyUsers(): ReadonlySet<string> {
    const users = new Set(this.#flights.map(({ delivery }) => delivery.user))
    users.delete("")
    return users
  }

  /** Whether the endpoint answers quickly, judged by its last answer and its oldest attempt. */
  #isQuick(now: number): boolean {
    const [oldest] = this.#flights
    const waited = oldest === undefined ? 0 : now - oldest.startedAt
    return Math.max(this.#lastDurationMs, waited) <= limits.webhookQuickMs
  }

  /** The standing of the endpoint. While an answer takes long, it counts as failing. */
  #standing(now: number): Standing {
    const [oldest] = this.#flights
    const slow = oldest !== undefined && now - oldest.startedAt > limits.webhookSlowMs
    return slow ? "failing" : this.breaker.standing
  }

  /** When the next attempt may begin that may not begin now. */
  get waitsUntil(): number {
    const { openUntil } = this.breaker
    const held = this.queue.ready.length > 0 && openUntil > this.#shared.now()
    return Math.min(this.queue.nextDueAt, held ? openUntil : Number.POSITIVE_INFINITY)
  }

  #send(delivery: Delivery, now: number): void {
    const at = this.#shared.wallNow()
    this.#sender ??= this.#shared.makeSender(this.#webhook.url)
    const flight: Flight = { delivery, startedAt: now, host: this.#host, giveUp: nothing }
    this.#flights.push(flight)
    const entry = delivery.entry!
    const outgoing = {
      message: entry.message(delivery.index),
      trace: entry.record.trace,
      timestampSeconds: Math.floor(at / 1_000),
      keys: this.#keysAt(at),
    }
    flight.giveUp = this.#sender.send(outgoing, (outcome) => this.#settle(delivery, at, outcome))
  }

  /** The keys that sign at a time. Returns the same array while the keys are the same. */
  #keysAt(at: number): ReadonlyArray<KeyObject> {
    const [only] = this.#keys
    if (this.#keys.length === 1 && this.#signing.length === 1 && this.#signing[0] === only!.key) {
      return this.#signing
    }
    const live = this.#keys.filter(({ until }) => at < until)
    const same =
      live.length === this.#signing.length &&
      live.every(({ key }, index) => key === this.#signing[index])
    if (!same) this.#signing = live.map(({ key }) => key)
    return this.#signing
  }

  #land(delivery: Delivery): void {
    const place = this.#flights.findIndex((flight) => flight.delivery === delivery)
    const [flight] = place === -1 ? [] : this.#flights.splice(place, 1)
    this.#shared.slots.release(flight?.host ?? this.#host)
  }

  #settle(delivery: Delivery, at: number, outcome: Outcome): void {
    const { durationMs, error, status } = outcome
    this.#lastDurationMs = durationMs
    this.#land(delivery)
    const erased = delivery.stage === "revoked" || this.#shared.erasures.has(delivery)
    // A reply may repeat the message, so a reply about an erased user is not kept.
    const body = erased || delivery.kind === "user.deleted" ? "" : outcome.body
    delivery.record({ at, durationMs, status, error, body })
    const succeeded = status !== null && status >= 200 && status < 300
    this.#shared.metrics.attempted(succeeded)
    if (succeeded) this.#succeeded(delivery, at)
    else this.#failed(delivery, at, outcome, erased)
    this.#shared.wake(this)
  }

  #succeeded(delivery: Delivery, at: number): void {
    this.breaker.succeeded()
    this.#countNoFailure()
    this.stats.succeededAt = at
    this.queue.settle(delivery, "succeeded")
  }

  #failed(delivery: Delivery, at: number, { retryAfter, status }: Outcome, erased: boolean): void {
    const { disable, now, random, schedule } = this.#shared
    const retryAfterMs = retryAfterOf(retryAfter, at)
    this.breaker.failed(now(), status === 429 || status === 503 ? retryAfterMs : undefined)
    this.#countFailure()
    const pause = nextPause(schedule, delivery.tries, retryAfterMs, random)
    if (erased) this.queue.drop(delivery, "erased")
    else if (pause === undefined || status === 410) this.queue.settle(delivery, "failed")
    else this.queue.settle(delivery, "pending", Math.round(now() + pause))
    const isFailing = this.stats.failingMs >= limits.webhookFailingMs
    if (this.isEnabled && (status === 410 || isFailing)) {
      this.givenUp = true
      disable(this, status === 410 ? "gone" : "failing")
    }
    if (this.breaker.isOpen || !this.isEnabled) this.#recallAhead()
  }

  /**
   * Returns deliveries to the store that wait for a connection in the sender: they were not tried.
   */
  #recallAhead(): void {
    // Attempts begin in this order.
    for (const { delivery, giveUp } of this.#flights.slice(limits.webhookConcurrencyMax)) {
      giveUp()
      this.#land(delivery)
      this.queue.settle(delivery)
    }
  }

  #countFailure(): void {
    const { failedAt, failingMs } = this.stats
    const now = this.#shared.now()
    const step = failedAt === 0 ? 0 : Math.max(0, now - failedAt)
    this.stats.failedAt = now
    this.stats.failingMs = failingMs + Math.min(step, limits.webhookFailingStepMsMax)
  }

  #countNoFailure(): void {
    this.stats.failingMs = 0
    this.stats.failedAt = 0
  }

  /**
   * Aborts the attempts under way without an outcome, and returns all deliveries in memory to the
   * store.
   */
  release(): void {
    this.#giveUp()
    this.queue.leaveAll()
  }

  /** Forgets all deliveries in memory, since the webhook is deleted. */
  discard(): void {
    this.#giveUp()
    this.queue.clear()
  }

  #giveUp(): void {
    for (const { delivery, giveUp } of [...this.#flights]) {
      giveUp()
      this.#land(delivery)
    }
    this.leaveSlots()
    this.closeSender()
  }

  /** Closes the connections when the attempts under way have ended. */
  closeSender(): void {
    this.#sender?.close()
    this.#sender = undefined
  }
}

const nothing = (): void => {}

/** The key of a secret, and the time until which it signs. */
interface Key {
  readonly secret: string
  readonly key: KeyObject
  readonly until: number
}

/** The keys of a webhook's secrets, the current key first. Keys in `before` are reused. */
const keysOf = (
  { olderSecrets = [], previousSecret, secret }: Webhook,
  before: ReadonlyArray<Key>,
): ReadonlyArray<Key> => {
  const secrets = [
    { secret, until: Number.POSITIVE_INFINITY },
    ...(previousSecret === null ? [] : [previousSecret]),
    ...olderSecrets,
  ]
  return secrets.map((each) => {
    const known = before.find((key) => key.secret === each.secret)
    return { ...each, key: known?.key ?? secretKey(each.secret) }
  })
}

/* Commands for one endpoint: disable it, redeliver a message. */

export interface EndpointCommandsParts {
  readonly engine: Engine["Service"]
  readonly store: DeliveryStore
  readonly writer: DeliveryWriter
  readonly background: Background
  readonly now: () => number
  readonly wake: (endpoint: Endpoint) => void
  readonly isErased: (entry: FeedEntry) => Effect.Effect<boolean>
}

export class EndpointCommands {
  readonly #parts: EndpointCommandsParts

  constructor(parts: EndpointCommandsParts) {
    this.#parts = parts
  }

  /**
   * Disables the webhook in its project. Retries until the record is durable, or the webhook is
   * disabled or deleted.
   */
  readonly disable = (
    { environment, webhook }: Endpoint,
    reason: Exclude<DisabledReason, "manual">,
  ): void => {
    const { background, engine } = this.#parts
    const command = { kind: "disableWebhook", webhookId: webhook.id, reason } as const
    const disabled = Effect.logWarning("A webhook is disabled").pipe(
      Effect.annotateLogs({ webhookId: webhook.id, reason }),
    )
    const asked = engine.askProject(environment, command).pipe(
      Effect.retry({
        schedule: Schedule.spaced(limits.webhookRestartMs),
        while: ({ code }) => code !== "webhook_not_found" && code !== "webhook_disabled",
      }),
      Effect.matchEffect({ onSuccess: () => disabled, onFailure: () => Effect.void }),
    )
    background(`disable ${webhook.id}`, asked)
  }

  /**
   * Sends a message at once, for any status of its delivery, unless its user is erased or its
   * record is gone.
   */
  redeliver(endpoint: Endpoint, name: MessageName): Effect.Effect<void, Broken> {
    return Semaphore.withPermit(endpoint.lock, this.#redeliver(endpoint, name))
  }

  readonly #redeliver = Effect.fnUntraced(function* (
    this: EndpointCommands,
    endpoint: Endpoint,
    { at, index, sequence }: MessageName,
  ): Effect.fn.Return<void, Broken> {
    const { writer, engine, isErased, now, store, wake } = this.#parts
    const entry = (yield* engine.feed.find([sequence])).get(sequence)
    if (entry === undefined || entry.record.at !== at) return
    const kind = messageKindAt(entry.record, index)
    if (kind === undefined || !endpoint.accepts(entry, index)) return
    // The user may have been erased after the command.
    if (yield* isErased(entry)) return
    const name = { at, index, sequence }
    const { queue } = endpoint
    while (queue.has(name)) {
      const waiting = queue.find(name)
      if (waiting !== undefined) {
        queue.hasten(waiting)
        wake(endpoint)
        return
      }
      // Its outcome is not written yet.
      yield* writer.flushed
    }
    yield* writer.flushed
    const found = yield* store.find(endpoint.number, name)
    const delivery =
      found ?? new Delivery({ endpoint: endpoint.number, ...name }, kind, userOf(entry.record))
    delivery.renew(now())
    delivery.urgent = true
    queue.offer(delivery, entry)
    wake(endpoint)
  })
}
