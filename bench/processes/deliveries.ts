/**
 * An engine and the delivery of its webhooks on a real disk, with receivers that need no sockets.
 */

import { Effect } from "effect"
import { Engine } from "../../src/engine/Engine.ts"
import { makeEngine } from "../../src/engine/EngineLive.ts"
import { limits } from "../../src/Limits.ts"
import * as DurableStorage from "../../src/storage/durable/DurableStorage.ts"
import { Storage } from "../../src/storage/Storage.ts"
import type { DeliveryLog } from "../../src/webhooks/DeliveryLog.ts"
import * as DispatcherLive from "../../src/webhooks/DispatcherLive.ts"
import type { Outcome } from "../../src/webhooks/send/Sender.ts"
import { makeSecret } from "../../src/webhooks/send/Signature.ts"

export interface Delivering {
  readonly engine: Engine["Service"]
  readonly deliveries: DeliveryLog["Service"]
}

/** Takes a message to a URL, and calls back later with its outcome. */
export type Receive = (url: string, settle: (outcome: Outcome) => void) => void

export const outcome = (status: number | null): Outcome => ({
  status,
  error: status === null ? "timeout" : null,
  body: "",
  retryAfter: undefined,
  durationMs: 1,
})

const onBroken = (cause: unknown): never => {
  throw cause
}

/** Runs `use` with both, on a data directory. */
export const delivering = <A>(
  directory: string,
  receive: Receive,
  use: (running: Delivering) => Effect.Effect<A, unknown>,
): Promise<A> =>
  Effect.gen(function* () {
    const storage = yield* DurableStorage.make({ directory })
    const engine = yield* makeEngine({ onBroken }).pipe(Effect.provideService(Storage, storage))
    const deliveries = yield* DispatcherLive.make({
      shutdownGraceMs: 0,
      onBroken,
      makeSender: (url) => ({
        send: (_, settled) => {
          let open = true
          receive(url, (result) => {
            if (open) settled(result)
          })
          return () => {
            open = false
          }
        },
        close: () => {},
      }),
    }).pipe(Effect.provideService(Engine, engine), Effect.provideService(Storage, storage))
    return yield* use({ engine, deliveries })
  }).pipe(Effect.scoped, Effect.runPromise)

let made = 0

/** A webhook for what happens in an environment. */
export const webhookTo = (url: string, kind: string) => ({
  kind: "createWebhook" as const,
  webhook: {
    id: `whk_${++made}`,
    url,
    events: [kind],
    description: null,
    secret: makeSecret(),
  },
  webhooksMax: limits.webhooksMax,
})
