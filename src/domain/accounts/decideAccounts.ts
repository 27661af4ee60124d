/**
 * Decides what becomes of a command about accounts. Invariants, for every interleaving of requests: once there is an
 * owner there always is one; no two accounts have the same e-mail address; a link works once, and not after the account
 * that made it or that it is for lost access; an account can always sign in somehow. The caller is a session, looked up here: one ended or demoted a moment before decides nothing.
 */

import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { type Fault, invalidRequest, type LaurelError, refuse } from "../values/Errors.ts"
import { nameFault } from "../values/Ids.ts"
import {
  type Access,
  type Account,
  type AccountCommand,
  type AccountFact,
  type AccountsState,
  type Asker,
  accountWithEmail,
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

/* Everything that is wrong with what people say of an account. Pointers are those of the form. */

/** One sign before the `@`, none of white space; the rest is for the mail server to know. */
const emailPattern = /^[^\s@]+@[^\s@]+$/

const emailFaults = (state: AccountsState, email: string, own?: string): ReadonlyArray<Fault> => {
  const normal = normalEmail(email)
  const detail = nameFault(normal, limits.emailCharactersMax)
  if (detail !== undefined) return [{ pointer: "/email", code: "invalid_format", detail }]
  if (!emailPattern.test(normal)) {
    const detail = "must be an e-mail address, such as ada@example.com"
    return [{ pointer: "/email", code: "invalid_format", detail }]
  }
  const taken = accountWithEmail(state, normal)
  return taken === undefined || taken.id === own
    ? []
    : [{ pointer: "/email", code: "invalid_value", detail: "belongs to another account" }]
}

const nameFaults = (name: string): ReadonlyArray<Fault> => {
  const detail =
    name.trim() === "" ? "must not be empty" : nameFault(name, limits.accountNameCharactersMax)
  return detail === undefined ? [] : [{ pointer: "/name", code: "invalid_format", detail }]
}

/** The faults of a new account. An invitation is for one address; a setup lets the first owner choose. */
export const newAccountFaults = (
  state: AccountsState,
  { email, name }: { readonly email: string; readonly name: string },
  invitation: Pick<Invitation, "email">,
): ReadonlyArray<Fault> => {
  const faults = emailFaults(state, email)
  const isOther = invitation.email !== null && normalEmail(email) !== invitation.email
  const detail = "must be the address that was invited"
  return [
    ...faults,
    ...(isOther && faults.length === 0
      ? [{ pointer: "/email", code: "invalid_value", detail }]
      : []),
    ...nameFaults(name),
  ]
}

/** The library that verified the passkey bounds neither its id nor its key. */
const passkeyFaults = ({
  id,
  name,
  publicKey,
}: Pick<Passkey, "id" | "name" | "publicKey">): ReadonlyArray<Fault> => {
  const nameDetail =
    name.trim() === "" ? "must not be empty" : nameFault(name, limits.passkeyNameCharactersMax)
  const tooLarge =
    id.length > limits.passkeyIdCharactersMax || publicKey.length > limits.passkeyKeyCharactersMax
  return [
    ...(nameDetail === undefined
      ? []
      : [{ pointer: "/passkeyName", code: "invalid_format", detail: nameDetail }]),
    ...(tooLarge
      ? [
          {
            pointer: "/passkey",
            code: "invalid_length",
            detail: "has an id or a key that is too long",
          },
        ]
      : []),
  ]
}

const accessFaults = (
  projectIds: { has(id: string): boolean },
  { owner, projects }: Access,
): ReadonlyArray<Fault> => {
  if (owner) return []
  if (projects.length === 0) {
    const detail = "must name at least one project, or make the account an owner"
    return [{ pointer: "/access", code: "invalid_value", detail }]
  }
  return projects.flatMap(({ projectId }, index) =>
    projectIds.has(projectId)
      ? []
      : [
          {
            pointer: `/access/${index}/projectId`,
            code: "invalid_value",
            detail: "names no project",
          },
        ],
  )
}

/* Shared by the decisions about accounts: the caller, the usual facts and refusals. */

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

const begin = (accountId: string, made: NewSession, now: number) =>
  ({
    kind: "session.started",
    session: { ...made, accountId, createdAt: now, usedAt: now, confirmedAt: now },
  }) as const

const ended = (sessionIds: ReadonlyArray<string>): ReadonlyArray<AccountFact> =>
  sessionIds.length === 0 ? [] : [{ kind: "session.ended", sessionIds }]

const revoked = (invitationIds: Iterable<string>): ReadonlyArray<AccountFact> =>
  Array.from(invitationIds, (invitationId) => ({ kind: "invitation.revoked", invitationId }))

/** Ends the open links that the account made, and those that are for it. */
const linksEnded = (
  { invitations }: AccountsState,
  accountId: string,
): ReadonlyArray<AccountFact> =>
  revoked(
    [...invitations.values()]
      .filter((one) => one.accountId === accountId || one.createdBy === accountId)
      .map(({ id }) => id),
  )

const sessionsOf = ({ sessions }: AccountsState, accountId: string): ReadonlyArray<string> =>
  [...sessions.values()].filter((session) => session.accountId === accountId).map(({ id }) => id)

const updated = (
  accountId: string,
  change: Extract<AccountFact, { readonly kind: "account.updated" }>["change"],
) => ({ kind: "account.updated", accountId, change }) as const

/** Whether the account, or one that is to be created, may have this passkey. */
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

export const quotaExceeded = (most: number, of: string) =>
  refuse("quota_exceeded", `At most ${most} ${of} are allowed.`)
const accountNotFound = refuse("account_not_found", "No account has this id.")
const passkeyTaken = refuse("conflict", "The passkey belongs to an account already.")
const accessChanged = refuse(
  "conflict",
  "Somebody changed the access of the account meanwhile. Nothing was saved: look at it and try again.",
)
const lastOwner = refuse("conflict", "The last owner cannot be removed or demoted.")

/* Decides the making and the use of links: the setup of the first owner, invitations, resets. */

const invite = (
  state: AccountsState,
  projectIds: { has(id: string): boolean },
  made: Extract<AccountCommand, { readonly kind: "invite" }>["invitation"],
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
  // A new setup link, or a new reset for the same account, replaces the one before.
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
    ...replaced.map(({ id }) => ({ kind: "invitation.revoked", invitationId: id }) as const),
    { kind: "invitation.created", invitation } as const,
  ])
}

const addressMissing = {
  pointer: "/email",
  code: "missing",
  detail: "must be the address of the person who is invited",
}

const accept = (
  state: AccountsState,
  command: Extract<AccountCommand, { readonly kind: "acceptInvitation" }>,
  now: number,
): Decision => {
  const invitation = invitationWithHash(state, command.hash, now)
  const used = refuse("invitation_not_found", "The link was used, revoked or has expired.")
  if (invitation === undefined) return used
  // Two links of a setup cannot make two first owners.
  if (invitation.purpose === "setup" && ownersOf(state).length > 0) return used
  const { credential, session } = command
  const passkey = credential.passkey && { ...credential.passkey, createdAt: now, usedAt: now }
  const accepted = { kind: "invitation.accepted", invitationId: invitation.id } as const
  if (invitation.purpose === "reset") {
    const account = state.accounts.get(invitation.accountId!)
    if (account === undefined) return used
    // The account has lost its password: the old one must not stay valid beside a new passkey.
    const change = updated(account.id, { password: credential.password ?? null })
    const facts: ReadonlyArray<AccountFact> = [
      accepted,
      change,
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
    password: credential.password ?? null,
    passkeys: passkey === undefined ? [] : [passkey],
    access: invitation.access,
    createdAt: now,
  }
  return Result.succeed([
    accepted,
    { kind: "account.created", account } as const,
    begin(account.id, session, now),
  ])
}

/** `projectIds` are the projects that access may name. */
export const decideAccounts = (
  state: AccountsState,
  projectIds: { has(id: string): boolean },
  command: AccountCommand,
  now: number,
): Decision => {
  switch (command.kind) {
    case "invite":
      return Result.flatMap(ownerAsks(state, command.by, now), (by) =>
        invite(state, projectIds, command.invitation, by, now),
      )
    case "revokeInvitation":
      return Result.flatMap(ownerAsks(state, command.by, now), () =>
        state.invitations.has(command.invitationId)
          ? Result.succeed([
              { kind: "invitation.revoked", invitationId: command.invitationId } as const,
            ])
          : refuse("invitation_not_found", "No open invitation has this id."),
      )
    case "acceptInvitation":
      return accept(state, command, now)
    case "signIn": {
      const account = state.accounts.get(command.accountId)
      if (account === undefined) return refuse("unauthorized", "The account was removed.")
      return Result.map(passkeyUsed(account, command.passkey), (used) => [
        ...used,
        ...(command.rehashed === undefined
          ? []
          : [updated(account.id, { password: command.rehashed })]),
        ...started(state, account.id, command.session, now),
      ])
    }
    case "confirmSession":
      return Result.flatMap(asks(state, command, now), ({ account, session }) =>
        Result.map(passkeyUsed(account, command.passkey), (used) => [
          ...used,
          { kind: "session.confirmed", sessionId: session.id } as const,
        ]),
      )
    case "renewSession":
      return Result.map(asks(state, command, now), ({ session }) =>
        now - session.usedAt < limits.sessionRenewMs
          ? []
          : [{ kind: "session.renewed", sessionId: session.id } as const],
      )
    case "endSession":
      return endSession(state, command, now)
    case "endOtherSessions":
      return Result.map(asks(state, command.by, now), ({ account, session }) =>
        ended(sessionsOf(state, account.id).filter((id) => id !== session.id)),
      )
    case "endAllSessions":
      return Result.succeed([
        ...ended([...state.sessions.keys()]),
        ...revoked(state.invitations.keys()),
      ])
    case "changeName":
      return Result.flatMap(asks(state, command.by, now), ({ account }) => {
        const faults = nameFaults(command.name)
        return faults.length > 0
          ? Result.fail(invalidRequest(faults))
          : Result.succeed([updated(account.id, { name: command.name })])
      })
    case "changeAddress":
      return Result.flatMap(ownerAsks(state, command.by, now), (): Decision => {
        const account = state.accounts.get(command.accountId)
        if (account === undefined) return accountNotFound
        const faults = emailFaults(state, command.email, account.id)
        return faults.length > 0
          ? Result.fail(invalidRequest(faults))
          : Result.succeed([updated(account.id, { email: normalEmail(command.email) })])
      })
    case "changePassword":
      return Result.flatMap(confirmed(state, command.by, now), ({ account }) =>
        command.password === null && account.passkeys.length === 0
          ? refuse("conflict", "The password is the account's only way to sign in.")
          : Result.succeed([
              updated(account.id, { password: command.password }),
              ...ended(sessionsOf(state, account.id)),
              ...linksEnded(state, account.id),
              begin(account.id, command.session, now),
            ]),
      )
    case "addPasskey":
      return Result.flatMap(confirmed(state, command.by, now), ({ account }) =>
        Result.map(passkeyAllowed(state, account, command.passkey), () => [
          {
            kind: "passkey.added",
            accountId: account.id,
            passkey: { ...command.passkey, createdAt: now, usedAt: null },
          } as const,
        ]),
      )
    case "removePasskey":
      return Result.flatMap(confirmed(state, command.by, now), ({ account }): Decision => {
        const { passkeyId } = command
        if (account.passkeys.every(({ id }) => id !== passkeyId)) {
          return refuse("passkey_not_found", "The account has no such passkey.")
        }
        if (account.password === null && account.passkeys.length === 1) {
          return refuse("conflict", "The passkey is the account's only way to sign in.")
        }
        return Result.succeed([
          { kind: "passkey.removed", accountId: account.id, passkeyId } as const,
        ])
      })
    case "changeAccess":
      return Result.flatMap(ownerAsks(state, command.by, now), (): Decision => {
        const account = state.accounts.get(command.accountId)
        if (account === undefined) return accountNotFound
        const { seen } = command
        const isOther = (one: Access) => JSON.stringify(one) !== JSON.stringify(account.access)
        if (seen !== undefined && isOther(seen)) return accessChanged
        const faults = accessFaults(projectIds, command.access)
        if (faults.length > 0) return Result.fail(invalidRequest(faults))
        if (!command.access.owner && isLastOwner(state, account)) return lastOwner
        return Result.succeed([
          updated(account.id, { access: normalAccess(command.access) }),
          ...ended(sessionsOf(state, account.id)),
          ...(losesAccess(account.access, command.access) ? linksEnded(state, account.id) : []),
        ])
      })
    case "removeAccount":
      return Result.flatMap(ownerAsks(state, command.by, now), (): Decision => {
        const account = state.accounts.get(command.accountId)
        if (account === undefined) return accountNotFound
        if (isLastOwner(state, account)) return lastOwner
        return Result.succeed([
          { kind: "account.removed", accountId: account.id } as const,
          ...ended(sessionsOf(state, account.id)),
          ...linksEnded(state, account.id),
        ])
      })
  }
}

const endSession = (
  state: AccountsState,
  { by, sessionId }: Extract<AccountCommand, { readonly kind: "endSession" }>,
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

const isLastOwner = (state: AccountsState, { access, id }: Account): boolean =>
  access.owner && ownersOf(state).every((owner) => owner.id === id)

const passkeyUsed = (
  account: Account,
  used: { readonly id: string; readonly counter: number } | undefined,
): Decision => {
  if (used === undefined) return Result.succeed([])
  const passkey = account.passkeys.find(({ id }) => id === used.id)
  if (passkey === undefined) return refuse("unauthorized", "The passkey was removed.")
  // WebAuthn Level 3, §7.2 step 22: a counter that does not grow is the sign of a cloned authenticator.
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

const started = (state: AccountsState, accountId: string, made: NewSession, now: number) => [
  ...ended(surplusSessions(state, accountId)),
  begin(accountId, made, now),
]
