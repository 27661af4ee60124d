/**
 * The audit log: who did what, when, and from where. Entries have numbers in the order in which
 * they were written. Their times come from the engine's clock and never go back.
 */
import { Context, Effect } from "effect"
import type { EnvironmentName } from "../../domain/project/Directory.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"

/** Subject and verb of the action: `key.revoke`, `account.change_access`. */
export type AuditAction = `${Lowercase<string>}.${Lowercase<string>}`

/** Actions that belong to no form of the dashboard and no operation of the API. */
export const otherActions: ReadonlyArray<AuditAction> = [
  "data.restore",
  "log.replace",
  "session.fail_sign_in",
]

/**
 * Who acted: an account or an API key, with its address or name of that time; `operator`, on the
 * command line; `server`, without a request; or `visitor`, somebody who is not signed in.
 */
export type AuditActor =
  | { readonly id: string; readonly email: string }
  | { readonly id: string; readonly key: string }
  | "operator"
  | "server"
  | "visitor"

/**
 * A changed member, such as `reward.xp`, with its values as JSON; an absent value is empty. Never a
 * secret.
 */
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
  /**
   * The id of the object of the action, then perhaps the id of a part of it. A user has a hash
   * instead (`userSubject`). Empty if the action is about the actor.
   */
  readonly subject: string
  /** More about the subject at that time, such as its name or the new role. Never a secret. */
  readonly detail: string
  /** At most `auditChangesMax`; absent if no member changed. */
  readonly changes?: ReadonlyArray<AuditChange>
  /** `null` if the action belongs to no project. */
  readonly projectId: string | null
  readonly environment: EnvironmentName | null
  /** The network address of the actor, and the id of the request; empty without a request. */
  readonly address: string
  readonly requestId: string
}

export type NewAuditEntry = Omit<AuditEntry, "at" | "sequence">

/** Selects the entries that match all given members. */
export interface AuditQuery {
  /** Only entries before this number. */
  readonly before?: number | undefined
  /**
   * The id of an account or a key, a part of an account's e-mail address, or `operator`, `server`,
   * `visitor`.
   */
  readonly by?: string | undefined
  readonly action?: string | undefined
  /** Entries whose subject is one of these. */
  readonly on?: ReadonlyArray<string> | undefined
  readonly projectId?: string | undefined
  /** Entries of this environment, and entries without an environment. */
  readonly environment?: EnvironmentName | undefined
  /** `from` is inclusive, `until` exclusive; epoch milliseconds. */
  readonly from?: number | undefined
  readonly until?: number | undefined
}

/** Entries, newest first. */
export interface AuditPage {
  readonly entries: ReadonlyArray<AuditEntry>
  /** The `before` of the next page; `undefined` at the end. */
  readonly next: number | undefined
  /**
   * The search stopped after `auditSearchedMax` entries, at an entry of this time. Older entries
   * may match.
   */
  readonly searchedBackTo: number | undefined
}

export interface AuditLog {
  /**
   * Fails if an action could not be logged. Called before each action. `storage_unavailable`: the
   * storage of the log is full or failed. `rate_limited`: this account acted too often within an
   * hour.
   */
  readonly admit: (accountId?: string) => Effect.Effect<void, LaurelError>
  /**
   * Writes an entry after the action; succeeds once the entry is durable. Long texts are truncated.
   */
  readonly write: (entry: NewAuditEntry) => Effect.Effect<void, LaurelError>
  readonly read: (query: AuditQuery) => Effect.Effect<AuditPage, LaurelError>
}

/*
 * The request that caused an action, for the audit log; empty if a command acts without a server.
 */

export const RequestOrigin = Context.Reference<{
  /** The network address of the connection. */
  readonly address: string
  readonly requestId: string
}>("accounts/audit/RequestOrigin", { defaultValue: () => ({ address: "", requestId: "" }) })

/**
 * Runs `work` and then writes the entry that `entryOf` makes of the result, if it makes one. If the
 * log refuses the action, `logged` fails before `work`. If the entry could not be written, it fails
 * after `work`. The error says which. `accountId` is absent if nobody is signed in.
 */
export const logged = <A>(
  log: AuditLog,
  work: Effect.Effect<A, LaurelError>,
  entryOf: (result: A) => Omit<NewAuditEntry, "address" | "requestId"> | undefined,
  accountId?: string,
): Effect.Effect<A, LaurelError> =>
  // An interruption after the work must not prevent its entry.
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      yield* log.admit(accountId)
      const result = yield* restore(work)
      const entry = entryOf(result)
      if (entry === undefined) return result
      // A sign-in: its account was not known before the work.
      const { by } = entry
      if (accountId === undefined && typeof by === "object" && "email" in by) {
        yield* log.admit(by.id)
      }
      yield* log.write({ ...entry, ...(yield* RequestOrigin) })
      return result
    }),
  )
