/**
 * `Accounts`, `ApiKeys` and `Projects` over the engine's directory. In a cluster of several
 * partitions the directory is a copy, which other servers change as well.
 *
 * `KnownKeys` keeps the index of keys and the windows of rate limits. Every question first compares
 * the identity of the directory, and rebuilds both after a change: the next request with a key that
 * has ended is refused.
 */
import { Context, Effect, Semaphore } from "effect"
import type { Asker } from "../domain/accounts/Account.ts"
import type { ProjectsCommand } from "../domain/decide/decideProjects.ts"
import {
  type ApiKey,
  type DirectoryState,
  type EnvironmentName,
  isArchived,
  isKeyInForce,
  type KeyKind,
  limitOf,
  partitionOf,
  type RotationOverlap,
  type Tier,
  type TokenScope,
} from "../domain/project/Directory.ts"
import { type LaurelError, laurelError } from "../domain/values/Errors.ts"
import { isoTime } from "../domain/values/isoTime.ts"
import { Engine } from "../engine/Engine.ts"
import { limits } from "../Limits.ts"
import { Accounts, type Caller, type MadeToken } from "./Accounts.ts"
import { ApiKeys, type CreatedKey, type KeyDetails, type KeyRequest } from "./ApiKeys.ts"
import { hashKeyText, KeyIndex } from "./KeyIndex.ts"
import { hashSecretOf, keyHint, makeId, makeKeyText } from "./KeyText.ts"
import { KeyUses } from "./KeyUses.ts"
import { keysOf, OwnPartition } from "./OwnPartition.ts"
import { ProjectPartitions, Projects, projectDetails } from "./Projects.ts"
import { RateLimits } from "./RateLimits.ts"

/** The keys, projects and limits of the directory as it is now. */
class KnownKeys {
  readonly uses = new KeyUses()
  readonly #rateLimits = new RateLimits()
  readonly #engine: Engine["Service"]
  readonly #own: typeof OwnPartition.Service
  #directory: DirectoryState
  #index: KeyIndex
  #version = 0

  constructor(engine: Engine["Service"], own: typeof OwnPartition.Service) {
    this.#engine = engine
    this.#own = own
    this.#directory = engine.directoryNow()
    this.#index = this.#newIndex()
    this.#rateLimits.load(this.#directory)
  }

  #newIndex(): KeyIndex {
    return new KeyIndex(keysOf(this.#own, this.#directory), this.uses, this.#engine.now())
  }

  #renewIndex(): void {
    this.#index = this.#newIndex()
    this.#version++
  }

  /** The directory as it is now. The index and the limits follow it. */
  latest(): DirectoryState {
    const changed = this.#engine.directoryNow()
    if (changed === this.#directory) return changed
    const { hashSecret, keys, projects } = this.#directory
    this.#directory = changed
    // Sessions and accounts change more often than keys and projects.
    const isSame = changed.keys === keys && changed.projects === projects
    if (isSame && changed.hashSecret === hashSecret) return changed
    this.uses.retain(changed.keys)
    this.#renewIndex()
    this.#rateLimits.load(changed)
    return changed
  }

  /** See `Accounts.version`. */
  version(): number {
    this.latest()
    if (this.#engine.now() >= this.#index.nextExpiryAt) this.#renewIndex()
    return this.#version
  }

  /** See `Accounts.authenticate`. */
  authenticate(text: string): Caller | undefined {
    this.latest()
    const caller = this.#index.find(text, this.#engine.now())
    return caller === undefined || this.#isFromBefore(caller) ? undefined : caller
  }

  /** See `Accounts.makeToken`. */
  makeToken(
    caller: Caller,
    userId: string,
    seconds: number,
    scopes: ReadonlyArray<TokenScope> = [],
  ): MadeToken | undefined {
    this.latest()
    const erasedAt = this.#engine.erasedAt(caller.environment, userId)
    return this.#index.makeToken(caller, userId, seconds, scopes, this.#engine.now(), erasedAt)
  }

  /** See `Accounts.isInForce`. */
  isInForce(caller: Caller): boolean {
    const { accountId, expiresAt, keyId } = caller
    const directory = this.latest()
    const now = this.#engine.now()
    // Pages check the session and the project of an account themselves.
    if (accountId !== undefined) return directory.accounts.has(accountId)
    if (expiresAt !== undefined && expiresAt <= now) return false
    if (this.#isFromBefore(caller)) return false
    const key = directory.keys.get(keyId)
    return key !== undefined && isKeyInForce(key, now) && !isArchived(directory, key)
  }

  /** See `Accounts.tierOf`. */
  tierOf(projectId: string): Tier | undefined {
    const project = this.latest().projects.get(projectId)
    if (project === undefined || project.archivedAt !== undefined) return undefined
    const isOwn = this.#own === undefined || partitionOf(project) === this.#own
    return isOwn ? limitOf(project).tier : undefined
  }

  /**
   * Whether the user of a token was erased after the token was made: the token would create the
   * user again.
   */
  #isFromBefore({ environment, issuedAt, userId }: Caller): boolean {
    if (issuedAt === undefined || userId === undefined) return false
    const erasedAt = this.#engine.erasedAt(environment, userId)
    return erasedAt > 0 && issuedAt <= erasedAt
  }

  /** See `Accounts.consume`. */
  consume(caller: Caller, amount: number) {
    return this.#rateLimits.consume(caller, amount, this.#noteUse(caller))
  }

  /** See `Accounts.look`. */
  look(caller: Caller, amount: number) {
    return this.#rateLimits.look(caller, amount, this.#noteUse(caller))
  }

  #noteUse({ use }: Caller): number {
    const at = this.#engine.now()
    if (use !== undefined) use.at = at
    return at
  }
}

const accountsOf = (known: KnownKeys): Accounts["Service"] =>
  Accounts.of({
    authenticate: (text) => known.authenticate(text),
    makeToken: (caller, userId, seconds, scopes) =>
      known.makeToken(caller, userId, seconds, scopes),
    isInForce: (caller) => known.isInForce(caller),
    tierOf: (projectId) => known.tierOf(projectId),
    get version() {
      return known.version()
    },
    consume: (caller, amount) => known.consume(caller, amount),
    look: (caller, amount) => known.look(caller, amount),
  })

/**
 * Records the last uses of keys until the scope closes; returns the last record (`ApiKeys.leave`).
 * No change waits for it: in a cluster the directory may be on another server, which may be
 * unreachable. Where the storage takes no writes, the next check tries again.
 */
const recordUses = Effect.fnUntraced(function* (engine: Engine["Service"], known: KnownKeys) {
  const { now } = engine
  let recordedAt = now()
  const record = Effect.suspend(() => {
    const used = known.uses.unrecorded(known.latest().keys)
    if (used.length === 0) return Effect.void
    const asked = Effect.map(engine.askDirectory({ kind: "useKeys", used }), () => {
      recordedAt = now()
    })
    return Effect.ignore(asked)
  })
  yield* Effect.forkScoped(
    Effect.gen(function* () {
      while (true) {
        yield* Effect.sleep(limits.keyUseCheckMs)
        if (now() - recordedAt >= limits.keyUseFlushMs) yield* record
      }
    }),
  )
  let hasLeft = false
  const leave = Effect.suspend(() => {
    if (hasLeft) return Effect.void
    hasLeft = true
    const last = Effect.timeoutOption(Effect.interruptible(record), limits.keyUseLastFlushMs)
    return Effect.asVoid(last)
  })
  yield* Effect.addFinalizer(() => leave)
  return leave
})

/** Runs a change to its end, even if its caller is interrupted. Changes run one at a time. */
type Change = <A>(effect: Effect.Effect<A, LaurelError>) => Effect.Effect<A, LaurelError>

/** A key as the contract shows it. */
const shownKey = (key: ApiKey, project: string) => ({
  id: key.id,
  name: key.name ?? "",
  kind: key.kind ?? "secret",
  project,
  environment: key.environment,
  scope: key.scope,
  allowedOrigins: key.allowedOrigins ?? [],
  allowedCidrs: key.allowedCidrs ?? [],
  createdAt: isoTime(key.createdAt),
  expiresAt: key.expiresAt === undefined ? null : isoTime(key.expiresAt),
})

const keyDetails = (
  { accounts, projects }: DirectoryState,
  key: ApiKey,
  lastUsedAt: number | undefined,
  now: number,
): KeyDetails => ({
  ...shownKey(key, projects.get(key.projectId)!.name),
  hint: key.hint,
  createdBy: accounts.get(key.createdBy)?.name ?? key.createdBy,
  lastUsedAt: lastUsedAt === undefined ? null : isoTime(lastUsedAt),
  replacedBy: key.replacedBy ?? null,
  status: key.revokedAt !== null ? "revoked" : isKeyInForce(key, now) ? "in_force" : "expired",
  revokedAt: key.revokedAt === null ? null : isoTime(key.revokedAt),
})

/** Makes the texts of keys. The directory stores only their hashes. */
class KeyMaker {
  readonly #engine: Engine["Service"]
  readonly #known: KnownKeys
  readonly #partitions: typeof ProjectPartitions.Service

  constructor(
    engine: Engine["Service"],
    known: KnownKeys,
    partitions: typeof ProjectPartitions.Service,
  ) {
    this.#engine = engine
    this.#known = known
    this.#partitions = partitions
  }

  create(
    request: KeyRequest & { readonly inProject?: string },
    by: Asker,
  ): Effect.Effect<CreatedKey, LaurelError> {
    const { environment, expiresAt, inProject, project, ...wish } = request
    return Effect.gen({ self: this }, function* () {
      const projectId = makeId("prj")
      const { text, ...made } = yield* this.#newText(environment, wish.kind)
      yield* this.#engine.askDirectory({
        kind: "createKey",
        by,
        projectId,
        projectName: project,
        inProject,
        partitions: this.#partitions(),
        key: {
          ...made,
          ...wish,
          environment,
          ...(expiresAt !== undefined && { expiresAt: Date.parse(expiresAt) }),
        },
      })
      return this.#created({ ...made, text }, projectId)
    })
  }

  rotate(
    keyId: string,
    overlap: RotationOverlap,
    by: Asker,
  ): Effect.Effect<CreatedKey, LaurelError> {
    return Effect.gen({ self: this }, function* () {
      const old = this.#known.latest().keys.get(keyId)
      if (old === undefined) return yield* Effect.fail(keyNotFound)
      const { text, ...key } = yield* this.#newText(old.environment, old.kind)
      yield* this.#engine.askDirectory({ kind: "rotateKey", by, keyId, overlap, key })
      return this.#created({ ...key, text })
    })
  }

  /** The text of a new key, its id, and what the directory stores of the text. */
  #newText(environment: EnvironmentName, kind?: KeyKind) {
    return Effect.map(hashSecretOf(this.#engine), (secret) => {
      const text = makeKeyText(environment, kind)
      return { text, id: makeId("key"), hash: hashKeyText(secret, text), hint: keyHint(text) }
    })
  }

  /** `projectId`: the id that the project has if this key created it. */
  #created(
    { id, text }: { readonly id: string; readonly text: string },
    projectId?: string,
  ): CreatedKey {
    const { keys, projects } = this.#known.latest()
    const key = keys.get(id)!
    const projectCreated = key.projectId === projectId
    return { key: text, projectCreated, ...shownKey(key, projects.get(key.projectId)!.name) }
  }
}

interface KeyParts {
  readonly engine: Engine["Service"]
  readonly known: KnownKeys
  readonly maker: KeyMaker
  readonly change: Change
  readonly leave: Effect.Effect<void>
}

const apiKeysOf = ({ change, engine, known, leave, maker }: KeyParts): ApiKeys["Service"] => {
  const listed = (isListed: (key: ApiKey) => boolean): Effect.Effect<ReadonlyArray<KeyDetails>> =>
    Effect.sync(() => {
      const directory = known.latest()
      return [...directory.keys.values()]
        .filter(isListed)
        .sort((one, other) => one.createdAt - other.createdAt)
        .map((key) => keyDetails(directory, key, known.uses.lastUsedAt(key), engine.now()))
    })
  return ApiKeys.of({
    create: (request, by = "operator") => change(maker.create(request, by)),
    list: listed(() => true),
    listOf: (projectId, environment) =>
      listed((key) => key.projectId === projectId && key.environment === environment),
    rotate: (keyId, overlap, by = "operator") => change(maker.rotate(keyId, overlap, by)),
    revoke: (keyId, by = "operator") =>
      change(Effect.asVoid(engine.askDirectory({ kind: "revokeKey", by, keyId }))),
    leave,
  })
}

const projectsOf = (
  engine: Engine["Service"],
  known: KnownKeys,
  partitions: typeof ProjectPartitions.Service,
  change: Change,
): Projects["Service"] => {
  const ask = (command: ProjectsCommand) => change(Effect.asVoid(engine.askDirectory(command)))
  return Projects.of({
    create: (by, name) => {
      const project = { id: makeId("prj"), name }
      return ask({ kind: "createProject", by, project, partitions: partitions() })
    },
    rename: (by, projectId, name) => ask({ kind: "renameProject", by, projectId, name }),
    archive: (by, projectId) => ask({ kind: "archiveProject", by, projectId }),
    unarchive: (by, projectId) => ask({ kind: "unarchiveProject", by, projectId }),
    limit: (by, projectId, { rateLimit, tier }) =>
      Effect.map(
        ask({ kind: "limitProject", by, projectId, tier, requestsPerMinute: rateLimit }),
        () => projectDetails(known.latest().projects.get(projectId)!),
      ),
    list: Effect.sync(() =>
      [...known.latest().projects.values()]
        .sort((one, other) => one.createdAt - other.createdAt)
        .map(projectDetails),
    ),
  })
}

export const make = Effect.gen(function* () {
  const engine = yield* Engine
  const partitions = yield* ProjectPartitions
  const known = new KnownKeys(engine, yield* OwnPartition)
  const changing = yield* Semaphore.make(1)
  const change: Change = (effect) => Effect.uninterruptible(Semaphore.withPermit(changing, effect))
  const leave = yield* recordUses(engine, known)
  const maker = new KeyMaker(engine, known, partitions)
  return Context.make(Accounts, accountsOf(known)).pipe(
    Context.add(ApiKeys, apiKeysOf({ engine, known, maker, change, leave })),
    Context.add(Projects, projectsOf(engine, known, partitions, change)),
  )
})

const keyNotFound = laurelError("key_not_found", "No key in force has this id.")
