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
export const invitationPurposes = ["setup", "join", "reset"] as const
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
