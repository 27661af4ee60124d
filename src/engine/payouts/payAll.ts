/** Asks users to take payments, until none has to be asked again. */
import { Effect, Latch, Option } from "effect"
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
interface Paid<Message> {
  readonly paid: number
  readonly failed: ReadonlyArray<Message>
}

/**
 * Asks until each user has the payment, is refused for good, or has failed. Those of `failedUsers` are not
 * asked, and fail; who fails is added to them.
 */
export const payAll = Effect.fnUntraced(function* <Message extends PaymentTo>(
  askUsers: AskUsers,
  environment: string,
  messages: ReadonlyArray<Message>,
  failedUsers: Set<string>,
): Effect.fn.Return<Paid<Message>, Ended> {
  let paid = 0
  const passed = messages.filter(({ userId }) => failedUsers.has(userId))
  const failed: Array<Message> = []
  let left = messages.filter(({ userId }) => !failedUsers.has(userId))
  while (left.length > 0) {
    const refusals = yield* askUsers(environment, left)
    paid += left.length - refusals.length
    const again: Array<Message> = []
    for (const { error, index } of refusals) {
      const message = left[index]!
      if (error.code === "shutting_down") return yield* new Ended()
      if (isPassing(error)) again.push(message)
      else if (!isFinal(error)) {
        failed.push(message)
        failedUsers.add(message.userId)
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
  return { paid, failed: [...failed, ...passed] }
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

/** What waits in an environment for the next try. */
export class Waiting {
  /** The work, each with how many payments failed. */
  readonly failed = new Map<string, number>()
  /** The users who met a defect since the last time at which all were asked. */
  readonly failedUsers = new Set<string>()
  /** Opens when there may be other work. */
  readonly changed = Latch.makeUnsafe(false)

  /** Waits for other work, or until `retryAt`, in `monotonicMs`. Then all is tried again. */
  readonly rest = Effect.fnUntraced(function* (this: Waiting, retryAt: number) {
    this.changed.closeUnsafe()
    const leftMs = retryAt - (yield* monotonicMs)
    if (leftMs > 0) {
      const changed = yield* Effect.timeoutOption(this.changed.await, leftMs)
      if (Option.isSome(changed)) return
    }
    this.failed.clear()
    this.failedUsers.clear()
  })
}
