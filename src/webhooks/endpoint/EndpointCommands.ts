/** Single things that are done to an endpoint: give it up, send one message once more. */
import { Effect, Semaphore } from "effect"
import { type MessageName, messageKindAt } from "../../domain/message/Message.ts"
import type { DisabledReason } from "../../domain/project/Webhook.ts"
import type { FeedEntry } from "../../engine/commit/Feed.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import { Delivery, userOf } from "../store/Delivery.ts"
import type { DeliveryStore } from "../store/DeliveryStore.ts"
import type { DeliveryWriter } from "../store/DeliveryWriter.ts"
import type { Endpoint } from "./Endpoint.ts"

/** Has the project say that the webhook is disabled; tries until that is on disk, or has become needless. */
export const disable = (
  engine: Engine["Service"],
  { environment, webhook }: Endpoint,
  reason: Exclude<DisabledReason, "manual">,
): Effect.Effect<void> => {
  const command = { kind: "disableWebhook", webhookId: webhook.id, reason } as const
  const attempt: Effect.Effect<void> = Effect.matchEffect(engine.askProject(environment, command), {
    onSuccess: () =>
      Effect.logWarning("A webhook is disabled").pipe(
        Effect.annotateLogs({ webhookId: webhook.id, reason }),
      ),
    onFailure: ({ code }) =>
      code === "webhook_not_found" || code === "webhook_disabled"
        ? Effect.void
        : Effect.andThen(
            Effect.sleep(limits.webhookRestartMs),
            Effect.suspend(() => attempt),
          ),
  })
  return attempt
}

export interface RedeliverParts {
  readonly engine: Engine["Service"]
  readonly store: DeliveryStore
  readonly writer: DeliveryWriter
  readonly now: () => number
  readonly wake: (endpoint: Endpoint) => void
  readonly isErased: (entry: FeedEntry) => Effect.Effect<boolean>
}

/** Sends a message once more, at once, whatever became of it before, unless its user is gone. */
export const redeliver = (
  { writer, engine, isErased, now, store, wake }: RedeliverParts,
  endpoint: Endpoint,
  name: MessageName,
): Effect.Effect<void, Broken> =>
  Effect.gen(function* () {
    const { at, index, sequence } = name
    const entry = (yield* engine.feed.find([sequence])).get(sequence)
    if (entry === undefined || entry.record.at !== at) return
    const kind = messageKindAt(entry.record, index)
    if (kind === undefined || !endpoint.accepts(entry, index)) return
    // Between the order and its turn the user may have been erased.
    if (yield* isErased(entry)) return
    const { queue } = endpoint
    while (queue.has(name)) {
      const waiting = queue.find(name)
      if (waiting !== undefined) {
        queue.hasten(waiting)
        wake(endpoint)
        return
      }
      // What became of it is not written yet.
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
  }).pipe((work) => Semaphore.withPermit(endpoint.lock, work))
