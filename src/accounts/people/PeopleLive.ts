/**
 * People from the engine's directory. The directory makes all decisions. This layer hashes secrets
 * before they reach it, slows down guessing, and finds sessions by their cookies. All durable state
 * is the directory's. The failures that the throttles count live as long as the process.
 */
import { Effect } from "effect"
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
import { linkNotFound, makePasskeyFlows, type PasskeyFlows } from "./PasskeyFlows.ts"
import { type Asking, PasswordStrength, Passwords } from "./Passwords.ts"
import { type Acceptance, GuessingWatch, People, type SignedIn, type Visitor } from "./People.ts"
import { Throttle } from "./Throttle.ts"
import { deviceOf, hashToken, makeDeviceToken, makeToken } from "./Tokens.ts"

/**
 * Sessions by the hash of their cookie, indexed again after each change of the directory's
 * sessions.
 */
class SessionIndex {
  #sessions = new Map<string, Session>()
  #indexed: DirectoryState["sessions"] | undefined

  find({ sessions }: DirectoryState, cookie: string): Session | undefined {
    if (sessions !== this.#indexed) {
      this.#indexed = sessions
      this.#sessions = new Map([...sessions.values()].map((session) => [session.hash, session]))
    }
    return this.#sessions.get(hashToken(cookie))
  }
}

/** Whom a failed check counts against. */
interface Suspect {
  /** A device that signed in before; otherwise the typed address. */
  readonly name: string
  /** Absent for a known device. */
  readonly network: string | undefined
}

/**
 * Checks passwords, and delays further attempts after too many failures. Failures count for the
 * account and for the network. A device that signed in before has a count of its own, so that guesses of others do not
 * lock its owner out.
 */
class GuessingGuard {
  readonly #byAccount = new Throttle(limits.signInFailuresFreePerAccount)
  readonly #byNetwork = new Throttle(limits.signInFailuresFreePerAddress)
  readonly #engine: Engine["Service"]
  readonly #watch: typeof GuessingWatch.Service

  constructor(engine: Engine["Service"], watch: typeof GuessingWatch.Service) {
    this.#engine = engine
    this.#watch = watch
  }

  /**
   * Runs `check`, which returns `undefined` for a wrong password. `rate_limited` during a pause.
   */
  check<A>(
    email: string,
    account: Account | undefined,
    visitor: Visitor,
    check: (asking: Asking) => Effect.Effect<A | undefined, LaurelError>,
  ): Effect.Effect<A, LaurelError> {
    return Effect.gen({ self: this }, function* () {
      const secret = yield* hashSecretOf(this.#engine)
      const suspect = suspectOf(secret, email, account, visitor)
      const at = this.#engine.now()
      const pauseMs = this.#pauseMs(suspect, at)
      if (pauseMs > 0) return yield* Effect.fail(tooManyGuesses(pauseMs))
      // Counted before the check, so that parallel guesses do not escape the count.
      const takeBack = this.#count(suspect, at)
      const begunMs = this.#pauseMs(suspect, at)
      const asking = suspect.network === undefined ? "known" : "stranger"
      const checked = yield* Effect.tapError(check(asking), () => Effect.sync(takeBack))
      if (checked === undefined) {
        const { address } = visitor
        if (begunMs > 0) yield* this.#watch({ account, address, pauseMs: begunMs })
        return yield* Effect.fail(wrongSignIn)
      }
      takeBack()
      this.#byAccount.succeeded(suspect.name)
      return checked
    })
  }

  #pauseMs({ name, network }: Suspect, at: number): number {
    return Math.max(
      this.#byAccount.pauseMs(name, at),
      network === undefined ? 0 : this.#byNetwork.pauseMs(network, at),
    )
  }

  /** Counts a failure; returns how to take it back. */
  #count({ name, network }: Suspect, at: number): () => void {
    const takeBack = [this.#byAccount.failed(name, at)]
    if (network !== undefined) takeBack.push(this.#byNetwork.failed(network, at))
    return () => {
      for (const undo of takeBack) undo()
    }
  }
}

const suspectOf = (
  secret: string,
  email: string,
  account: Account | undefined,
  { address, device }: Visitor,
): Suspect =>
  account !== undefined && device !== undefined && deviceOf(secret, account.id, device)
    ? { name: `device ${hashToken(device)}`, network: undefined }
    : {
        name: normalEmail(email).slice(0, limits.emailCharactersMax),
        network: networkOf(address),
      }

const tooManyGuesses = (pauseMs: number): LaurelError => {
  const retryAfterSeconds = Math.ceil(pauseMs / 1000)
  const detail = `Too many wrong passwords. Try again in ${retryAfterSeconds} s.`
  return laurelError("rate_limited", detail, { retryAfterSeconds })
}

/** A new session, and the text of its cookie. */
const newSession = ({ address, agent }: Visitor): { text: string; session: NewSession } => {
  const text = makeToken()
  const shown = agent.slice(0, limits.sessionAgentCharactersMax)
  return { text, session: { id: makeId("ses"), hash: hashToken(text), agent: shown, address } }
}

/** What the functions below share. */
interface Parts {
  readonly engine: Engine["Service"]
  readonly passwords: Passwords
  readonly strength: PasswordStrength
  readonly guard: GuessingGuard
}

const ask = ({ engine }: Parts, command: AccountCommand): Effect.Effect<void, LaurelError> =>
  Effect.asVoid(engine.askDirectory(command))

/** The answer to somebody who has a new session with this cookie. */
const signedIn = (
  { engine }: Parts,
  cookie: string,
  accountId: string,
): Effect.Effect<SignedIn, LaurelError> =>
  Effect.gen(function* () {
    const secret = yield* hashSecretOf(engine)
    const account = (yield* engine.readDirectory).accounts.get(accountId)
    if (account === undefined) return yield* Effect.fail(wrongSignIn)
    return { session: cookie, device: makeDeviceToken(secret, accountId), account }
  })

/** A check for `GuessingGuard`. Without an account it takes as long as with one. */
const checkPassword =
  ({ passwords }: Parts, account: Account | undefined, password: string, member?: "known") =>
  (asking: Asking) =>
    Effect.map(
      passwords.check(password, account?.password ?? null, member ?? asking),
      ({ matches, rehashed }) =>
        account !== undefined && matches ? { account, rehashed } : undefined,
    )

/** The hash of a password that somebody chose; refused where it is too easy to guess. */
const chosen = (
  { passwords, strength }: Parts,
  password: string,
  owner: Pick<Account, "email" | "name">,
) =>
  Effect.gen(function* () {
    const faults = yield* strength.faults(password, owner)
    if (faults.length > 0) return yield* Effect.fail(invalidRequest(faults))
    return { password: yield* passwords.hash(password) }
  })

type Invite = Extract<AccountCommand, { readonly kind: "invite" }>

/** Creates a link; returns its token. */
const makeLink = (
  parts: Parts,
  by: Invite["by"],
  wish: Partial<Invite["invitation"]>,
): Effect.Effect<string, LaurelError> =>
  Effect.gen(function* () {
    const token = makeToken()
    const invitation = {
      id: makeId("inv"),
      hash: hashToken(token),
      purpose: "join" as const,
      accountId: null,
      email: null,
      access: { owner: false, projects: [] },
      ...wish,
    }
    yield* ask(parts, { kind: "invite", by, invitation })
    return token
  })

type Flows<Name extends keyof People["Service"]> = Pick<People["Service"], Name>

/** How people come to an account. */
const joining = (
  parts: Parts,
  passkeys: PasskeyFlows,
): Flows<"accept" | "invitation" | "invite" | "reset" | "revokeInvitation" | "setUp"> => {
  const { now, readDirectory: directory } = parts.engine
  const accept = Effect.fnUntraced(function* ({
    email,
    name,
    proof,
    token,
    visitor,
  }: Acceptance): Effect.fn.Return<SignedIn, LaurelError> {
    const state = yield* directory
    const hash = hashToken(token)
    // The directory checks the invitation again. A check here saves the costly hash.
    const invitation = invitationWithHash(state, hash, now())
    if (invitation === undefined) return yield* Effect.fail(linkNotFound)
    const reset = invitation.accountId !== null && state.accounts.get(invitation.accountId)
    const { accountId, ...credential } =
      proof.passkey === undefined
        ? {
            accountId: makeId("acc"),
            ...(yield* chosen(parts, proof.password, reset || { email, name })),
          }
        : yield* Effect.andThen(
            // First the faults of the typed fields: where they were refused, there were no options,
            // and the answer is empty.
            passkeys.ownerToBe({ email, name, token }),
            passkeys.created(proof.passkey, invitation.accountId),
          )
    const { session, text } = newSession(visitor)
    yield* ask(parts, {
      kind: "acceptInvitation",
      hash,
      accountId,
      email,
      name,
      credential,
      session,
    })
    return yield* signedIn(parts, text, reset ? reset.id : accountId)
  })
  return {
    setUp: Effect.gen(function* () {
      const { accounts } = yield* directory
      if ([...accounts.values()].some(({ access }) => access.owner)) return undefined
      return yield* makeLink(parts, "operator", { purpose: "setup" })
    }),
    invitation: (token) =>
      Effect.flatMap(directory, (state) => {
        const invitation = invitationWithHash(state, hashToken(token), now())
        return invitation === undefined ? Effect.fail(linkNotFound) : Effect.succeed(invitation)
      }),
    accept,
    invite: (asker, wish) => makeLink(parts, asker, wish),
    reset: (asker, accountId) => makeLink(parts, asker, { purpose: "reset", accountId }),
    revokeInvitation: (asker, invitationId) =>
      ask(parts, { kind: "revokeInvitation", by: asker, invitationId }),
  }
}

/** Signing in and out, and the sessions in between. */
const sessionsOf = (
  parts: Parts,
): Flows<"changePassword" | "confirm" | "find" | "signIn" | "signOut" | "signOutOthers"> => {
  const { guard } = parts
  const { now, readDirectory: directory } = parts.engine
  const index = new SessionIndex()
  return {
    signIn: (email, password, visitor) =>
      Effect.gen(function* () {
        const found = accountWithEmail(yield* directory, email)
        const check = checkPassword(parts, found, password)
        const { account, rehashed } = yield* guard.check(email, found, visitor, check)
        const { session, text } = newSession(visitor)
        const again = rehashed !== undefined && { rehashed }
        yield* ask(parts, { kind: "signIn", accountId: account.id, session, ...again })
        return yield* signedIn(parts, text, account.id)
      }),
    find: (cookie) =>
      Effect.gen(function* () {
        const state = yield* directory
        const session = index.find(state, cookie)
        if (session === undefined || !isSessionInForce(session, now())) return undefined
        const account = state.accounts.get(session.accountId)
        if (account === undefined) return undefined
        if (now() - session.usedAt >= limits.sessionRenewMs) {
          // A full disk must not close the dashboard: the next request renews the session.
          yield* Effect.ignore(ask(parts, { kind: "renewSession", sessionId: session.id }))
        }
        return { account, session }
      }),
    confirm: ({ account, session }, password, visitor) =>
      Effect.andThen(
        guard.check(
          account.email,
          account,
          visitor,
          checkPassword(parts, account, password, "known"),
        ),
        ask(parts, { kind: "confirmSession", sessionId: session.id }),
      ),
    signOut: ({ session }, sessionId = session.id) =>
      ask(parts, { kind: "endSession", by: by(session), sessionId }),
    signOutOthers: ({ session }) => ask(parts, { kind: "endOtherSessions", by: by(session) }),
    changePassword: (member, password, visitor) =>
      Effect.gen(function* () {
        const { password: hash } = yield* chosen(parts, password, member.account)
        const { session, text } = newSession(visitor)
        const asker = by(member.session)
        yield* ask(parts, { kind: "changePassword", by: asker, password: hash, session })
        return yield* signedIn(parts, text, member.account.id)
      }),
  }
}

/** Lists, and changes to accounts. */
const managing = (
  parts: Parts,
): Flows<
  "accounts" | "changeAccess" | "changeAddress" | "invitations" | "remove" | "rename" | "sessionsOf"
> => {
  const { now, readDirectory: directory } = parts.engine
  return {
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
    rename: ({ session }, name) => ask(parts, { kind: "changeName", by: by(session), name }),
    changeAddress: (asker, accountId, email) =>
      ask(parts, { kind: "changeAddress", by: asker, accountId, email }),
    changeAccess: (asker, accountId, access, seen) =>
      ask(parts, { kind: "changeAccess", by: asker, accountId, access, seen }),
    remove: (asker, accountId) => ask(parts, { kind: "removeAccount", by: asker, accountId }),
  }
}

export const make = Effect.gen(function* () {
  const engine = yield* Engine
  const parts: Parts = {
    engine,
    passwords: new Passwords(),
    strength: new PasswordStrength(),
    guard: new GuessingGuard(engine, yield* GuessingWatch),
  }
  const passkeys = makePasskeyFlows({
    ask: (command) => ask(parts, command),
    directory: engine.readDirectory,
    newSession,
    now: engine.now,
    signedIn: (cookie, accountId) => signedIn(parts, cookie, accountId),
  })
  return People.of({
    passkeys,
    ...joining(parts, passkeys),
    ...sessionsOf(parts),
    ...managing(parts),
  })
})

const by = ({ id }: Session) => ({ sessionId: id })

const wrongSignIn = laurelError("unauthorized", "The e-mail address or the password is wrong.")
