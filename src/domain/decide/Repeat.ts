/**
 * A repeat: an event, a reward, a spend or a purchase with an id that the user's first one already has. It
 * changes nothing, and gets the outcome of the first. The repeat may be a retry, whose content is
 * that of the first, or the caller may have used the id for something else: `differs` tells the two
 * apart. A spend or a purchase with other content is refused, because its caller takes any other
 * answer for a payment. Opening balances have no id: a user has them once, and other ones are refused.
 *
 * The content is what the caller sent: all members of the command but its id. A retry may carry a
 * fresh time, or none, so `occurredAt` counts only if both have it. Whether an event was imported
 * does not count.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import type { Opening } from "../record/Opening.ts"
import {
  type Cause,
  isRepair,
  type JournalRecord,
  type Named,
  type TrackedEvent,
} from "../record/Record.ts"
import { differences } from "../values/differences.ts"
import { type LaurelError, laurelError } from "../values/Errors.ts"

export interface Repeat {
  /** JSON Pointers to the members of the repeated body whose values the first does not have. */
  readonly differs: ReadonlyArray<string>
  /** Whether the first was revoked since. */
  readonly revoked: boolean
}

/** Decides `command`, whose id the cause of `first` has. */
export const decideRepeat = (
  command: Named | Opening,
  first: JournalRecord,
  revoked: boolean,
): Result.Result<Repeat, LaurelError<"id_reused" | "opening_closed">> => {
  const differs = contentDifferences(command, first.cause)
  if (command.kind === "opening" && differs.length > 0) {
    return Result.fail(
      laurelError("opening_closed", `${opened}: ${differs.join(", ")}.`, { differs }),
    )
  }
  const isPayment = command.kind === "spend" || command.kind === "purchase"
  return isPayment && differs.length > 0
    ? Result.fail(idReused(command.kind, differs))
    : Result.succeed({ differs, revoked })
}

/** Where the content of a repeat differs from that of the first, the cause of its record. */
export const contentDifferences = (
  command: Named | Opening,
  first: Cause,
): ReadonlyArray<string> => {
  const { occurredAt, ...content } = contentOf(command)
  const { occurredAt: before, ...contentBefore } = contentOf(first)
  const areDated = occurredAt !== undefined && before !== undefined
  return areDated
    ? differences({ ...content, occurredAt }, { ...contentBefore, occurredAt: before }, most)
    : differences(content, contentBefore, most)
}

const opened = "The opening balances of the user were set with other content"

const most = limits.differencesMax

const contentOf = (cause: Cause) => {
  const { id: _id, imported: _imported, kind: _kind, ...content } = cause as TrackedEvent
  // The definition has the price of a repair.
  return cause.kind === "spend" && isRepair(cause) ? { ...content, currencies: {} } : content
}

const idReused = (kind: "spend" | "purchase", differs: ReadonlyArray<string>) =>
  laurelError(
    "id_reused",
    `An earlier ${kind} of the user has this id and other content: ${differs.join(", ")}.`,
    { differs },
  )
