/**
 * The sender thread and the bounds that the dispatchers of a process share: attempts under way, and
 * deliveries in memory. A single dispatcher makes its own. A dispatcher that ends returns its slots
 * and its memory (`Endpoint.release`).
 */
import { Effect, type Scope } from "effect"
import { limits } from "../Limits.ts"
import type { Memory } from "./endpoint/Queue.ts"
import { Slots } from "./endpoint/Slots.ts"
import { AllowedRanges } from "./send/AddressGuard.ts"
import { makeResolve, type Resolve } from "./send/Resolver.ts"
import type { MessageSender } from "./send/Sender.ts"
import { SenderThread } from "./send/SenderThread.ts"

export interface SharedDeliveryOptions {
  /** Address ranges that are allowed although they are not public. */
  readonly allowed?: AllowedRanges
  readonly timeoutMs?: number
  readonly attemptsAtOnceMax?: number
  readonly resolve?: Resolve
  /** Certificates that are trusted instead of the usual ones, in PEM. */
  readonly trusted?: string
  /** Replaces HTTP, for tests. */
  readonly makeSender?: (url: string) => MessageSender
}

export interface SharedDelivery {
  readonly slots: Slots
  readonly memory: Memory
  readonly makeSender: (url: string) => MessageSender
  /** The rules for addresses of webhooks. */
  readonly host: { readonly allowed: AllowedRanges; readonly resolve: Resolve }
}

/** Sends until the scope closes. */
export const makeSharedDelivery = Effect.fnUntraced(function* (
  options: SharedDeliveryOptions,
): Effect.fn.Return<SharedDelivery, never, Scope.Scope> {
  const host = {
    allowed: options.allowed ?? new AllowedRanges([]),
    resolve: options.resolve ?? makeResolve(),
  }
  return {
    slots: new Slots(options.attemptsAtOnceMax ?? limits.webhookAttemptsAtOnceMax),
    memory: { deliveries: 0, bytes: 0 },
    makeSender: options.makeSender ?? (yield* overHttp(options, host)),
    host,
  }
})

/** Makes senders in a separate thread, which ends with the scope. */
const overHttp = Effect.fnUntraced(function* (
  { timeoutMs = limits.webhookTimeoutMs, trusted }: SharedDeliveryOptions,
  { allowed, resolve }: SharedDelivery["host"],
) {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const thread = new SenderThread({
    settings: { allowed: allowed.cidrs, timeoutMs, trusted },
    resolve,
    onFailure: (cause) => void run(Effect.logError("The webhook sender thread crashed", cause)),
  })
  yield* Effect.addFinalizer(() => Effect.promise(() => thread.close()))
  return (url: string) => thread.sender(url)
})
