/**
 * Decides what becomes of a command about accounts. Invariants, for every interleaving of requests: once there is an
 * owner there always is one; no two accounts have the same e-mail address; a link works once, and not after the account
 * that made it or that it is for lost access; an account can always sign in somehow. The caller is a session, looked up here: one ended or demoted a moment before decides nothing.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { invalidRequest, refuse } from "../values/Errors.ts"
import {
  type Access,
  type Account,
  type AccountsState,
  losesAccess,
  normalEmail,
  ownersOf,
} from "./Account.ts"
import type { AccountCommand, NewSession } from "./AccountCommand.ts"
import { normalAccess, surplusSessions } from "./AccountFact.ts"
import { accessFaults, emailFaults, nameFaults } from "./accountFaults.ts"
import { accept, invite } from "./decideInvitations.ts"
import {
  accessChanged,
  accountNotFound,
  asks,
  begin,
  confirmed,
  type Decision,
  ended,
  lastOwner,
  linksEnded,
  ownerAsks,
  passkeyAllowed,
  revoked,
  sessionsOf,
  updated,
} from "./decisions.ts"

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
