/**
 * The audit log: who did what, when, from where. Entries are numbered in the order in which they were written; times come
 * from the engine's clock and never go back.
 */
import { Context, Effect } from "effect"
import type { EnvironmentName } from "../../domain/project/Directory.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"

/** Subject and verb of the action: `key.revoke`, `account.change_access`. */
export type AuditAction = `${Lowercase<string>}.${Lowercase<string>}`

/** Actions of no form. */
export const otherActions: ReadonlyArray<AuditAction> = [
  "data.restore",
  "log.replace",
  "session.fail_sign_in",
]

/** An account or an API key (with its name) as it was then; the command line; the server by itself; somebody who is not signed in. */
export type AuditActor =
  | { readonly id: string; readonly email: string }
  | { readonly id: string; readonly key: string }
  | "operator"
  | "server"
  | "visitor"

/** A changed member, such as `reward.xp`, and its values as JSON; empty for none. Never a secret. */
export interface AuditChange {
  readonly field: string
  readonly from: string
  readonly to: string
}

export interface AuditEntry {
  readonly sequence: number
  /** Epoch milliseconds. */
  readonly at: number
  readonly action: AuditAction
  readonly by: AuditActor
  /** The id of what was acted on, of a user its hash (`userSubject`); then the id of a part of it. Empty where the action is about the actor. */
  readonly subject: string
  /** More about the subject as it was then, such as its name or the new role; never a secret. */
  readonly detail: string
  /** At most `auditChangesMax`; absent where no member changed. */
  readonly changes?: ReadonlyArray<AuditChange>
  /** `null` where the action belongs to no project. */
  readonly projectId: string | null
  readonly environment: EnvironmentName | null
  /** The network address of the actor, and the id of the request; empty without a request. */
  readonly address: string
  readonly requestId: string
}

export type NewAuditEntry = Omit<AuditEntry, "at" | "sequence">

/** Selects the entries that match every member given. */
export interface AuditQuery {
  /** Only entries before this number. */
  readonly before?: number | undefined
  /** The id of an account or a key, a part of an account's e-mail address, or `operator`, `server`, `visitor`. */
  readonly by?: string | undefined
  readonly action?: string | undefined
  /** Entries whose subject is one of these. */
  readonly on?: ReadonlyArray<string> | undefined
  readonly projectId?: string | undefined
  /** Entries of this environment, and of none. */
  readonly environment?: EnvironmentName | undefined
  /** From this time on, and before this one; epoch milliseconds. */
  readonly from?: number | undefined
  readonly until?: number | undefined
}

/** Entries, newest first. */
export interface AuditPage {
  readonly entries: ReadonlyArray<AuditEntry>
  /** The `before` of the next page; `undefined` at the end. */
  readonly next: number | undefined
  /** The search ended after `auditSearchedMax` entries, at an entry of this time; older ones may match. */
  readonly searchedBackTo: number | undefined
}

export interface AuditLog {
  /**
   * Asked before an action, so that nothing is done that cannot be logged. `storage_unavailable`: the disk is full or
   * failed. `rate_limited`: this account acted too often within an hour.
   */
  readonly admit: (accountId?: string) => Effect.Effect<void, LaurelError>
  /** Writes what was done; succeeds once the entry is on disk. Longer texts are cut. */
  readonly write: (entry: NewAuditEntry) => Effect.Effect<void, LaurelError>
  readonly read: (query: AuditQuery) => Effect.Effect<AuditPage, LaurelError>
}

/* The request for which something is done, for the audit log; empty where a command does it without a server. */

export const RequestOrigin = Context.Reference<{
  /** The network address of the connection. */
  readonly address: string
  readonly requestId: string
}>("accounts/audit/RequestOrigin", { defaultValue: () => ({ address: "", requestId: "" }) })

/* Does something and logs it, in the order on which the audit log relies. */

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
