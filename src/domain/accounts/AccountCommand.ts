/** Commands to the directory about accounts. */
import type { Access, Invitation, Passkey, Session } from "./Account.ts"

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
