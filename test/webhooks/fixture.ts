/** An engine and the delivery of its webhooks, over storage in memory, with receivers on real sockets. */

import { Effect, Exit, Logger, Scope } from "effect"
import type { WebhookCommand } from "../../src/domain/decide/Webhooks.ts"
import { Engine } from "../../src/engine/Engine.ts"
import type { EngineOptions } from "../../src/engine/EngineLive.ts"
import { limits } from "../../src/Limits.ts"
import { type Broken, Storage } from "../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import type { DeliveryLog } from "../../src/webhooks/DeliveryLog.ts"
import * as DispatcherLive from "../../src/webhooks/DispatcherLive.ts"
import { AllowedRanges } from "../../src/webhooks/send/AddressGuard.ts"
import { makeSecret } from "../../src/webhooks/send/Signature.ts"
import type { DeliveryStatus } from "../../src/webhooks/store/Delivery.ts"
import { sandbox, start as startEngine } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { Receiver } from "./Receiver.ts"

export interface Started {
  readonly engine: Engine["Service"]
  readonly deliveries: DeliveryLog["Service"]
  readonly broken: ReadonlyArray<Broken>
  /** The messages logged as warnings or errors. */
  readonly logged: ReadonlyArray<string>
  /** Ends both: `kill` at once, else in order. */
  readonly close: (how?: "kill") => Effect.Effect<void>
}

/** A receiver that ends with the test. */
export const receiving = Effect.acquireRelease(
  Effect.promise(() => Receiver.start()),
  (receiver) => Effect.promise(() => receiver.stop()),
)

export interface StartOptions extends Partial<DispatcherLive.WebhookOptions> {
  readonly engine?: Partial<EngineOptions>
}

export const startOn = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  { engine: engineOptions = {}, ...options }: StartOptions = {},
) {
  const running = yield* startEngine(storage, engineOptions)
  const scope = yield* Scope.make()
  const broken: Array<Broken> = []
  const logged: Array<string> = []
  const collect = Logger.make((entry) => {
    if (entry.logLevel !== "Info") logged.push(Logger.formatLogFmt.log(entry))
  })
  const deliveries = yield* DispatcherLive.make({
    allowed: new AllowedRanges(["127.0.0.0/8"]),
    flushIntervalMs: 5,
    shutdownGraceMs: 2_000,
    random: () => 0.5,
    onBroken: (cause) => broken.push(cause),
    ...options,
  }).pipe(
    Effect.provideService(Engine, running.engine),
    Effect.provideService(Storage, storage),
    Effect.provide(Logger.layer([collect])),
    Scope.provide(scope),
  )
  const started: Started = {
    engine: running.engine,
    deliveries,
    broken: broken as ReadonlyArray<Broken>,
    logged,
    close: (how) =>
      Effect.gen(function* () {
        // A killed process writes nothing more: its storage is not there any more for it.
        if (how === "kill") yield* running.close("kill")
        yield* Scope.close(scope, Exit.void)
        if (how !== "kill") yield* running.close()
      }),
  }
  return started
})

export const startInMemory = (
  state: MemoryStorage.MemoryState = new MemoryStorage.MemoryState(),
  options: StartOptions = {},
) => startOn(MemoryStorage.make({ state }), options)

let made = 0

export const webhook = (
  url: string,
  events: ReadonlyArray<string> = ["*"],
  more: Partial<Extract<WebhookCommand, { readonly kind: "createWebhook" }>["webhook"]> = {},
) => ({
  kind: "createWebhook" as const,
  webhook: {
    id: `whk_${++made}`,
    url,
    events,
    description: null,
    secret: makeSecret(),
    ...more,
  },
  webhooksMax: limits.webhooksMax,
})

/** The log of a webhook, newest first. */
export const logOf = (
  { deliveries }: Pick<Started, "deliveries">,
  webhookId: string,
  status?: DeliveryStatus,
) =>
  Effect.map(
    deliveries.list(sandbox, webhookId, { status, before: undefined, limit: 1_000 }),
    (page) => page.deliveries,
  )

/** Looks, turn by turn of the event loop, until what is found `holds`. */
export const until = <A>(look: Effect.Effect<A>, holds: (found: A) => boolean): Effect.Effect<A> =>
  Effect.flatMap(look, (found) =>
    holds(found) ? Effect.succeed(found) : Effect.andThen(yieldToEventLoop, until(look, holds)),
  )

/** The log once nothing of it is pending any more. */
export const endedLog = (started: Pick<Started, "deliveries">, webhookId: string, count: number) =>
  until(
    logOf(started, webhookId),
    (log) => log.length >= count && log.every(({ status }) => status !== "pending"),
  )
