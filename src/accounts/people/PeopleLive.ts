/**
 * People from the engine's directory. The directory decides; here secrets become hashes on the way in, guessing is
 * slowed down, and sessions are found by their cookie. Nothing of it is kept but by the directory and, for as long as
 * the process runs, the failures that the throttle counts.
 */
import { Effect, Layer } from "effect"
import type { AccountCommand, NewSession } from "../../domain/accounts/Account.ts"
import {
  type Account,
  accountWithEmail,
  invitationWithHash,
  isSessionInForce,
  normalEmail,
  type Session,
} from "../../domain/accounts/Account.ts"
import type { DirectoryState } from "../../domain/project/Directory.ts"
import { invalidRequest, type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import { networkOf } from "../AddressRanges.ts"
import { hashSecretOf, makeId } from "../KeyText.ts"
import { linkNotFound, makePasskeyFlows } from "./PasskeyFlows.ts"
import { type Asking, PasswordStrength, Passwords } from "./Passwords.ts"
import { type Acceptance, GuessingWatch, People, type SignedIn, type Visitor } from "./People.ts"
import { Throttle } from "./Throttle.ts"
import { deviceOf, hashToken, makeDeviceToken, makeToken } from "./Tokens.ts"

const nobodyAccess = { owner: false, projects: [] }

export const make = Effect.gen(function* () {
  const engine = yield* Engine
  const { now } = engine
  const watchGuessing = yield* GuessingWatch
  const directory = engine.readDirectory
  const passwords = new Passwords()
  const strength = new PasswordStrength()
  const byAccount = new Throttle(limits.signInFailuresFreePerAccount)
  const byAddress = new Throttle(limits.signInFailuresFreePerAddress)

  const ask = (command: AccountCommand) => Effect.asVoid(engine.askDirectory(command))

  /** By the hash of their cookie; of `indexed`, an older map of sessions. */
  let sessions = new Map<string, Session>()
  let indexed: DirectoryState["sessions"] | undefined
  const sessionWith = (state: DirectoryState, cookie: string): Session | undefined => {
    if (state.sessions !== indexed) {
      indexed = state.sessions
      sessions = new Map([...indexed.values()].map((session) => [session.hash, session]))
    }
    return sessions.get(hashToken(cookie))
  }

  const newSession = ({ address, agent }: Visitor): { text: string; session: NewSession } => {
    const text = makeToken()
    const shown = agent.slice(0, limits.sessionAgentCharactersMax)
    return { text, session: { id: makeId("ses"), hash: hashToken(text), agent: shown, address } }
  }

  const signedIn = (text: string, accountId: string) =>
    Effect.gen(function* () {
      const secret = yield* hashSecretOf(engine)
      const account = (yield* directory).accounts.get(accountId)
      if (account === undefined) return yield* Effect.fail(wrongSignIn)
      return { session: text, device: makeDeviceToken(secret, accountId), account }
    })

  /** Runs a check of a password unless too many failed; a device that signed in before has a count of its own. */
  const throttled = <A>(
    email: string,
    account: Account | undefined,
    visitor: Visitor,
    check: (asking: Asking) => Effect.Effect<A | undefined, LaurelError>,
  ): Effect.Effect<A, LaurelError> =>
    Effect.gen(function* () {
      const secret = yield* hashSecretOf(engine)
      const device =
        account && visitor.device && deviceOf(secret, account.id, visitor.device)
          ? `device ${hashToken(visitor.device)}`
          : undefined
      const name = device ?? normalEmail(email).slice(0, limits.emailCharactersMax)
      const network = networkOf(visitor.address)
      const at = now()
      const pauseNow = () =>
        Math.max(
          byAccount.pauseMs(name, at),
          device === undefined ? byAddress.pauseMs(network, at) : 0,
        )
      const pauseMs = pauseNow()
      if (pauseMs > 0) {
        const retryAfterSeconds = Math.ceil(pauseMs / 1000)
        const detail = `Too many wrong passwords. Try again in ${retryAfterSeconds} s.`
        return yield* Effect.fail(laurelError("rate_limited", detail, { retryAfterSeconds }))
      }
      // Counted before the check, so that many at once are no way around the count.
      const takeBack = [byAccount.failed(name, at)]
      if (device === undefined) takeBack.push(byAddress.failed(network, at))
      const begunMs = pauseNow()
      const noFailure = Effect.sync(() => {
        for (const undo of takeBack) undo()
      })
      const asking = device === undefined ? "stranger" : "known"
      const checked = yield* Effect.tapError(check(asking), () => noFailure)
      if (checked === undefined) {
        const { address } = visitor
        if (begunMs > 0) yield* watchGuessing({ account, address, pauseMs: begunMs })
        return yield* Effect.fail(wrongSignIn)
      }
      yield* noFailure
      byAccount.succeeded(name)
      return checked
    })

  const checkPassword =
    (account: Account | undefined, password: string, member?: "known") => (asking: Asking) =>
      Effect.map(
        passwords.check(password, account?.password ?? null, member ?? asking),
        ({ matches, rehashed }) =>
          account !== undefined && matches ? { account, rehashed } : undefined,
      )

  const chosen = (password: string, owner: Pick<Account, "email" | "name">) =>
    Effect.gen(function* () {
      const faults = yield* strength.faults(password, owner)
      if (faults.length > 0) return yield* Effect.fail(invalidRequest(faults))
      return { password: yield* passwords.hash(password) }
    })

  const makeLink = (
    by: Extract<AccountCommand, { readonly kind: "invite" }>["by"],
    wish: Partial<Extract<AccountCommand, { readonly kind: "invite" }>["invitation"]>,
  ) =>
    Effect.gen(function* () {
      const token = makeToken()
      const invitation = {
        id: makeId("inv"),
        hash: hashToken(token),
        purpose: "join" as const,
        accountId: null,
        email: null,
        access: nobodyAccess,
        ...wish,
      }
      yield* ask({ kind: "invite", by, invitation })
      return token
    })

  const passkeyFlows = makePasskeyFlows({ ask, directory, newSession, now, signedIn })

  const accept = Effect.fnUntraced(function* ({
    email,
    name,
    proof,
    token,
    visitor,
  }: Acceptance): Effect.fn.Return<SignedIn, LaurelError> {
    const state = yield* directory
    const hash = hashToken(token)
    // A look before the costly hash; the directory looks again.
    const invitation = invitationWithHash(state, hash, now())
    if (invitation === undefined) return yield* Effect.fail(linkNotFound)
    const reset = invitation.accountId !== null && state.accounts.get(invitation.accountId)
    const { accountId, ...credential } =
      proof.passkey === undefined
        ? {
            accountId: makeId("acc"),
            ...(yield* chosen(proof.password, reset || { email, name })),
          }
        : yield* Effect.andThen(
            // The faults of what was typed, before the answer that is empty where the options had the same.
            passkeyFlows.ownerToBe({ email, name, token }),
            passkeyFlows.created(proof.passkey, invitation.accountId),
          )
    const { session, text } = newSession(visitor)
    yield* ask({ kind: "acceptInvitation", hash, accountId, email, name, credential, session })
    return yield* signedIn(text, reset ? reset.id : accountId)
  })

  return People.of({
    setUp: Effect.gen(function* () {
      const { accounts } = yield* directory
      if ([...accounts.values()].some(({ access }) => access.owner)) return undefined
      return yield* makeLink("operator", { purpose: "setup" })
    }),
    invitation: (token) =>
      Effect.flatMap(directory, (state) => {
        const invitation = invitationWithHash(state, hashToken(token), now())
        return invitation === undefined ? Effect.fail(linkNotFound) : Effect.succeed(invitation)
      }),
    accept,
    signIn: (email, password, visitor) =>
      Effect.gen(function* () {
        const found = accountWithEmail(yield* directory, email)
        const { account, rehashed } = yield* throttled(
          email,
          found,
          visitor,
          checkPassword(found, password),
        )
        const { session, text } = newSession(visitor)
        const again = rehashed !== undefined && { rehashed }
        yield* ask({ kind: "signIn", accountId: account.id, session, ...again })
        return yield* signedIn(text, account.id)
      }),
    find: (cookie) =>
      Effect.gen(function* () {
        const state = yield* directory
        const session = sessionWith(state, cookie)
        if (session === undefined || !isSessionInForce(session, now())) return undefined
        const account = state.accounts.get(session.accountId)
        if (account === undefined) return undefined
        if (now() - session.usedAt >= limits.sessionRenewMs) {
          // A full disk must not close the dashboard: the session is renewed another time.
          yield* Effect.ignore(ask({ kind: "renewSession", sessionId: session.id }))
        }
        return { account, session }
      }),
    confirm: ({ account, session }, password, visitor) =>
      Effect.andThen(
        throttled(account.email, account, visitor, checkPassword(account, password, "known")),
        ask({ kind: "confirmSession", sessionId: session.id }),
      ),
    passkeys: passkeyFlows,
    signOut: ({ session }, sessionId = session.id) =>
      ask({ kind: "endSession", by: by(session), sessionId }),
    signOutOthers: ({ session }) => ask({ kind: "endOtherSessions", by: by(session) }),
    rename: ({ session }, name) => ask({ kind: "changeName", by: by(session), name }),
    changePassword: (member, password, visitor) =>
      Effect.gen(function* () {
        const { password: hash } = yield* chosen(password, member.account)
        const { session, text } = newSession(visitor)
        const asker = by(member.session)
        yield* ask({ kind: "changePassword", by: asker, password: hash, session })
        return yield* signedIn(text, member.account.id)
      }),
    accounts: Effect.map(directory, ({ accounts }) => [...accounts.values()]),
    sessionsOf: (accountId) =>
      Effect.map(directory, (state) =>
        [...state.sessions.values()].filter(
          (session) => session.accountId === accountId && isSessionInForce(session, now()),
        ),
      ),
    invitations: Effect.map(directory, ({ invitations }) =>
      [...invitations.values()].filter(({ expiresAt }) => expiresAt > now()),
    ),
    invite: (asker, wish) => makeLink(asker, wish),
    reset: (asker, accountId) => makeLink(asker, { purpose: "reset", accountId }),
    changeAddress: (asker, accountId, email) =>
      ask({ kind: "changeAddress", by: asker, accountId, email }),
    revokeInvitation: (asker, invitationId) =>
      ask({ kind: "revokeInvitation", by: asker, invitationId }),
    changeAccess: (asker, accountId, access, seen) =>
      ask({ kind: "changeAccess", by: asker, accountId, access, seen }),
    remove: (asker, accountId) => ask({ kind: "removeAccount", by: asker, accountId }),
  })
})

export const layer: Layer.Layer<People, never, Engine> = Layer.effect(People, make)

const by = ({ id }: Session) => ({ sessionId: id })

const wrongSignIn = laurelError("unauthorized", "The e-mail address or the password is wrong.")
