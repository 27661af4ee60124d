/** Asks users to take payments, until none has to be asked again. */
import { Effect, type Latch, Option } from "effect"
import type { Payment } from "../../domain/record/Payment.ts"
import type { LaurelError, Refusal } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { monotonicMs } from "../../storage/disk/Deadline.ts"
import { failedTooOften, recordDamaged, type UserMessage } from "../actor/Actor.ts"
import { Ended } from "../badges/BackfillRun.ts"

export type PaymentTo = UserMessage<Payment>

/** Asks many users; returns the refusals. */
export type AskUsers = (
  environment: string,
  messages: ReadonlyArray<PaymentTo>,
) => Effect.Effect<ReadonlyArray<Refusal>>

/** `failed`: the payments that met a defect or a damaged record. They must be asked for again. */
export interface Paid {
  readonly paid: number
  readonly failed: ReadonlyArray<PaymentTo>
}

/** Asks until each user has the payment, is refused for good, or has failed. */
export const payAll = Effect.fnUntraced(function* (
  askUsers: AskUsers,
  environment: string,
  messages: ReadonlyArray<PaymentTo>,
): Effect.fn.Return<Paid, Ended> {
  let paid = 0
  const failed: Array<PaymentTo> = []
  let left = messages
  while (left.length > 0) {
    const refusals = yield* askUsers(environment, left)
    paid += left.length - refusals.length
    const again: Array<PaymentTo> = []
    for (const { error, index } of refusals) {
      const message = left[index]!
      if (error.code === "shutting_down") return yield* new Ended()
      if (isPassing(error)) again.push(message)
      else if (!isFinal(error)) {
        failed.push(message)
        yield* Effect.logError("A user could not be paid; tried again", {
          payout: message.command.payout,
          user: message.userId,
          code: error.code,
        })
      }
    }
    left = again
    if (left.length > 0) yield* Effect.sleep(limits.payoutRetryMs)
  }
  return { paid, failed }
})

/** The refusals of one user, whom no wait helps. */
const ofOneUser: ReadonlySet<string | undefined> = new Set([
  recordDamaged.detail,
  failedTooOften(0).detail,
])

const isPassing = ({ code, detail }: LaurelError): boolean =>
  (code === "overloaded" || code === "storage_unavailable") && !ofOneUser.has(detail)

/** Whether the user is gone, is due nothing, or has the largest balance already. */
const isFinal = ({ code }: LaurelError): boolean =>
  code === "user_not_found" || code === "conflict" || code === "balance_overflow"

/** The work of an environment that waits for its next try, each with how many payments failed. */
export interface Waiting {
  readonly failed: Map<string, number>
  /** Opens when there may be other work. */
  readonly changed: Latch.Latch
}

/** Waits until `retryAt`, in `monotonicMs`, or `changed`; returns whether the time has come. */
export const isOver = Effect.fnUntraced(function* (retryAt: number, changed: Latch.Latch) {
  changed.closeUnsafe()
  const leftMs = retryAt - (yield* monotonicMs)
  if (leftMs <= 0) return true
  return Option.isNone(yield* Effect.timeoutOption(changed.await, leftMs))
})
