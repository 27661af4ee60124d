/** Asks users to take payments, until none has to be asked again. */
import { Effect } from "effect"
import type { Payment } from "../../domain/record/Payment.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { recordDamaged, type UserMessage } from "../actor/Actor.ts"
import { Ended } from "../badges/BackfillRun.ts"

export type PaymentTo = UserMessage<Payment>

/** Asks many users; an outcome with a `_tag` is a refusal. */
export type AskUsers = (
  environment: string,
  messages: ReadonlyArray<PaymentTo>,
) => Effect.Effect<ReadonlyArray<object>>

/** Returns how many users have the payment. */
export const payAll = Effect.fnUntraced(function* (
  askUsers: AskUsers,
  environment: string,
  messages: ReadonlyArray<PaymentTo>,
): Effect.fn.Return<number, Ended> {
  let paid = 0
  let left = messages
  while (left.length > 0) {
    const outcomes = yield* askUsers(environment, left)
    const again: Array<PaymentTo> = []
    for (const [index, outcome] of outcomes.entries()) {
      const message = left[index]!
      const refusal = "_tag" in outcome ? (outcome as LaurelError) : undefined
      if (refusal === undefined) paid++
      else if (refusal.code === "shutting_down") return yield* new Ended()
      else if (isPassing(refusal)) again.push(message)
      else if (!isFinal(refusal)) {
        yield* Effect.logError("A user could not be paid", {
          payout: message.command.payout,
          user: message.userId,
          code: refusal.code,
        })
      }
    }
    left = again
    if (left.length > 0) yield* Effect.sleep(limits.payoutRetryMs)
  }
  return paid
})

const isPassing = ({ code, detail }: LaurelError): boolean =>
  code === "overloaded" || (code === "storage_unavailable" && detail !== recordDamaged.detail)

/** Whether the user is gone, is due nothing, or has the largest balance already. */
const isFinal = ({ code }: LaurelError): boolean =>
  code === "user_not_found" || code === "conflict" || code === "balance_overflow"
