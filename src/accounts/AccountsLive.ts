/**
 * Accounts from the engine's directory, the durable one, which is the truth; in a cluster of several partitions it may be a copy
 * that others change. The index of keys and the windows of rate limits follow it: each question compares the
 * directory's identity, so that a key that has ended is refused from the next request on.
 */
import { Context, Effect, Layer, Semaphore } from "effect"
import type { Asker } from "../domain/accounts/Account.ts"
import type { ProjectsCommand } from "../domain/decide/decideProjects.ts"
import {
  type ApiKey,
  type DirectoryState,
  type EnvironmentName,
  isArchived,
  isKeyInForce,
  type KeyKind,
  type RotationOverlap,
} from "../domain/project/Directory.ts"
import { type LaurelError, laurelError } from "../domain/values/Errors.ts"
import { isoTime } from "../domain/values/isoTime.ts"
import { Engine } from "../engine/Engine.ts"
import { limits } from "../Limits.ts"
import { Accounts, type Caller } from "./Accounts.ts"
import { ApiKeys, type CreatedKey, type KeyDetails, type KeyRequest } from "./ApiKeys.ts"
import { hashKeyText, KeyIndex } from "./KeyIndex.ts"
import { hashSecretOf, keyHint, makeId, makeKeyText } from "./KeyText.ts"
import { KeyUses } from "./KeyUses.ts"
import { keysOf, OwnPartition } from "./OwnPartition.ts"
import { ProjectPartitions, Projects, projectDetails } from "./Projects.ts"
import { RateLimits } from "./RateLimits.ts"

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
  createdBy:
    key.createdBy === undefined ? null : (accounts.get(key.createdBy)?.name ?? key.createdBy),
  lastUsedAt: lastUsedAt === undefined ? null : isoTime(lastUsedAt),
  replacedBy: key.replacedBy ?? null,
  status: key.revokedAt !== null ? "revoked" : isKeyInForce(key, now) ? "in_force" : "expired",
  revokedAt: key.revokedAt === null ? null : isoTime(key.revokedAt),
})

export const make = Effect.gen(function* () {
  const engine = yield* Engine
  const { now } = engine
  const partitions = yield* ProjectPartitions
  const own = yield* OwnPartition
  const changing = yield* Semaphore.make(1)
  const rateLimits = new RateLimits()
  const uses = new KeyUses()
  let directory = engine.directoryNow()
  let index = new KeyIndex(keysOf(own, directory), uses, now())
  let version = 0
  let usesRecordedAt = now()
  rateLimits.load(directory)

  const renewIndex = () => {
    index = new KeyIndex(keysOf(own, directory), uses, now())
    version++
  }

  /** The directory as it is now; the index of keys follows. */
  const latest = (): DirectoryState => {
    const changed = engine.directoryNow()
    if (changed === directory) return directory
    const { hashSecret, keys, projects } = directory
    directory = changed
    // Sessions and accounts change more often than keys and projects.
    const same = changed.keys === keys && changed.projects === projects
    if (same && changed.hashSecret === hashSecret) return directory
    uses.retain(changed.keys)
    renewIndex()
    rateLimits.load(changed)
    return directory
  }

  /** A change runs to its end also without its caller, one at a time. */
  const change = <A>(effect: Effect.Effect<A, LaurelError>): Effect.Effect<A, LaurelError> =>
    Effect.uninterruptible(Semaphore.withPermit(changing, effect))

  /**
   * Records the last uses of all keys, if there is any; where the storage takes no writes, another time. No change waits for it:
   * in a cluster the directory may be another server's, which may be away.
   */
  const recordUses = Effect.suspend(() => {
    const used = uses.unrecorded(latest().keys)
    if (used.length === 0) return Effect.void
    const asked = Effect.map(engine.askDirectory({ kind: "useKeys", used }), () => {
      usesRecordedAt = now()
    })
    return Effect.ignore(asked)
  })

  yield* Effect.forkScoped(
    Effect.gen(function* () {
      while (true) {
        yield* Effect.sleep(limits.keyUseCheckMs)
        if (now() - usesRecordedAt >= limits.keyUseFlushMs) yield* recordUses
      }
    }),
  )
  let hasLeft = false
  const leave = Effect.suspend(() => {
    if (hasLeft) return Effect.void
    hasLeft = true
    const last = Effect.timeoutOption(Effect.interruptible(recordUses), limits.keyUseLastFlushMs)
    return Effect.asVoid(last)
  })
  yield* Effect.addFinalizer(() => leave)

  const noteUse = ({ use }: Caller): number => {
    const at = now()
    if (use !== undefined) use.at = at
    return at
  }

  /** Whether a token was made before its user was erased: it would create the user again. */
  const isFromBefore = ({ environment, issuedAt, userId }: Caller): boolean => {
    if (issuedAt === undefined || userId === undefined) return false
    const erasedAt = engine.erasedAt(environment, userId)
    return erasedAt > 0 && issuedAt <= erasedAt
  }

  const accounts = Accounts.of({
    authenticate: (text) => {
      latest()
      const caller = index.find(text, now())
      return caller === undefined || isFromBefore(caller) ? undefined : caller
    },
    makeToken: (caller, userId, seconds) => {
      latest()
      const erasedAt = engine.erasedAt(caller.environment, userId)
      return index.makeToken(caller, userId, seconds, now(), erasedAt)
    },
    isInForce: (caller) => {
      const { accountId, expiresAt, keyId } = caller
      const directory = latest()
      // Pages look after the session and the project of an account themselves.
      if (accountId !== undefined) return directory.accounts.has(accountId)
      if (expiresAt !== undefined && expiresAt <= now()) return false
      if (isFromBefore(caller)) return false
      const key = directory.keys.get(keyId)
      return key !== undefined && isKeyInForce(key, now()) && !isArchived(directory, key)
    },
    get version() {
      latest()
      if (now() >= index.nextExpiryAt) renewIndex()
      return version
    },
    consume: (caller, amount) => rateLimits.consume(caller, amount, noteUse(caller)),
    look: (caller, amount) => rateLimits.look(caller, amount, noteUse(caller)),
  })

  /** A new key's id and what the directory stores of its text. */
  const newText = Effect.fnUntraced(function* (environment: EnvironmentName, kind?: KeyKind) {
    const text = makeKeyText(environment, kind)
    const hash = hashKeyText(yield* hashSecretOf(engine), text)
    return { text, id: makeId("key"), hash, hint: keyHint(text) }
  })

  /** `projectId`: that of the project which was to be created if none had its name. */
  const created = (
    { id, text }: { readonly id: string; readonly text: string },
    projectId?: string,
  ): CreatedKey => {
    const { keys, projects } = latest()
    const key = keys.get(id)!
    const projectCreated = key.projectId === projectId
    return { key: text, projectCreated, ...shownKey(key, projects.get(key.projectId)!.name) }
  }

  const create = Effect.fnUntraced(function* (
    request: KeyRequest & { readonly inProject?: string },
    by: Asker,
  ): Effect.fn.Return<CreatedKey, LaurelError> {
    const { environment, expiresAt, inProject, project, ...wish } = request
    const { text, ...made } = yield* newText(environment, wish.kind)
    const projectId = makeId("prj")
    yield* engine.askDirectory({
      kind: "createKey",
      by,
      projectId,
      projectName: project,
      inProject,
      partitions: partitions(),
      key: {
        ...made,
        ...wish,
        environment,
        ...(expiresAt !== undefined && { expiresAt: Date.parse(expiresAt) }),
      },
    })
    return created({ ...made, text }, projectId)
  })

  const rotate = Effect.fnUntraced(function* (
    keyId: string,
    overlap: RotationOverlap,
    by: Asker,
  ): Effect.fn.Return<CreatedKey, LaurelError> {
    const old = latest().keys.get(keyId)
    if (old === undefined) return yield* Effect.fail(keyNotFound)
    const { text, ...key } = yield* newText(old.environment, old.kind)
    yield* engine.askDirectory({ kind: "rotateKey", by, keyId, overlap, key })
    return created({ ...key, text })
  })

  const listed = (keys: Array<ApiKey>): ReadonlyArray<KeyDetails> =>
    keys
      .sort((one, other) => one.createdAt - other.createdAt)
      .map((key) => keyDetails(latest(), key, uses.lastUsedAt(key), now()))

  const apiKeys = ApiKeys.of({
    create: (request, by = "operator") => change(create(request, by)),
    list: Effect.sync(() => listed([...latest().keys.values()])),
    listOf: (projectId, environment) =>
      Effect.sync(() =>
        listed(
          [...latest().keys.values()].filter(
            (key) => key.projectId === projectId && key.environment === environment,
          ),
        ),
      ),
    rotate: (keyId, overlap, by = "operator") => change(rotate(keyId, overlap, by)),
    revoke: (keyId, by = "operator") =>
      change(Effect.asVoid(engine.askDirectory({ kind: "revokeKey", by, keyId }))),
    leave,
  })

  const ask = (command: ProjectsCommand) => change(Effect.asVoid(engine.askDirectory(command)))
  const projects = Projects.of({
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
        () => projectDetails(latest().projects.get(projectId)!),
      ),
    list: Effect.sync(() =>
      [...latest().projects.values()]
        .sort((one, other) => one.createdAt - other.createdAt)
        .map(projectDetails),
    ),
  })

  return Context.make(Accounts, accounts).pipe(
    Context.add(ApiKeys, apiKeys),
    Context.add(Projects, projects),
  )
})

export const layer: Layer.Layer<Accounts | ApiKeys | Projects, never, Engine> =
  Layer.effectContext(make)

const keyNotFound = laurelError("key_not_found", "No key in force has this id.")
