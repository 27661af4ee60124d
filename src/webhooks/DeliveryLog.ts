/** The delivery log for HTTP and the operator. */
import { Context, Effect } from "effect"
import type { MessageName } from "../domain/message/Message.ts"
import type { Feed, FeedEntry } from "../engine/commit/Feed.ts"
import type { Broken } from "../storage/Storage.ts"
import type { Registry } from "./endpoint/Registry.ts"
import type { AttemptResult, Delivery, DeliveryStatus, LogPlace } from "./store/Delivery.ts"
import type { DeliveryStore, EndpointStats } from "./store/DeliveryStore.ts"
import type { DeliveryWriter } from "./store/DeliveryWriter.ts"

/** A page of an endpoint's log, newest first. */
export interface LogPage {
  readonly deliveries: ReadonlyArray<Delivery>
  /** Where the next page starts; undefined at the end. */
  readonly next: LogPlace | undefined
}

export interface DeliveryDetails {
  readonly delivery: Delivery
  /** All of its attempts, oldest first. */
  readonly attempts: ReadonlyArray<AttemptResult>
}

export class DeliveryLog extends Context.Service<
  DeliveryLog,
  {
    /** The counts of an endpoint, after a flush; `undefined` for an unknown id. */
    readonly stats: (
      environment: string,
      webhookId: string,
    ) => Effect.Effect<EndpointStats | undefined>
    readonly list: (
      environment: string,
      webhookId: string,
      page: {
        readonly status: DeliveryStatus | undefined
        readonly before: LogPlace | undefined
        readonly limit: number
      },
    ) => Effect.Effect<LogPage>
    /** The delivery of a message with all its attempts; `undefined` if the message has none. */
    readonly find: (
      environment: string,
      webhookId: string,
      name: MessageName,
    ) => Effect.Effect<DeliveryDetails | undefined>
    /**
     * Whether a message can be sent again: not if its record is `gone` from the journal, or its
     * user was `erased` since.
     */
    readonly standing: (name: MessageName) => Effect.Effect<"kept" | "gone" | "erased">
    /** The JSON text of a message; `undefined` if it cannot be sent again. */
    readonly message: (name: MessageName) => Effect.Effect<string | undefined>
  }
>()("webhooks/DeliveryLog") {}

export interface DeliveryLogParts {
  readonly registry: Registry
  readonly writer: DeliveryWriter
  readonly store: DeliveryStore
  readonly feed: Feed
  readonly isErased: (entry: FeedEntry) => Effect.Effect<boolean>
  readonly onBroken: (cause: Broken) => void
}

/** If the storage is broken, reports that and never ends, since the process ends. */
const endsWhenBroken = <A>(
  effect: Effect.Effect<A, Broken>,
  onBroken: (cause: Broken) => void,
): Effect.Effect<A> =>
  Effect.catch(effect, (broken) => {
    onBroken(broken)
    return Effect.never
  })

/** Reads the store after a flush. */
export const deliveryLogOf = ({
  writer,
  feed,
  isErased,
  onBroken,
  registry,
  store,
}: DeliveryLogParts): DeliveryLog["Service"] => {
  const read = <A>(effect: Effect.Effect<A, Broken>): Effect.Effect<A> =>
    endsWhenBroken(Effect.andThen(writer.flushed, effect), onBroken)
  const entryOf = ({ at, sequence }: MessageName) =>
    Effect.gen(function* () {
      const entry = (yield* feed.find([sequence])).get(sequence)
      if (entry?.record.at !== at) return "gone"
      return (yield* isErased(entry)) ? "erased" : entry
    })
  return DeliveryLog.of({
    stats: (environment, webhookId) =>
      read(Effect.sync(() => registry.find(environment, webhookId)?.stats)),
    list: (environment, webhookId, { before, limit, status }) =>
      read(
        Effect.gen(function* () {
          const endpoint = registry.find(environment, webhookId)
          if (endpoint === undefined) return { deliveries: [], next: undefined }
          const newest = yield* store.newest(endpoint.number, status, before, limit + 1)
          const deliveries = newest.slice(0, limit)
          return { deliveries, next: newest.length > limit ? deliveries.at(-1) : undefined }
        }),
      ),
    find: (environment, webhookId, name) =>
      read(
        Effect.gen(function* () {
          const endpoint = registry.find(environment, webhookId)
          if (endpoint === undefined) return undefined
          const delivery = yield* store.find(endpoint.number, name)
          if (delivery === undefined || delivery.at !== name.at) return undefined
          const earlier = yield* store.earlierAttempts(delivery)
          return {
            delivery,
            attempts: delivery.last === null ? earlier : [...earlier, delivery.last],
          }
        }),
      ),
    standing: (name) =>
      Effect.map(entryOf(name), (entry) => (typeof entry === "string" ? entry : "kept")),
    message: (name) =>
      Effect.map(entryOf(name), (entry) =>
        typeof entry === "string" ? undefined : entry.message(name.index).text,
      ),
  })
}
