/** Commands to one endpoint: disable it, redeliver one message. */
import { Effect, Schedule, Semaphore } from "effect"
import { type MessageName, messageKindAt } from "../../domain/message/Message.ts"
import type { DisabledReason } from "../../domain/project/Webhook.ts"
import type { FeedEntry } from "../../engine/commit/FeedEntry.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { Broken } from "../../storage/Storage.ts"
import { Delivery, userOf } from "../store/Delivery.ts"
import type { DeliveryStore } from "../store/DeliveryStore.ts"
import type { DeliveryWriter } from "../store/DeliveryWriter.ts"
import type { Background } from "./Background.ts"
import type { Endpoint } from "./Endpoint.ts"

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

  /** Disables the webhook in its project; retries until the record is durable, or the webhook is disabled or deleted. */
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

  /** Sends a message at once, whatever its delivery's status, unless its user is erased or its record is gone. */
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
