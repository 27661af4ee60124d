/**
 * The stages of a delivery in one process; `Queue.ts` alone changes them:
 *
 *                     room                  attempt
 *     expanded,     ┌──────▶ ready ────────────────────────▶ sending
 *     redelivered,  │          │                              │    │ user erased
 *     recovered,  ──┤          │ no room, failing, disabled,  │    ▼
 *     loaded        │          │ erased, end of the process   │  revoked
 *                   │ no room  ▼                              ▼    ▼
 *                   └───────▶ leaving, or overdue where it is still due: its outcome is not written yet
 *                              │ written with the outbox's cursor in one transaction (`DeliveryWriter.ts`)
 *                              ▼
 *                            stored: pending, and loaded when it is due; or succeeded, failed, dropped
 *
 * Deliveries in the stages ready and sending that have no row in the store are written later
 * (`DeliveryWriter.ts`): a delivery that succeeds soon is written once. After a crash, the outbox
 * expands their records again.
 *
 * Each endpoint with work has a supervised fiber, which begins attempts, loads due deliveries when
 * memory has room, and waits for a due time or a wake-up. The fiber ends when no work is left, so
 * an idle endpoint costs only its definition.
 *
 * A wake-up begins attempts at once, without the fiber. The fiber resumes only for other work,
 * since most wake-ups only begin the next attempt after one has ended.
 *
 * A crash affects one endpoint: its deliveries in memory return to the store, and its fiber
 * restarts after a pause. The number of concurrent loads of all endpoints is bounded.
 */
import { Cause, Effect, Latch, Semaphore } from "effect"
import { messageKindAt } from "../domain/message/Message.ts"
import type { Feed, FeedEntry } from "../engine/commit/Feed.ts"
import { limits } from "../Limits.ts"
import type { Broken } from "../storage/Storage.ts"
import { yieldToEventLoop } from "../storage/yieldToEventLoop.ts"
import type { Background } from "./endpoint/Background.ts"
import type { Endpoint } from "./endpoint/Endpoint.ts"
import type { Erasures } from "./endpoint/Erasures.ts"
import { placeName } from "./store/Delivery.ts"
import type { DeliveryStore, DuePlace } from "./store/DeliveryStore.ts"

export interface DispatcherOptions {
  readonly feed: Pick<Feed, "find">
  readonly store: DeliveryStore
  readonly erasures: Erasures
  readonly now: () => number
  /** The time that records are dated with, epoch milliseconds. */
  readonly recordNow: () => number
  /** The longest that a delivery waits for its next attempt. */
  readonly longestPauseMs: number
  readonly retentionMs: number
  readonly isErased: (entry: FeedEntry) => Effect.Effect<boolean>
  readonly background: Background
  /** Whether outcomes of attempts can be kept. A wake-up follows when they can be kept again. */
  readonly hasRoom: () => boolean
}

export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #reading = Semaphore.makeUnsafe(limits.webhookReadersMax)
  readonly #loops = new Map<Endpoint, Loop>()
  /**
   * Endpoints that were woken. Each turn of the event loop handles a few of them, since one record
   * may be for thousands of endpoints.
   */
  readonly #toRouse = new Set<Endpoint>()
  #rousing = false
  /** No more attempts begin. */
  closing = false
  readonly #landing = Latch.makeUnsafe()

  constructor(options: DispatcherOptions) {
    this.#options = options
  }

  /** Wakes an endpoint that may have work. It is handled soon, once for all wake-ups until then. */
  readonly wake = (endpoint: Endpoint): void => {
    if (this.closing) {
      if (endpoint.inFlight === 0) this.#landing.openUnsafe()
      return
    }
    this.#toRouse.add(endpoint)
    if (this.#rousing) return
    this.#rousing = true
    setImmediate(this.#rouseSome)
  }

  readonly #rouseSome = (): void => {
    const until = performance.now() + limits.webhookTurnMs
    for (const endpoint of this.#toRouse) {
      this.#toRouse.delete(endpoint)
      if (!this.closing) this.#rouse(endpoint)
      if (performance.now() >= until) break
    }
    this.#rousing = this.#toRouse.size > 0
    if (this.#rousing) setImmediate(this.#rouseSome)
  }

  #rouse(endpoint: Endpoint): void {
    const running = this.#loops.get(endpoint)
    if (running === undefined) {
      if (endpoint.queue.isEmpty) {
        endpoint.leaveSlots()
        return
      }
      const loop = new Loop()
      this.#loops.set(endpoint, loop)
      this.#options.background(`webhook ${endpoint.webhook.id}`, this.#supervised(endpoint, loop))
      return
    }
    try {
      if (this.#began(endpoint, running)) return
    } catch (defect) {
      running.defect = { defect }
    }
    running.woken.openUnsafe()
  }

  /**
   * Begins the attempts that may begin now. Returns whether the fiber has nothing to do before an
   * attempt ends.
   */
  #began(endpoint: Endpoint, loop: Loop): boolean {
    if (!endpoint.isEnabled || endpoint.breaker.isOpen) return false
    if (loop.restarting || loop.defect !== undefined) return false
    endpoint.start()
    return (
      endpoint.inFlight > 0 &&
      endpoint.waitsUntil === Number.POSITIVE_INFINITY &&
      loop.idleSince === undefined &&
      !this.#isCrowded(endpoint) &&
      !this.#mustLoad(endpoint)
    )
  }

  /**
   * After a crash, deliveries in memory return to the store, from which the restarted fiber loads
   * them.
   */
  #supervised(endpoint: Endpoint, loop: Loop): Effect.Effect<void, Broken> {
    return Effect.tapCause(
      Effect.suspend(() => this.#run(endpoint, loop)),
      (cause) =>
        Effect.sync(() => {
          if (Cause.hasInterruptsOnly(cause)) return
          endpoint.release()
          endpoint.queue.behind = true
          loop.restarting = true
        }),
    )
  }

  readonly #run = Effect.fnUntraced(function* (this: Dispatcher, endpoint: Endpoint, loop: Loop) {
    const { queue } = endpoint
    loop.restarting = false
    while (!this.closing) {
      loop.woken.closeUnsafe()
      const failed = loop.defect
      loop.defect = undefined
      if (failed !== undefined) return yield* Effect.die(failed.defect)
      if (endpoint.isEnabled) endpoint.start()
      else {
        queue.leaveReady(0)
        endpoint.leaveSlots()
      }
      // An endpoint that does not answer keeps few deliveries in memory.
      if (endpoint.breaker.isOpen) queue.leaveReady(limits.webhookReadyFailingMax)
      if (this.#mustLoad(endpoint)) {
        yield* Semaphore.withPermit(
          this.#reading,
          Semaphore.withPermit(endpoint.lock, this.#load(endpoint)),
        )
        continue
      }
      if (endpoint.inFlight > 0 || (endpoint.isEnabled && !queue.isEmpty)) {
        yield* this.#wait(endpoint, loop)
        continue
      }
      // Connections stay open for a while for the next message.
      const since = this.#options.now()
      loop.idleSince = since
      yield* loop.woken.await
      loop.idleSince = undefined
      const isOver = this.#options.now() - since >= limits.webhookKeepAliveMs
      if (isOver && (!endpoint.isEnabled || queue.isEmpty)) break
    }
    endpoint.closeSender()
    this.#loops.delete(endpoint)
  })

  /** Ends the fibers that have been idle for `webhookKeepAliveMs`. Never ends. */
  readonly retire: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    while (true) {
      yield* Effect.sleep(limits.webhookKeepAliveMs)
      const before = this.#options.now() - limits.webhookKeepAliveMs
      for (const { idleSince, woken } of this.#loops.values()) {
        if (idleSince !== undefined && idleSince <= before) woken.openUnsafe()
      }
    }
  })

  #mustLoad(endpoint: Endpoint): boolean {
    const { queue } = endpoint
    const due = queue.behind || queue.nextDueAt <= this.#options.now()
    return endpoint.isEnabled && due && queue.roomToLoad > 0
  }

  /**
   * Whether the endpoint has deliveries to send but memory has no room. No wake-up follows when
   * there is room.
   */
  #isCrowded({ queue }: Endpoint): boolean {
    return queue.behind && queue.ready.length === 0 && queue.room <= 0
  }

  /** Ends when the endpoint is woken, or at the next time at which it has work. */
  #wait(endpoint: Endpoint, { woken }: Loop): Effect.Effect<void> {
    const { hasRoom } = this.#options
    if (!hasRoom()) return woken.await
    const now = this.#options.now()
    const until = this.#isCrowded(endpoint) ? now + limits.webhookCrowdedMs : endpoint.waitsUntil
    return until === Number.POSITIVE_INFINITY
      ? woken.await
      : Effect.asVoid(Effect.timeoutOption(woken.await, Math.max(1, until - now)))
  }

  /** Reads due deliveries, with their records, into memory. */
  readonly #load = Effect.fnUntraced(function* (
    this: Dispatcher,
    endpoint: Endpoint,
  ): Effect.fn.Return<void, Broken> {
    const { erasures, feed, isErased, longestPauseMs, now, retentionMs, store, recordNow } =
      this.#options
    const { number, queue } = endpoint
    const until = now() + 1
    const wanted = queue.roomToLoad
    // Only a pass from the start finds deliveries again that are in memory or not written yet.
    const known = queue.size
    const from = queue.beginRead()
    const most = from === undefined ? wanted + known : wanted
    const due = yield* store.due(number, from ?? 0, until, most)
    // Deliveries that are due later than any retry can be, since the clock was set back.
    const stray = yield* store.due(number, until + longestPauseMs, Number.POSITIVE_INFINITY, wanted)
    const places: Array<DuePlace> = []
    let last: DuePlace | undefined
    for (const place of due) {
      if (places.length === wanted) break
      last = place
      if (!queue.has(place)) places.push(place)
    }
    const more = due.length === most || last !== due.at(-1)
    if (more || stray.length > 0 || from !== undefined) queue.behind = true
    else {
      const [next] = yield* store.due(number, until, Number.POSITIVE_INFINITY, 1)
      queue.nextDueAt = Math.min(queue.nextDueAt, next?.dueAt ?? Number.POSITIVE_INFINITY)
    }
    for (const place of stray) {
      if (places.length < wanted && !queue.has(place)) places.push(place)
    }
    const dueAt = new Map(places.map((place) => [placeName(place), place.dueAt]))
    // A delivery that was postponed after `due` was read is not due.
    const deliveries = (yield* store.pending(number, places)).filter(
      (delivery) => dueAt.get(delivery.place) === delivery.dueAt,
    )
    const sequences = new Set(deliveries.map(({ sequence }) => sequence))
    const entries = yield* feed.find([...sequences].sort((one, other) => one - other))
    let looked = 0
    let gone = 0
    for (const delivery of deliveries) {
      if (++looked % limits.webhookLoadTurnDeliveries === 0) yield* yieldToEventLoop
      const { at, index, kind, sequence } = delivery
      if (queue.has(delivery)) continue
      const found = entries.get(sequence)
      const isSame = found?.record.at === at && messageKindAt(found.record, index) === kind
      const entry = isSame ? found : undefined
      if (erasures.has(delivery) || (entry !== undefined && (yield* isErased(entry)))) {
        // The walk of an erasure skips deliveries in a queue, so the replies are blanked here.
        yield* store.blank(delivery)
        queue.drop(delivery, "erased")
      } else if (entry === undefined) {
        queue.drop(delivery, "gone")
        gone++
      } else if (at < recordNow() - retentionMs) queue.drop(delivery, "expired")
      else queue.keep(delivery, entry)
    }
    queue.endRead(more ? last : undefined)
    if (gone === 0) return
    yield* Effect.logWarning(
      "Dropped webhook deliveries: the journal does not have their records any more",
    ).pipe(Effect.annotateLogs({ webhookId: endpoint.webhook.id, deliveries: gone }))
  })

  /** Stops beginning attempts. Ends when no attempt is under way. */
  readonly landed = Effect.fnUntraced(function* (this: Dispatcher, endpoints: Iterable<Endpoint>) {
    this.closing = true
    const all = [...endpoints]
    // Endpoints of other partitions may take their slots.
    for (const endpoint of all) endpoint.leaveSlots()
    while (all.some(({ inFlight }) => inFlight > 0)) {
      this.#landing.closeUnsafe()
      yield* this.#landing.await
    }
  })
}

/** The fiber of an endpoint. */
class Loop {
  /** Open while the fiber has work. */
  readonly woken = Latch.makeUnsafe()
  /** Since when the endpoint has nothing to do. */
  idleSince: number | undefined
  /** A defect beside the fiber, which ends with it. */
  defect: { readonly defect: unknown } | undefined
  /** The fiber crashed and did not restart yet. */
  restarting = false
}
