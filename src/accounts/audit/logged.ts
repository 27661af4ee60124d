/** Does something and logs it, in the order on which the audit log relies. */
import { Effect } from "effect"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { AuditLog, NewAuditEntry } from "./AuditLog.ts"
import { RequestOrigin } from "./RequestOrigin.ts"

/**
 * Does `work` and writes the entry of its result, unless it has none. Fails with the log's refusal before anything is done,
 * and after it where the entry could not be written: the error says which. `accountId` is absent where nobody is
 * signed in.
 */
export const logged = <A>(
  log: AuditLog,
  work: Effect.Effect<A, LaurelError>,
  entryOf: (result: A) => Omit<NewAuditEntry, "address" | "requestId"> | undefined,
  accountId?: string,
): Effect.Effect<A, LaurelError> =>
  // Once the work is done, no interruption may come between it and its entry.
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      yield* log.admit(accountId)
      const result = yield* restore(work)
      const entry = entryOf(result)
      if (entry === undefined) return result
      // The account was not known before it signed in.
      const { by } = entry
      if (accountId === undefined && typeof by === "object" && "email" in by) {
        yield* log.admit(by.id)
      }
      yield* log.write({ ...entry, ...(yield* RequestOrigin) })
      return result
    }),
  )
