/** The facts of accounts, as the journal holds them, and the state that they fold to. */
import { limits } from "../../Limits.ts"
import {
  type Access,
  type Account,
  type AccountsState,
  type Invitation,
  isSessionInForce,
  type Passkey,
  type Session,
} from "./Account.ts"

export type AccountFact =
  | { readonly kind: "account.created"; readonly account: Account }
  | {
      readonly kind: "account.updated"
      readonly accountId: string
      readonly change: Partial<Pick<Account, "access" | "email" | "name" | "password">>
    }
  | { readonly kind: "account.removed"; readonly accountId: string }
  | { readonly kind: "passkey.added"; readonly accountId: string; readonly passkey: Passkey }
  | {
      readonly kind: "passkey.used"
      readonly accountId: string
      readonly passkeyId: string
      readonly counter: number
    }
  | { readonly kind: "passkey.removed"; readonly accountId: string; readonly passkeyId: string }
  | { readonly kind: "session.started"; readonly session: Session }
  | { readonly kind: "session.renewed" | "session.confirmed"; readonly sessionId: string }
  | { readonly kind: "session.ended"; readonly sessionIds: ReadonlyArray<string> }
  | { readonly kind: "invitation.created"; readonly invitation: Invitation }
  /** `accepted` by the account that used it, or revoked. */
  | {
      readonly kind: "invitation.accepted" | "invitation.revoked"
      readonly invitationId: string
    }

/** Whether a fact of the directory is one of accounts. */
export const isAccountFact = <A extends { readonly kind: string }>(
  fact: A,
): fact is A & AccountFact => /^(account|passkey|session|invitation)\./.test(fact.kind)

/** The state after `facts` of a record that was decided at `at`. The state before stays as it is. */
export const applyAccountFacts = (
  state: AccountsState,
  facts: ReadonlyArray<AccountFact>,
  at: number,
): AccountsState => {
  if (facts.length === 0) {
    const { accounts, invitations, sessions } = state
    return { accounts, sessions, invitations }
  }
  const accounts = new Map(state.accounts)
  const sessions = new Map(state.sessions)
  const invitations = new Map(state.invitations)
  const change = (id: string, made: (account: Account) => Partial<Account>) => {
    const account = accounts.get(id)
    if (account !== undefined) accounts.set(id, { ...account, ...made(account) })
  }
  for (const fact of facts) {
    switch (fact.kind) {
      case "account.created":
        accounts.set(fact.account.id, fact.account)
        break
      case "account.updated":
        change(fact.accountId, () => fact.change)
        break
      case "account.removed":
        accounts.delete(fact.accountId)
        break
      case "passkey.added":
        change(fact.accountId, ({ passkeys }) => ({ passkeys: [...passkeys, fact.passkey] }))
        break
      case "passkey.used":
        change(fact.accountId, ({ passkeys }) => ({
          passkeys: passkeys.map((passkey) =>
            passkey.id === fact.passkeyId
              ? { ...passkey, counter: fact.counter, usedAt: at }
              : passkey,
          ),
        }))
        break
      case "passkey.removed":
        change(fact.accountId, ({ passkeys }) => ({
          passkeys: passkeys.filter(({ id }) => id !== fact.passkeyId),
        }))
        break
      case "session.started":
        // Expired sessions are dropped here, so that they need no record of their own.
        for (const session of sessions.values()) {
          if (!isSessionInForce(session, at)) sessions.delete(session.id)
        }
        sessions.set(fact.session.id, fact.session)
        break
      case "session.renewed":
      case "session.confirmed": {
        const session = sessions.get(fact.sessionId)
        if (session === undefined) break
        const confirmed = fact.kind === "session.confirmed" && { confirmedAt: at }
        sessions.set(session.id, { ...session, usedAt: at, ...confirmed })
        break
      }
      case "session.ended":
        for (const id of fact.sessionIds) sessions.delete(id)
        break
      case "invitation.created":
        for (const { expiresAt, id } of invitations.values()) {
          if (expiresAt <= at) invitations.delete(id)
        }
        invitations.set(fact.invitation.id, fact.invitation)
        break
      case "invitation.accepted":
      case "invitation.revoked":
        invitations.delete(fact.invitationId)
        break
    }
  }
  return { accounts, sessions, invitations }
}

/** Access in one form: an owner's `projects` are empty, and each project is named once. */
export const normalAccess = ({ owner, projects }: Access): Access => ({
  owner,
  projects: owner
    ? []
    : [...new Map(projects.map(({ projectId, role }) => [projectId, role]))].map(
        ([projectId, role]) => ({ projectId, role }),
      ),
})

/** The sessions of an account beyond the most that one may have once another starts; the longest unused first. */
export const surplusSessions = (state: AccountsState, accountId: string): ReadonlyArray<string> =>
  [...state.sessions.values()]
    .filter((session) => session.accountId === accountId)
    .sort((one, other) => other.usedAt - one.usedAt)
    .slice(limits.sessionsPerAccountMax - 1)
    .map(({ id }) => id)
