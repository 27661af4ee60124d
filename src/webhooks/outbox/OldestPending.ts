/**
 * The oldest message that an enabled webhook has not delivered, looked for every `webhookOldestMs`: one read for each endpoint
 * with pending deliveries. Deliveries that are not written yet are younger than that interval, and not seen.
 */
import { Effect } from "effect"
import type { Feed } from "../../engine/commit/Feed.ts"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import type { Endpoint } from "../endpoint/Endpoint.ts"
import type { DeliveryStore } from "../store/DeliveryStore.ts"
import type { Outbox } from "./Outbox.ts"

export interface OldestPendingOptions {
  readonly registry: Iterable<Endpoint>
  readonly store: Pick<DeliveryStore, "oldest">
  readonly feed: Pick<Feed, "find" | "head">
  readonly outbox: Pick<Outbox, "next">
  /** The time that records are dated with, epoch milliseconds. */
  readonly now: () => number
}

export class OldestPending {
  readonly #options: OldestPendingOptions
  #at: number | undefined

  constructor(options: OldestPendingOptions) {
    this.#options = options
  }

  /** 0 without one. */
  get ageMs(): number {
    return this.#at === undefined ? 0 : Math.max(0, this.#options.now() - this.#at)
  }

  /** Looks until it is interrupted. */
  readonly watch: Effect.Effect<never, Broken> = Effect.gen({ self: this }, function* () {
    while (true) {
      yield* this.look
      yield* Effect.sleep(limits.webhookOldestMs)
    }
  })

  readonly look: Effect.Effect<void, Broken> = Effect.gen({ self: this }, function* () {
    const { feed, outbox, registry, store } = this.#options
    let oldest = Number.POSITIVE_INFINITY
    const { next } = outbox
    if (next <= feed.head) {
      const waiting = (yield* feed.find([next])).get(next)
      oldest = waiting?.record.at ?? oldest
    }
    let looked = 0
    for (const { isEnabled, number, stats } of [...registry]) {
      if (!isEnabled || stats.stored.pending === 0) continue
      const [pending] = yield* store.oldest(number, "pending", 1)
      oldest = Math.min(oldest, pending?.at ?? oldest)
      if (++looked % limits.webhookJobBatch === 0) yield* yieldToEventLoop
    }
    this.#at = Number.isFinite(oldest) ? oldest : undefined
  })
}
