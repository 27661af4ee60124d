/** Shared by the decisions about accounts: the caller, the usual facts and refusals. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { invalidRequest, type LaurelError, refuse } from "../values/Errors.ts"
import {
  type Account,
  type AccountsState,
  isConfirmed,
  isSessionInForce,
  passkeyWithId,
  type Session,
} from "./Account.ts"
import type { Asker, NewPasskey, NewSession } from "./AccountCommand.ts"
import type { AccountFact } from "./AccountFact.ts"
import { passkeyFaults } from "./accountFaults.ts"

export type Decision = Result.Result<ReadonlyArray<AccountFact>, LaurelError>

interface Asking {
  readonly account: Account
  readonly session: Session
}

export const asks = (
  state: AccountsState,
  { sessionId }: { readonly sessionId: string },
  now: number,
): Result.Result<Asking, LaurelError> => {
  const session = state.sessions.get(sessionId)
  const account = session && state.accounts.get(session.accountId)
  return account === undefined || session === undefined || !isSessionInForce(session, now)
    ? refuse("unauthorized", "The session has ended. Sign in again.")
    : Result.succeed({ account, session })
}

export const confirmed = (
  state: AccountsState,
  by: { readonly sessionId: string },
  now: number,
): Result.Result<Asking, LaurelError> =>
  Result.flatMap(asks(state, by, now), (asking) =>
    isConfirmed(asking.session, now)
      ? Result.succeed(asking)
      : refuse("confirmation_required", "Confirm with your password or a passkey first."),
  )

/** The asking owner's account id, `null` for the command line. */
export const ownerAsks = (
  state: AccountsState,
  by: Asker,
  now: number,
): Result.Result<string | null, LaurelError> =>
  by === "operator"
    ? Result.succeed(null)
    : Result.flatMap(asks(state, by, now), ({ account }) =>
        account.access.owner
          ? Result.map(confirmed(state, by, now), () => account.id)
          : refuse("insufficient_role", "Only an owner may manage accounts."),
      )

export const begin = (accountId: string, made: NewSession, now: number) =>
  ({
    kind: "session.started",
    session: { ...made, accountId, createdAt: now, usedAt: now, confirmedAt: now },
  }) as const

export const ended = (sessionIds: ReadonlyArray<string>): ReadonlyArray<AccountFact> =>
  sessionIds.length === 0 ? [] : [{ kind: "session.ended", sessionIds }]

export const revoked = (invitationIds: Iterable<string>): ReadonlyArray<AccountFact> =>
  Array.from(invitationIds, (invitationId) => ({ kind: "invitation.revoked", invitationId }))

/** Ends the open links that the account made, and those that are for it. */
export const linksEnded = (
  { invitations }: AccountsState,
  accountId: string,
): ReadonlyArray<AccountFact> =>
  revoked(
    [...invitations.values()]
      .filter((one) => one.accountId === accountId || one.createdBy === accountId)
      .map(({ id }) => id),
  )

export const sessionsOf = ({ sessions }: AccountsState, accountId: string): ReadonlyArray<string> =>
  [...sessions.values()].filter((session) => session.accountId === accountId).map(({ id }) => id)

export const updated = (
  accountId: string,
  change: Extract<AccountFact, { readonly kind: "account.updated" }>["change"],
) => ({ kind: "account.updated", accountId, change }) as const

/** Whether the account, or one that is to be created, may have this passkey. */
export const passkeyAllowed = (
  state: AccountsState,
  account: Account | undefined,
  passkey: NewPasskey,
): Result.Result<void, LaurelError> => {
  if (account !== undefined && account.passkeys.length >= limits.passkeysPerAccountMax) {
    return quotaExceeded(limits.passkeysPerAccountMax, "passkeys per account")
  }
  const faults = passkeyFaults(passkey)
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  return passkeyWithId(state, passkey.id) === undefined ? Result.succeed(undefined) : passkeyTaken
}

export const quotaExceeded = (most: number, of: string) =>
  refuse("quota_exceeded", `At most ${most} ${of} are allowed.`)
export const accountNotFound = refuse("account_not_found", "No account has this id.")
const passkeyTaken = refuse("conflict", "The passkey belongs to an account already.")
export const accessChanged = refuse(
  "conflict",
  "Somebody changed the access of the account meanwhile. Nothing was saved: look at it and try again.",
)
export const lastOwner = refuse("conflict", "The last owner cannot be removed or demoted.")
