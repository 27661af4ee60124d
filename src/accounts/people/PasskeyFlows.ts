/**
 * What people do with passkeys: create an account with one, add and remove passkeys, sign in, and
 * confirm.
 */
import { Effect } from "effect"
import type { AccountCommand, NewPasskey, NewSession } from "../../domain/accounts/Account.ts"
import { invitationWithHash, normalEmail } from "../../domain/accounts/Account.ts"
import { newAccountFaults } from "../../domain/accounts/accountFaults.ts"
import { confirmed } from "../../domain/accounts/decideAccounts.ts"
import type { DirectoryState } from "../../domain/project/Directory.ts"
import { invalidRequest, type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { makeId } from "../KeyText.ts"
import { type PasskeyOwner, Passkeys } from "../passkeys/Passkeys.ts"
import type { Acceptance, CreatedPasskey, PeoplePasskeys, SignedIn, Visitor } from "./People.ts"
import { hashToken } from "./Tokens.ts"

/** What passkeys share with passwords. */
interface Shared {
  readonly ask: (command: AccountCommand) => Effect.Effect<void, LaurelError>
  readonly directory: Effect.Effect<DirectoryState>
  readonly newSession: (visitor: Visitor) => { text: string; session: NewSession }
  readonly now: () => number
  readonly signedIn: (text: string, accountId: string) => Effect.Effect<SignedIn, LaurelError>
}

export interface PasskeyFlows extends PeoplePasskeys {
  /** Checks a link and the typed fields; returns the account that will have the passkey. */
  readonly ownerToBe: (
    wish: Pick<Acceptance, "email" | "name" | "token">,
  ) => Effect.Effect<PasskeyOwner, LaurelError>
  /**
   * The passkey of an answer, and the id of the account in its options. `expected` is that id if
   * the account exists already.
   */
  readonly created: (
    created: CreatedPasskey,
    expected: string | null,
  ) => Effect.Effect<{ readonly accountId: string; readonly passkey: NewPasskey }, LaurelError>
}

export const linkNotFound = laurelError(
  "invitation_not_found",
  "The link was used, revoked or has expired.",
)

export const makePasskeyFlows = ({
  ask,
  directory,
  newSession,
  now,
  signedIn,
}: Shared): PasskeyFlows => {
  const passkeys = new Passkeys(now)

  const ownerToBe: PasskeyFlows["ownerToBe"] = ({ email, name, token }) =>
    Effect.gen(function* () {
      const state = yield* directory
      const invitation = invitationWithHash(state, hashToken(token), now())
      if (invitation === undefined) return yield* Effect.fail(linkNotFound)
      if (invitation.accountId !== null) {
        return state.accounts.get(invitation.accountId) ?? (yield* Effect.fail(linkNotFound))
      }
      const faults = newAccountFaults(state, { email, name }, invitation)
      if (faults.length > 0) return yield* Effect.fail(invalidRequest(faults))
      return { id: makeId("acc"), email: normalEmail(email), name, passkeys: [] }
    })

  const created: PasskeyFlows["created"] = ({ answer, ceremony, name }, expected) =>
    Effect.flatMap(passkeys.created(answer, ceremony), ({ accountId, passkey }) =>
      expected === null || expected === accountId
        ? Effect.succeed({ accountId, passkey: { ...passkey, name } })
        : Effect.fail(otherAccount),
    )

  return {
    created,
    ownerToBe,
    optionsToAccept: (wish, ceremony) =>
      Effect.map(ownerToBe(wish), (owner) => passkeys.creation(ceremony, owner)),
    optionsToAdd: ({ session }, ceremony) =>
      Effect.gen(function* () {
        const asking = confirmed(yield* directory, { sessionId: session.id }, now())
        const { account } = yield* Effect.fromResult(asking)
        return passkeys.creation(ceremony, account)
      }),
    optionsToSignIn: (ceremony) => passkeys.request(ceremony, undefined),
    optionsToConfirm: ({ account }, ceremony) => passkeys.request(ceremony, account),
    add: ({ account, session }, wish) =>
      Effect.gen(function* () {
        // Checked before the answer: where this refused the options, the answer is empty.
        yield* Effect.fromResult(confirmed(yield* directory, { sessionId: session.id }, now()))
        const { passkey } = yield* created(wish, account.id)
        yield* ask({ kind: "addPasskey", by: { sessionId: session.id }, passkey })
      }),
    remove: ({ session }, passkeyId) =>
      ask({ kind: "removePasskey", by: { sessionId: session.id }, passkeyId }),
    signIn: ({ answer, ceremony }, visitor) =>
      Effect.gen(function* () {
        const { account, passkey } = yield* passkeys.used(
          answer,
          ceremony,
          yield* directory,
          undefined,
        )
        const { session, text } = newSession(visitor)
        yield* ask({ kind: "signIn", accountId: account.id, session, passkey })
        return yield* signedIn(text, account.id)
      }),
    confirm: ({ account, session }, { answer, ceremony }) =>
      Effect.gen(function* () {
        const used = yield* passkeys.used(answer, ceremony, yield* directory, account.id)
        yield* ask({ kind: "confirmSession", sessionId: session.id, passkey: used.passkey })
      }),
  }
}

const otherAccount = laurelError("conflict", "The passkey was created for another account.")
