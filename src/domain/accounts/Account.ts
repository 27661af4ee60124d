/**
 * Accounts of people who use the dashboard, their sessions, and the links that invite them. They
 * are part of the directory, whose single actor decides one command at a time: two requests cannot
 * both remove the last owner or both use one link.
 *
 * The state holds no secrets, only hashes: the argon2id hash of a password, the SHA-256 of a
 * session's cookie and of a link's token. The cookie and the token are 256 random bits, so a fast
 * hash is enough. Times are epoch milliseconds.
 */
import { limits } from "../../Limits.ts"

/**
 * An admin may do everything in a project and manages its keys. A viewer reads, and sees no
 * secrets.
 */
export const projectRoles = ["admin", "viewer"] as const
export type ProjectRole = (typeof projectRoles)[number]
/** The weakest role first. */
export const roles = ["viewer", "admin", "owner"] as const
export type Role = (typeof roles)[number]

/**
 * An owner may do everything in every project and manages accounts; `projects` is ignored for an
 * owner.
 */
export interface Access {
  readonly owner: boolean
  readonly projects: ReadonlyArray<{ readonly projectId: string; readonly role: ProjectRole }>
}

/** A WebAuthn credential. `id` and `publicKey` (COSE) are base64url. */
export interface Passkey {
  readonly id: string
  readonly publicKey: string
  /**
   * The authenticator's signature counter at its last use; 0 if the authenticator does not count.
   */
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
  /** A PHC string (`$argon2id$…`); `null` if the account signs in only with passkeys. */
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
  /** The browser's `User-Agent` and its IP address, which distinguish the sessions in a list. */
  readonly agent: string
  readonly address: string
  readonly createdAt: number
  /** The time of the last use, at most `sessionRenewMs` late. */
  readonly usedAt: number
  /** When the account last confirmed this session with its password or a passkey. */
  readonly confirmedAt: number
}

/** The purpose of a link: create the first owner, join, or replace a lost password. */
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
  /**
   * The invited address, the only one that may join with the link. `null` for a setup and a reset.
   */
  readonly email: string | null
  /** The access of the account that joins. */
  readonly access: Access
  /** The account that created the link; `null` for the command line. */
  readonly createdBy: string | null
  readonly createdAt: number
  readonly expiresAt: number
}

/** Each map is keyed by id. */
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

/** Whether the session is still valid at `now`. */
export const isSessionInForce = ({ createdAt, usedAt }: Session, now: number): boolean =>
  now - usedAt < limits.sessionIdleMs && now - createdAt < limits.sessionMs

/** Whether the session was confirmed recently enough for actions that cannot be undone. */
export const isConfirmed = ({ confirmedAt }: Session, now: number): boolean =>
  now - confirmedAt < limits.sessionConfirmedMs

/**
 * The role of an account in a project; with `null`, outside of projects. `undefined`: no access.
 */
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

/** Whether `role` may do everything that `needed` may do. */
export const includesRole = (role: Role | undefined, needed: Role): boolean =>
  role !== undefined && roles.indexOf(role) >= roles.indexOf(needed)

/** An e-mail address as it is stored and compared: trimmed, in lower case. */
export const normalEmail = (text: string): string => text.trim().toLowerCase()

export const accountWithEmail = (
  { accounts }: Pick<AccountsState, "accounts">,
  email: string,
): Account | undefined => {
  const normal = normalEmail(email)
  for (const account of accounts.values()) if (account.email === normal) return account
  return undefined
}

/**
 * The passkey with this credential id, and its account. Credential ids are unique among accounts.
 */
export const passkeyWithId = (
  { accounts }: Pick<AccountsState, "accounts">,
  id: string,
): { readonly account: Account; readonly passkey: Passkey } | undefined => {
  for (const account of accounts.values()) {
    for (const passkey of account.passkeys) if (passkey.id === id) return { account, passkey }
  }
  return undefined
}

/** The invitation whose token has this hash, unless it has expired at `now`. */
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

/** A session that is about to start. Its times are those of the record. */
export type NewSession = Pick<Session, "address" | "agent" | "hash" | "id">
export type NewPasskey = Omit<Passkey, "createdAt" | "usedAt">
/** How a new or reset account signs in. */
export type Credential =
  | { readonly password: string; readonly passkey?: never }
  | { readonly password?: never; readonly passkey: NewPasskey }

/** The caller: a session, or the command line on the server itself, which may do everything. */
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
  /** `accountId`, `email` and `name` are those of the new account; a reset ignores them. */
  | {
      readonly kind: "acceptInvitation"
      readonly hash: string
      readonly accountId: string
      readonly email: string
      readonly name: string
      readonly credential: Credential
      readonly session: NewSession
    }
  /**
   * The caller has verified the password or the passkey. `rehashed`: the hash of the password at
   * the present cost.
   */
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
  /** Ends all sessions of the caller's account except the caller's own. */
  | { readonly kind: "endOtherSessions"; readonly by: { readonly sessionId: string } }
  /** Ends every session and revokes every link, since a restore brings ended ones back. */
  | { readonly kind: "endAllSessions"; readonly by: "operator" }
  | {
      readonly kind: "changeName"
      readonly by: { readonly sessionId: string }
      readonly name: string
    }
  /** Only an owner may change an address, since it names the account in the audit log. */
  | {
      readonly kind: "changeAddress"
      readonly by: Asker
      readonly accountId: string
      readonly email: string
    }
  /**
   * Replaces the password; `null` removes it. Ends every session and link of the account, then
   * starts `session`.
   */
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
  /** Ends every session of the account; if the account loses a role, also its links. */
  | {
      readonly kind: "changeAccess"
      readonly by: Asker
      readonly accountId: string
      readonly access: Access
      /** The access that the caller saw. The command is refused if the access has changed since. */
      readonly seen?: Access | undefined
    }
  | { readonly kind: "removeAccount"; readonly by: Asker; readonly accountId: string }

/* The facts of accounts, as the journal stores them, and their fold into the state. */

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
  /** An account used the link, or an owner revoked it. */
  | {
      readonly kind: "invitation.accepted" | "invitation.revoked"
      readonly invitationId: string
    }

/** Whether a fact of the directory is about accounts. */
export const isAccountFact = <A extends { readonly kind: string }>(
  fact: A,
): fact is A & AccountFact => /^(account|passkey|session|invitation)\./.test(fact.kind)

/** The state after the facts of a record decided at `at`. `state` itself does not change. */
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
        // A new session also drops the expired ones, so their expiry needs no record.
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

/** Access in its normal form: `projects` is empty for an owner, and names each project once. */
export const normalAccess = ({ owner, projects }: Access): Access => ({
  owner,
  projects: owner
    ? []
    : [...new Map(projects.map(({ projectId, role }) => [projectId, role]))].map(
        ([projectId, role]) => ({ projectId, role }),
      ),
})

/** The least recently used sessions, which must end so that the account may start another one. */
export const surplusSessions = (state: AccountsState, accountId: string): ReadonlyArray<string> =>
  [...state.sessions.values()]
    .filter((session) => session.accountId === accountId)
    .sort((one, other) => other.usedAt - one.usedAt)
    .slice(limits.sessionsPerAccountMax - 1)
    .map(({ id }) => id)
