/** People who use the dashboard: how they get an account, sign in, and manage each other. */
import { Context, Effect } from "effect"
import type { Access, Account, Asker, Invitation, Session } from "../../domain/accounts/Account.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { Ceremony } from "../passkeys/Passkeys.ts"

/** The browser that sends a request. `device` is the text of its device cookie. */
export interface Visitor {
  readonly agent: string
  readonly address: string
  readonly device: string | undefined
}

/** `session` and `device` are the texts of cookies. The server does not store them. */
export interface SignedIn {
  readonly session: string
  readonly device: string
  readonly account: Account
}

/** An account, and the session in which it acts. */
export interface Member {
  readonly account: Account
  readonly session: Session
}

/** A browser's answer about a passkey, as text, and its ceremony. */
export interface PasskeyAnswer {
  readonly answer: string
  readonly ceremony: Ceremony
}

/** A passkey that a browser has created. Lists show its name. */
export interface CreatedPasskey extends PasskeyAnswer {
  readonly name: string
}

/** A typed password, or a new passkey. */
export type Proof =
  | { readonly password: string; readonly passkey?: never }
  | { readonly password?: never; readonly passkey: CreatedPasskey }

/** Passkeys of people. Options are the JSON form of the options of `navigator.credentials`. */
export interface PeoplePasskeys {
  /**
   * Options to create a passkey instead of a password. Refuses a link or typed fields that `accept`
   * would refuse.
   */
  readonly optionsToAccept: (
    wish: Pick<Acceptance, "email" | "name" | "token">,
    ceremony: Ceremony,
  ) => Effect.Effect<object, LaurelError>
  /**
   * Options to create one more passkey; `confirmation_required` unless the session was confirmed
   * lately, as for `add`.
   */
  readonly optionsToAdd: (member: Member, ceremony: Ceremony) => Effect.Effect<object, LaurelError>
  readonly optionsToSignIn: (ceremony: Ceremony) => object
  readonly optionsToConfirm: (member: Member, ceremony: Ceremony) => object
  readonly add: (member: Member, created: CreatedPasskey) => Effect.Effect<void, LaurelError>
  /** `conflict` if the account could then no longer sign in. */
  readonly remove: (member: Member, passkeyId: string) => Effect.Effect<void, LaurelError>
  /** Pauses after wrong passwords do not apply to passkeys. */
  readonly signIn: (given: PasskeyAnswer, visitor: Visitor) => Effect.Effect<SignedIn, LaurelError>
  readonly confirm: (member: Member, given: PasskeyAnswer) => Effect.Effect<void, LaurelError>
}

export interface Acceptance {
  readonly token: string
  readonly email: string
  readonly name: string
  readonly proof: Proof
  readonly visitor: Visitor
}

/**
 * A pause after wrong passwords. `account` is the account with the typed address, if there is one.
 */
export interface Guessing {
  readonly account: Account | undefined
  readonly address: string
  readonly pauseMs: number
}

/** Runs whenever a pause begins. */
export const GuessingWatch = Context.Reference<(guessing: Guessing) => Effect.Effect<void>>(
  "accounts/people/GuessingWatch",
  { defaultValue: () => () => Effect.void },
)

export class People extends Context.Service<
  People,
  {
    /**
     * The token of a new link that creates the first owner, and replaces the earlier link;
     * `undefined` once there is an owner.
     */
    readonly setUp: Effect.Effect<string | undefined, LaurelError>
    /**
     * The invitation of a link's token; `invitation_not_found` if it was used or revoked, or has
     * expired.
     */
    readonly invitation: (token: string) => Effect.Effect<Invitation, LaurelError>
    /**
     * Creates the account of a link, or sets a new password or passkey for an existing account, and
     * signs in.
     */
    readonly accept: (acceptance: Acceptance) => Effect.Effect<SignedIn, LaurelError>
    /**
     * `unauthorized` for a wrong address and for a wrong password; `rate_limited` after too many.
     */
    readonly signIn: (
      email: string,
      password: string,
      visitor: Visitor,
    ) => Effect.Effect<SignedIn, LaurelError>
    /** The account and the session of this cookie; `undefined` if no session in force has it. */
    readonly find: (session: string) => Effect.Effect<Member | undefined>
    /** Confirms the session by the password, as actions that cannot be undone require. */
    readonly confirm: (
      member: Member,
      password: string,
      visitor: Visitor,
    ) => Effect.Effect<void, LaurelError>
    readonly passkeys: PeoplePasskeys
    readonly signOut: (member: Member, sessionId?: string) => Effect.Effect<void, LaurelError>
    readonly signOutOthers: (member: Member) => Effect.Effect<void, LaurelError>
    readonly rename: (member: Member, name: string) => Effect.Effect<void, LaurelError>
    /**
     * Ends all sessions of the account and all open links that it made or that are for it, and
     * begins a new session.
     */
    readonly changePassword: (
      member: Member,
      password: string,
      visitor: Visitor,
    ) => Effect.Effect<SignedIn, LaurelError>
    readonly accounts: Effect.Effect<ReadonlyArray<Account>>
    readonly sessionsOf: (accountId: string) => Effect.Effect<ReadonlyArray<Session>>
    /** Open invitations, oldest first. */
    readonly invitations: Effect.Effect<ReadonlyArray<Invitation>>
    /** Creates a link by which the person with this address joins; returns its token. */
    readonly invite: (
      by: Asker,
      wish: { readonly email: string; readonly access: Access },
    ) => Effect.Effect<string, LaurelError>
    /** Creates a link by which an account chooses a new password; returns its token. */
    readonly reset: (by: Asker, accountId: string) => Effect.Effect<string, LaurelError>
    readonly changeAddress: (
      by: Asker,
      accountId: string,
      email: string,
    ) => Effect.Effect<void, LaurelError>
    readonly revokeInvitation: (by: Asker, invitationId: string) => Effect.Effect<void, LaurelError>
    readonly changeAccess: (
      by: Asker,
      accountId: string,
      access: Access,
      /** The access that the asker saw; `conflict` if the account's access has changed since. */
      seen?: Access,
    ) => Effect.Effect<void, LaurelError>
    readonly remove: (by: Asker, accountId: string) => Effect.Effect<void, LaurelError>
  }
>()("accounts/people/People") {}
