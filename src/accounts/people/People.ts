/** People who use the dashboard: how they come to an account, sign in, and manage each other. */
import { Context, Effect } from "effect"
import type { Access, Account, Asker, Invitation, Session } from "../../domain/accounts/Account.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { Ceremony } from "../passkeys/Passkeys.ts"

/** The browser that a request comes from. `device` is the text of its device cookie. */
export interface Visitor {
  readonly agent: string
  readonly address: string
  readonly device: string | undefined
}

/** `session` and `device` are the texts of cookies, which are kept nowhere else. */
export interface SignedIn {
  readonly session: string
  readonly device: string
  readonly account: Account
}

/** An account in one of its sessions. */
export interface Member {
  readonly account: Account
  readonly session: Session
}

/** A browser's answer about a passkey, as text, and the ceremony that it is for. */
export interface PasskeyAnswer {
  readonly answer: string
  readonly ceremony: Ceremony
}

/** A passkey that a browser has created, under the name that tells it apart in lists. */
export interface CreatedPasskey extends PasskeyAnswer {
  readonly name: string
}

/** A password as it was typed, or a new passkey. */
export type Proof =
  | { readonly password: string; readonly passkey?: never }
  | { readonly password?: never; readonly passkey: CreatedPasskey }

/** Passkeys of people. Options are the JSON of what `navigator.credentials` takes. */
export interface PeoplePasskeys {
  /** Options to create a passkey instead of a password; refused where the link or what was typed would be. */
  readonly optionsToAccept: (
    wish: Pick<Acceptance, "email" | "name" | "token">,
    ceremony: Ceremony,
  ) => Effect.Effect<object, LaurelError>
  /** Options to create one more passkey; `confirmation_required` where adding it would be refused. */
  readonly optionsToAdd: (member: Member, ceremony: Ceremony) => Effect.Effect<object, LaurelError>
  readonly optionsToSignIn: (ceremony: Ceremony) => object
  readonly optionsToConfirm: (member: Member, ceremony: Ceremony) => object
  readonly add: (member: Member, created: CreatedPasskey) => Effect.Effect<void, LaurelError>
  /** `conflict` where it is the account's only way to sign in. */
  readonly remove: (member: Member, passkeyId: string) => Effect.Effect<void, LaurelError>
  /** Wrong passwords of others pause nobody who signs in so. */
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

/** Wrong passwords that just made somebody pause: for this account, if the address that was typed has one. */
export interface Guessing {
  readonly account: Account | undefined
  readonly address: string
  readonly pauseMs: number
}

/** Runs whenever such a pause begins. */
export const GuessingWatch = Context.Reference<(guessing: Guessing) => Effect.Effect<void>>(
  "accounts/people/GuessingWatch",
  { defaultValue: () => () => Effect.void },
)

export class People extends Context.Service<
  People,
  {
    /** The token of a link that makes the first owner, in place of the one before; `undefined` once there is an owner. */
    readonly setUp: Effect.Effect<string | undefined, LaurelError>
    /** The invitation behind a link's token; `invitation_not_found` where it was used, revoked or has expired. */
    readonly invitation: (token: string) => Effect.Effect<Invitation, LaurelError>
    /** Makes the account that a link is for, or gives an account back its access, and signs in. */
    readonly accept: (acceptance: Acceptance) => Effect.Effect<SignedIn, LaurelError>
    /** `unauthorized` for a wrong address or password alike; `rate_limited` after too many. */
    readonly signIn: (
      email: string,
      password: string,
      visitor: Visitor,
    ) => Effect.Effect<SignedIn, LaurelError>
    /** The member of the session that this cookie names; `undefined`: no session in force. */
    readonly find: (session: string) => Effect.Effect<Member | undefined>
    /** The account proves itself again, before an action that cannot be undone. */
    readonly confirm: (
      member: Member,
      password: string,
      visitor: Visitor,
    ) => Effect.Effect<void, LaurelError>
    readonly passkeys: PeoplePasskeys
    readonly signOut: (member: Member, sessionId?: string) => Effect.Effect<void, LaurelError>
    readonly signOutOthers: (member: Member) => Effect.Effect<void, LaurelError>
    readonly rename: (member: Member, name: string) => Effect.Effect<void, LaurelError>
    /** Every session of the account ends, every open link that it made or that is for it, and a new session begins. */
    readonly changePassword: (
      member: Member,
      password: string,
      visitor: Visitor,
    ) => Effect.Effect<SignedIn, LaurelError>
    readonly accounts: Effect.Effect<ReadonlyArray<Account>>
    readonly sessionsOf: (accountId: string) => Effect.Effect<ReadonlyArray<Session>>
    /** Open ones, oldest first. */
    readonly invitations: Effect.Effect<ReadonlyArray<Invitation>>
    /** The token of a link by which the person with this address joins. */
    readonly invite: (
      by: Asker,
      wish: { readonly email: string; readonly access: Access },
    ) => Effect.Effect<string, LaurelError>
    /** The token of a link by which an account chooses a new password. */
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
      /** The access that it was made from: fails with `conflict` where that has changed. */
      seen?: Access,
    ) => Effect.Effect<void, LaurelError>
    readonly remove: (by: Asker, accountId: string) => Effect.Effect<void, LaurelError>
  }
>()("accounts/people/People") {}
