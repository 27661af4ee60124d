/**
 * Decides commands about accounts, their sessions and their links.
 *
 * Invariants, for every order of requests:
 * - As soon as there is an owner, there always is one.
 * - No two accounts have the same e-mail address or the same passkey.
 * - A link works once. It stops working when the account that created it, or that it is for, loses
 *   access.
 * - An account always has a way to sign in.
 *
 * The directory's actor decides one command at a time, and each decision looks up the caller's
 * session. A session that ended a moment before, or whose account was demoted, therefore decides
 * nothing.
 */

import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { invalidRequest, type LaurelError, quotaExceeded, refuse } from "../values/Errors.ts"
import {
  type Access,
  type Account,
  type AccountCommand,
  type AccountFact,
  type AccountsState,
  type Asker,
  type Invitation,
  invitationLifetimeMs,
  invitationWithHash,
  isConfirmed,
  isSessionInForce,
  losesAccess,
  type NewPasskey,
  type NewSession,
  normalAccess,
  normalEmail,
  ownersOf,
  type Passkey,
  passkeyWithId,
  type Session,
  surplusSessions,
} from "./Account.ts"
import {
  accessFaults,
  emailFaults,
  nameFaults,
  newAccountFaults,
  passkeyFaults,
} from "./accountFaults.ts"

export type Decision = Result.Result<ReadonlyArray<AccountFact>, LaurelError>

type CommandOf<Kind extends AccountCommand["kind"]> = Extract<
  AccountCommand,
  { readonly kind: Kind }
>

/** The ids of the projects that an access may name. */
type ProjectIds = { has(id: string): boolean }

export const decideAccounts = (
  state: AccountsState,
  projectIds: ProjectIds,
  command: AccountCommand,
  now: number,
): Decision => {
  switch (command.kind) {
    case "invite":
      return Result.flatMap(ownerAsks(state, command.by, now), (by) =>
        invite(state, projectIds, command.invitation, by, now),
      )
    case "revokeInvitation":
      return revokeInvitation(state, command, now)
    case "acceptInvitation":
      return accept(state, command, now)
    case "signIn":
      return signIn(state, command, now)
    case "confirmSession":
      return confirmSession(state, command, now)
    case "renewSession":
      return renewSession(state, command, now)
    case "endSession":
      return endSession(state, command, now)
    case "endOtherSessions":
      return endOtherSessions(state, command, now)
    case "endAllSessions":
      return endAllSessions(state)
    case "changeName":
      return changeName(state, command, now)
    case "changeAddress":
      return changeAddress(state, command, now)
    case "changePassword":
      return changePassword(state, command, now)
    case "addPasskey":
      return addPasskey(state, command, now)
    case "removePasskey":
      return removePasskey(state, command, now)
    case "changeAccess":
      return changeAccess(state, projectIds, command, now)
    case "removeAccount":
      return removeAccount(state, command, now)
  }
}

/* The caller. */

interface Asking {
  readonly account: Account
  readonly session: Session
}

/** The account of the caller's session; refuses a session that has ended. */
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

/** As `asks`; also refuses a session in which the account has not proved itself lately. */
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

/** The id of the owner who asks, `null` for the command line. Refuses everyone else. */
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

/* Links: the setup of the first owner, invitations, resets. */

const invite = (
  state: AccountsState,
  projectIds: ProjectIds,
  made: CommandOf<"invite">["invitation"],
  createdBy: string | null,
  now: number,
): Decision => {
  const { accountId, email, purpose } = made
  if (purpose === "setup" && ownersOf(state).length > 0) {
    return refuse("conflict", "An owner exists already.")
  }
  if (purpose === "reset" && (accountId === null || !state.accounts.has(accountId))) {
    return accountNotFound
  }
  const faults =
    purpose === "join"
      ? [
          ...(email === null ? [addressMissing] : emailFaults(state, email)),
          ...accessFaults(projectIds, made.access),
        ]
      : []
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  // A new setup link replaces the earlier setup link, a new reset those for the same account.
  const open = [...state.invitations.values()].filter(({ expiresAt }) => expiresAt > now)
  const replaced = open.filter(
    (one) => purpose !== "join" && one.purpose === purpose && one.accountId === accountId,
  )
  if (open.length - replaced.length >= limits.invitationsMax) {
    return quotaExceeded(limits.invitationsMax, "open invitations")
  }
  const invitation: Invitation = {
    ...made,
    email: email === null ? null : normalEmail(email),
    access: purpose === "setup" ? { owner: true, projects: [] } : normalAccess(made.access),
    createdBy,
    createdAt: now,
    expiresAt: now + invitationLifetimeMs[purpose],
  }
  return Result.succeed([
    ...revoked(replaced.map(({ id }) => id)),
    { kind: "invitation.created", invitation } as const,
  ])
}

const addressMissing = {
  pointer: "/email",
  code: "missing",
  detail: "must be the address of the person who is invited",
}

const revokeInvitation = (
  state: AccountsState,
  { by, invitationId }: CommandOf<"revokeInvitation">,
  now: number,
): Decision =>
  Result.flatMap(ownerAsks(state, by, now), () =>
    state.invitations.has(invitationId)
      ? Result.succeed(revoked([invitationId]))
      : refuse("invitation_not_found", "No open invitation has this id."),
  )

const accept = (
  state: AccountsState,
  command: CommandOf<"acceptInvitation">,
  now: number,
): Decision => {
  const invitation = invitationWithHash(state, command.hash, now)
  if (invitation === undefined) return linkEnded
  // Two setup links cannot create two first owners.
  if (invitation.purpose === "setup" && ownersOf(state).length > 0) return linkEnded
  const { passkey: added } = command.credential
  const passkey = added && { ...added, createdAt: now, usedAt: now }
  return invitation.purpose === "reset"
    ? reset(state, invitation, command, passkey, now)
    : join(state, invitation, command, passkey, now)
}

/** Replaces every way to sign in by password, and ends all sessions and links of the account. */
const reset = (
  state: AccountsState,
  invitation: Invitation,
  { credential, session }: CommandOf<"acceptInvitation">,
  passkey: Passkey | undefined,
  now: number,
): Decision => {
  const account = state.accounts.get(invitation.accountId!)
  if (account === undefined) return linkEnded
  const facts: ReadonlyArray<AccountFact> = [
    { kind: "invitation.accepted", invitationId: invitation.id },
    // The owner of the account has lost the password: it must not stay valid beside a new passkey.
    updated(account.id, { password: credential.password ?? null }),
    ...ended(sessionsOf(state, account.id)),
    ...linksEnded(state, account.id),
    begin(account.id, session, now),
  ]
  if (passkey === undefined) return Result.succeed(facts)
  return Result.map(passkeyAllowed(state, account, passkey), () => [
    ...facts,
    { kind: "passkey.added", accountId: account.id, passkey } as const,
  ])
}

/** Creates the account of a setup or an invitation. */
const join = (
  state: AccountsState,
  invitation: Invitation,
  command: CommandOf<"acceptInvitation">,
  passkey: Passkey | undefined,
  now: number,
): Decision => {
  if (state.accounts.has(command.accountId)) {
    return refuse("conflict", "An account has this id already.")
  }
  if (state.accounts.size >= limits.accountsMax) {
    return quotaExceeded(limits.accountsMax, "accounts")
  }
  const faults = [
    ...newAccountFaults(state, command, invitation),
    ...(passkey === undefined ? [] : passkeyFaults(passkey)),
  ]
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  if (passkey !== undefined) {
    const allowed = passkeyAllowed(state, undefined, passkey)
    if (Result.isFailure(allowed)) return Result.fail(allowed.failure)
  }
  const account: Account = {
    id: command.accountId,
    email: normalEmail(command.email),
    name: command.name,
    password: command.credential.password ?? null,
    passkeys: passkey === undefined ? [] : [passkey],
    access: invitation.access,
    createdAt: now,
  }
  return Result.succeed([
    { kind: "invitation.accepted", invitationId: invitation.id },
    { kind: "account.created", account },
    begin(account.id, command.session, now),
  ])
}

/**
 * The facts that end the open links that the account created, and the links that are for the
 * account.
 */
const linksEnded = (
  { invitations }: AccountsState,
  accountId: string,
): ReadonlyArray<AccountFact> =>
  revoked(
    [...invitations.values()]
      .filter((one) => one.accountId === accountId || one.createdBy === accountId)
      .map(({ id }) => id),
  )

const revoked = (invitationIds: Iterable<string>): ReadonlyArray<AccountFact> =>
  Array.from(invitationIds, (invitationId) => ({ kind: "invitation.revoked", invitationId }))

/* Sessions. */

const signIn = (state: AccountsState, command: CommandOf<"signIn">, now: number): Decision => {
  const { passkey, rehashed, session } = command
  const account = state.accounts.get(command.accountId)
  if (account === undefined) return refuse("unauthorized", "The account was removed.")
  return Result.map(passkeyUsed(account, passkey), (used) => [
    ...used,
    ...(rehashed === undefined ? [] : [updated(account.id, { password: rehashed })]),
    ...ended(surplusSessions(state, account.id)),
    begin(account.id, session, now),
  ])
}

const confirmSession = (
  state: AccountsState,
  command: CommandOf<"confirmSession">,
  now: number,
): Decision =>
  Result.flatMap(asks(state, command, now), ({ account, session }) =>
    Result.map(passkeyUsed(account, command.passkey), (used) => [
      ...used,
      { kind: "session.confirmed", sessionId: session.id } as const,
    ]),
  )

/** Notes the use of the session, at most once in `sessionRenewMs`. */
const renewSession = (
  state: AccountsState,
  command: CommandOf<"renewSession">,
  now: number,
): Decision =>
  Result.map(asks(state, command, now), ({ session }) =>
    now - session.usedAt < limits.sessionRenewMs
      ? []
      : [{ kind: "session.renewed", sessionId: session.id } as const],
  )

const endSession = (
  state: AccountsState,
  { by, sessionId }: CommandOf<"endSession">,
  now: number,
): Decision => {
  const session = state.sessions.get(sessionId)
  const missing = refuse("session_not_found", "No session in force has this id.")
  if (by === "operator") return session === undefined ? missing : Result.succeed(ended([sessionId]))
  return Result.flatMap(asks(state, by, now), ({ account }) =>
    session === undefined || session.accountId !== account.id
      ? missing
      : Result.succeed(ended([sessionId])),
  )
}

const endOtherSessions = (
  state: AccountsState,
  { by }: CommandOf<"endOtherSessions">,
  now: number,
): Decision =>
  Result.map(asks(state, by, now), ({ account, session }) =>
    ended(sessionsOf(state, account.id).filter((id) => id !== session.id)),
  )

const endAllSessions = ({ invitations, sessions }: AccountsState): Decision =>
  Result.succeed([...ended([...sessions.keys()]), ...revoked(invitations.keys())])

/** The fact of the passkey's use, if the account signed in with one. */
const passkeyUsed = (
  account: Account,
  used: { readonly id: string; readonly counter: number } | undefined,
): Decision => {
  if (used === undefined) return Result.succeed([])
  const passkey = account.passkeys.find(({ id }) => id === used.id)
  if (passkey === undefined) return refuse("unauthorized", "The passkey was removed.")
  // WebAuthn Level 3, §7.2 step 22: a counter that does not grow suggests a cloned authenticator.
  if (used.counter <= passkey.counter && (used.counter > 0 || passkey.counter > 0)) {
    return refuse("unauthorized", "The passkey may have been copied. Use another way to sign in.")
  }
  return Result.succeed([
    {
      kind: "passkey.used",
      accountId: account.id,
      passkeyId: used.id,
      counter: used.counter,
    } as const,
  ])
}

const begin = (accountId: string, made: NewSession, now: number) =>
  ({
    kind: "session.started",
    session: { ...made, accountId, createdAt: now, usedAt: now, confirmedAt: now },
  }) as const

const ended = (sessionIds: ReadonlyArray<string>): ReadonlyArray<AccountFact> =>
  sessionIds.length === 0 ? [] : [{ kind: "session.ended", sessionIds }]

const sessionsOf = ({ sessions }: AccountsState, accountId: string): ReadonlyArray<string> =>
  [...sessions.values()].filter((session) => session.accountId === accountId).map(({ id }) => id)

/* The account's own name, password and passkeys. */

const changeName = (
  state: AccountsState,
  { by, name }: CommandOf<"changeName">,
  now: number,
): Decision =>
  Result.flatMap(asks(state, by, now), ({ account }) => {
    const faults = nameFaults(name)
    return faults.length > 0
      ? Result.fail(invalidRequest(faults))
      : Result.succeed([updated(account.id, { name })])
  })

const changePassword = (
  state: AccountsState,
  { by, password, session }: CommandOf<"changePassword">,
  now: number,
): Decision =>
  Result.flatMap(confirmed(state, by, now), ({ account }) =>
    password === null && account.passkeys.length === 0
      ? refuse("conflict", "The password is the account's only way to sign in.")
      : Result.succeed([
          updated(account.id, { password }),
          ...ended(sessionsOf(state, account.id)),
          ...linksEnded(state, account.id),
          begin(account.id, session, now),
        ]),
  )

const addPasskey = (
  state: AccountsState,
  { by, passkey }: CommandOf<"addPasskey">,
  now: number,
): Decision =>
  Result.flatMap(confirmed(state, by, now), ({ account }) =>
    Result.map(passkeyAllowed(state, account, passkey), () => [
      {
        kind: "passkey.added",
        accountId: account.id,
        passkey: { ...passkey, createdAt: now, usedAt: null },
      } as const,
    ]),
  )

const removePasskey = (
  state: AccountsState,
  { by, passkeyId }: CommandOf<"removePasskey">,
  now: number,
): Decision =>
  Result.flatMap(confirmed(state, by, now), ({ account }): Decision => {
    if (account.passkeys.every(({ id }) => id !== passkeyId)) {
      return refuse("passkey_not_found", "The account has no such passkey.")
    }
    if (account.password === null && account.passkeys.length === 1) {
      return refuse("conflict", "The passkey is the account's only way to sign in.")
    }
    return Result.succeed([{ kind: "passkey.removed", accountId: account.id, passkeyId }])
  })

/**
 * Refuses a passkey that `account`, or an account yet to be created (`undefined`), may not have.
 */
const passkeyAllowed = (
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

const passkeyTaken = refuse("conflict", "The passkey belongs to an account already.")

/* What owners change of any account: address, access, removal. */

const changeAddress = (
  state: AccountsState,
  { accountId, by, email }: CommandOf<"changeAddress">,
  now: number,
): Decision =>
  Result.flatMap(ownerAsks(state, by, now), (): Decision => {
    const account = state.accounts.get(accountId)
    if (account === undefined) return accountNotFound
    const faults = emailFaults(state, email, account.id)
    return faults.length > 0
      ? Result.fail(invalidRequest(faults))
      : Result.succeed([updated(account.id, { email: normalEmail(email) })])
  })

const changeAccess = (
  state: AccountsState,
  projectIds: ProjectIds,
  { access, accountId, by, seen }: CommandOf<"changeAccess">,
  now: number,
): Decision =>
  Result.flatMap(ownerAsks(state, by, now), (): Decision => {
    const account = state.accounts.get(accountId)
    if (account === undefined) return accountNotFound
    const isOther = (one: Access) => JSON.stringify(one) !== JSON.stringify(account.access)
    if (seen !== undefined && isOther(seen)) return accessChanged
    const faults = accessFaults(projectIds, access)
    if (faults.length > 0) return Result.fail(invalidRequest(faults))
    if (!access.owner && isLastOwner(state, account)) return lastOwner
    return Result.succeed([
      updated(account.id, { access: normalAccess(access) }),
      ...ended(sessionsOf(state, account.id)),
      ...(losesAccess(account.access, access) ? linksEnded(state, account.id) : []),
    ])
  })

const removeAccount = (
  state: AccountsState,
  { accountId, by }: CommandOf<"removeAccount">,
  now: number,
): Decision =>
  Result.flatMap(ownerAsks(state, by, now), (): Decision => {
    const account = state.accounts.get(accountId)
    if (account === undefined) return accountNotFound
    if (isLastOwner(state, account)) return lastOwner
    return Result.succeed([
      { kind: "account.removed", accountId: account.id },
      ...ended(sessionsOf(state, account.id)),
      ...linksEnded(state, account.id),
    ])
  })

const isLastOwner = (state: AccountsState, { access, id }: Account): boolean =>
  access.owner && ownersOf(state).every((owner) => owner.id === id)

const updated = (
  accountId: string,
  change: Extract<AccountFact, { readonly kind: "account.updated" }>["change"],
) => ({ kind: "account.updated", accountId, change }) as const

/* Refusals. */

const linkEnded = refuse("invitation_not_found", "The link was used, revoked or has expired.")
const accountNotFound = refuse("account_not_found", "No account has this id.")
const accessChanged = refuse(
  "conflict",
  "Somebody changed the access of the account meanwhile. Nothing was saved: look at it and try again.",
)
const lastOwner = refuse("conflict", "The last owner cannot be removed or demoted.")
