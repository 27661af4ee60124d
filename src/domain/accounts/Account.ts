/**
 * Accounts of people who use the dashboard, their sessions, and the links that invite them. They are part of the
 * directory: one actor decides them, so that two requests cannot both take the last owner away or use one link.
 *
 * Secrets are never kept: of a password its argon2id hash, of a session's cookie and of a link's token the SHA-256
 * (both are 256 random bits, so a fast hash is enough). Times are epoch milliseconds.
 */
import { limits } from "../../Limits.ts"

/** An admin may do everything in a project, its keys included; a viewer reads, and sees no secrets. */
export const projectRoles = ["admin", "viewer"] as const
export type ProjectRole = (typeof projectRoles)[number]
/** The weakest role first. */
export const roles = ["viewer", "admin", "owner"] as const
export type Role = (typeof roles)[number]

/** An owner may do everything in every project, and manages accounts; `projects` then says nothing. */
export interface Access {
  readonly owner: boolean
  readonly projects: ReadonlyArray<{ readonly projectId: string; readonly role: ProjectRole }>
}

/** A WebAuthn credential. `id` and `publicKey` (COSE) are base64url. */
export interface Passkey {
  readonly id: string
  readonly publicKey: string
  /** The authenticator's signature counter when it was last used; 0 where it does not count. */
  readonly counter: number
  readonly transports: ReadonlyArray<string>
  readonly name: string
  readonly createdAt: number
  readonly usedAt: number | null
}

export interface Account {
  readonly id: string
  /** In lower case; no two accounts have the same. */
  readonly email: string
  readonly name: string
  /** A PHC string (`$argon2id$…`), or `null` where the account signs in with passkeys alone. */
  readonly password: string | null
  readonly passkeys: ReadonlyArray<Passkey>
  readonly access: Access
  readonly createdAt: number
}

export interface Session {
  readonly id: string
  readonly accountId: string
  /** SHA-256 of the cookie's value, in hex. */
  readonly hash: string
  /** The browser's `User-Agent` and the address that it came from, to tell sessions apart in lists. */
  readonly agent: string
  readonly address: string
  readonly createdAt: number
  /** When it was last used, at most `sessionRenewMs` late. */
  readonly usedAt: number
  /** When the account last proved itself in this session, by password or passkey. */
  readonly confirmedAt: number
}

/** A link's purpose: to make the first owner, to join, or to replace a lost password. */
const invitationPurposes = ["setup", "join", "reset"] as const
export type InvitationPurpose = (typeof invitationPurposes)[number]

/** A link that works once. */
export interface Invitation {
  readonly id: string
  readonly purpose: InvitationPurpose
  /** SHA-256 of the link's token, in hex. */
  readonly hash: string
  /** The account that a reset is for. */
  readonly accountId: string | null
  /** The address that is invited: nobody joins with another. `null` for a setup and a reset. */
  readonly email: string | null
  /** The access of an account that joins. */
  readonly access: Access
  /** The account that made it; `null` for the command line. */
  readonly createdBy: string | null
  readonly createdAt: number
  readonly expiresAt: number
}

/** All three by id. */
export interface AccountsState {
  readonly accounts: ReadonlyMap<string, Account>
  readonly sessions: ReadonlyMap<string, Session>
  readonly invitations: ReadonlyMap<string, Invitation>
}

export const noAccounts: AccountsState = {
  accounts: new Map(),
  sessions: new Map(),
  invitations: new Map(),
}

/** How long a link works, in milliseconds. */
export const invitationLifetimeMs: Readonly<Record<InvitationPurpose, number>> = {
  setup: limits.setupLinkMs,
  join: limits.joinLinkMs,
  reset: limits.resetLinkMs,
}

/** Whether a session still opens anything at `now`. */
export const isSessionInForce = ({ createdAt, usedAt }: Session, now: number): boolean =>
  now - usedAt < limits.sessionIdleMs && now - createdAt < limits.sessionMs

/** Whether the account proved itself in this session so lately that it may do what cannot be undone. */
export const isConfirmed = ({ confirmedAt }: Session, now: number): boolean =>
  now - confirmedAt < limits.sessionConfirmedMs

/** The role of an account in a project, or in none in particular; `undefined` where it has no access. */
export const roleIn = ({ access }: Account, projectId: string | null): Role | undefined => {
  if (access.owner) return "owner"
  return access.projects.find((one) => one.projectId === projectId)?.role
}

/** Whether `after` lacks a role that `before` has. */
export const losesAccess = (before: Access, after: Access): boolean => {
  if (after.owner) return false
  if (before.owner) return true
  return before.projects.some(({ projectId, role }) => {
    const kept = after.projects.find((one) => one.projectId === projectId)
    return !includesRole(kept?.role, role)
  })
}

/** Whether `role` includes everything that `needed` may do. */
export const includesRole = (role: Role | undefined, needed: Role): boolean =>
  role !== undefined && roles.indexOf(role) >= roles.indexOf(needed)

/** An e-mail address as it is kept and compared: without white space around it, in lower case. */
export const normalEmail = (text: string): string => text.trim().toLowerCase()

export const accountWithEmail = (
  { accounts }: Pick<AccountsState, "accounts">,
  email: string,
): Account | undefined => {
  const normal = normalEmail(email)
  for (const account of accounts.values()) if (account.email === normal) return account
  return undefined
}

/** The passkey with this credential id, and its account. No two accounts have the same. */
export const passkeyWithId = (
  { accounts }: Pick<AccountsState, "accounts">,
  id: string,
): { readonly account: Account; readonly passkey: Passkey } | undefined => {
  for (const account of accounts.values()) {
    for (const passkey of account.passkeys) if (passkey.id === id) return { account, passkey }
  }
  return undefined
}

/** The invitation whose token has this hash and which still works at `now`. */
export const invitationWithHash = (
  { invitations }: Pick<AccountsState, "invitations">,
  hash: string,
  now: number,
): Invitation | undefined => {
  for (const invitation of invitations.values()) {
    if (invitation.hash === hash && invitation.expiresAt > now) return invitation
  }
  return undefined
}

export const ownersOf = ({ accounts }: Pick<AccountsState, "accounts">): ReadonlyArray<Account> =>
  [...accounts.values()].filter(({ access }) => access.owner)

/* Commands to the directory about accounts. */

/** A session that is to begin; its times are those of the record. */
export type NewSession = Pick<Session, "address" | "agent" | "hash" | "id">
export type NewPasskey = Omit<Passkey, "createdAt" | "usedAt">
/** How an account signs in from now on. */
export type Credential =
  | { readonly password: string; readonly passkey?: never }
  | { readonly password?: never; readonly passkey: NewPasskey }

/** The caller: the session of this id, or the command line on the machine itself, which may do everything. */
export type Asker = { readonly sessionId: string } | "operator"

export type AccountCommand =
  | {
      readonly kind: "invite"
      readonly by: Asker
      readonly invitation: Pick<
        Invitation,
        "access" | "accountId" | "email" | "hash" | "id" | "purpose"
      >
    }
  | { readonly kind: "revokeInvitation"; readonly by: Asker; readonly invitationId: string }
  /** `email` and `name` make the new account; a reset ignores them. */
  | {
      readonly kind: "acceptInvitation"
      readonly hash: string
      readonly accountId: string
      readonly email: string
      readonly name: string
      readonly credential: Credential
      readonly session: NewSession
    }
  /** The caller has checked a password or a passkey of the account; `rehashed` is the password's hash at today's cost. */
  | {
      readonly kind: "signIn"
      readonly accountId: string
      readonly session: NewSession
      readonly passkey?: { readonly id: string; readonly counter: number }
      readonly rehashed?: string
    }
  | {
      readonly kind: "confirmSession"
      readonly sessionId: string
      readonly passkey?: { readonly id: string; readonly counter: number }
    }
  | { readonly kind: "renewSession"; readonly sessionId: string }
  | { readonly kind: "endSession"; readonly by: Asker; readonly sessionId: string }
  /** Ends all sessions of the asking account but its own. */
  | { readonly kind: "endOtherSessions"; readonly by: { readonly sessionId: string } }
  /** Ends every session and revokes every link: a restore has brought back some that had ended. */
  | { readonly kind: "endAllSessions"; readonly by: "operator" }
  | {
      readonly kind: "changeName"
      readonly by: { readonly sessionId: string }
      readonly name: string
    }
  /** An owner's: the address names the account in the audit log, so nobody else chooses it. */
  | {
      readonly kind: "changeAddress"
      readonly by: Asker
      readonly accountId: string
      readonly email: string
    }
  /** Replaces the password, or with `null` removes it; every session and link of the account ends, and `session` begins. */
  | {
      readonly kind: "changePassword"
      readonly by: { readonly sessionId: string }
      readonly password: string | null
      readonly session: NewSession
    }
  | {
      readonly kind: "addPasskey"
      readonly by: { readonly sessionId: string }
      readonly passkey: NewPasskey
    }
  | {
      readonly kind: "removePasskey"
      readonly by: { readonly sessionId: string }
      readonly passkeyId: string
    }
  /** Every session of the account ends; where it loses a role, its links do, too. */
  | {
      readonly kind: "changeAccess"
      readonly by: Asker
      readonly accountId: string
      readonly access: Access
      /** The access that the new one was made from; refused where it has changed meanwhile. */
      readonly seen?: Access | undefined
    }
  | { readonly kind: "removeAccount"; readonly by: Asker; readonly accountId: string }

/* The facts of accounts, as the journal holds them, and the state that they fold to. */

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
