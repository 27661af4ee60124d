/** Decides the making and the use of links: the setup of the first owner, invitations, resets. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { invalidRequest, refuse } from "../values/Errors.ts"
import {
  type Account,
  type AccountsState,
  type Invitation,
  invitationLifetimeMs,
  invitationWithHash,
  normalEmail,
  ownersOf,
} from "./Account.ts"
import type { AccountCommand } from "./AccountCommand.ts"
import { type AccountFact, normalAccess } from "./AccountFact.ts"
import { accessFaults, emailFaults, newAccountFaults, passkeyFaults } from "./accountFaults.ts"
import {
  accountNotFound,
  begin,
  type Decision,
  ended,
  linksEnded,
  passkeyAllowed,
  quotaExceeded,
  sessionsOf,
  updated,
} from "./decisions.ts"

export const invite = (
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

export const accept = (
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
