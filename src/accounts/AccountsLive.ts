/**
 * Accounts from the engine's directory. The durable directory is the truth; the index of keys and the rate
 * limit windows are made from it at start and after each change, before the change is answered. A change
 * whose outcome was unknown (the disk was full) may come true later: a look every second sees it then.
 */
import { Context, Effect, Layer, Semaphore } from "effect"
import {
  type ApiKey,
  type DirectoryState,
  tierRequestsPerMinute,
} from "../domain/project/Directory.ts"
import type { LaurelError } from "../domain/values/Errors.ts"
import { isoTime } from "../domain/values/isoTime.ts"
import { Engine } from "../engine/Engine.ts"
import { limits } from "../Limits.ts"
import { Accounts } from "./Accounts.ts"
import { ApiKeys, type CreatedKey, type KeyDetails, type KeyRequest } from "./ApiKeys.ts"
import { hashSecretOf } from "./hashSecret.ts"
import { hashKeyText, KeyIndex } from "./KeyIndex.ts"
import { keyHint, makeKeyText } from "./KeyText.ts"
import { makeId } from "./makeId.ts"
import { RateLimits } from "./RateLimits.ts"

/** What of a key is shown, under the names of the contract. */
const shownKey = (key: ApiKey, project: string) => ({
  id: key.id,
  project,
  environment: key.environment,
  scope: key.scope,
  tier: key.tier,
  rateLimit: key.requestsPerMinute,
  createdAt: isoTime(key.createdAt),
  expiresAt: key.expiresAt === undefined ? null : isoTime(key.expiresAt),
})

const keyDetails = (directory: DirectoryState, key: ApiKey, now: number): KeyDetails => ({
  ...shownKey(key, directory.projects.get(key.projectId)!.name),
  hint: key.hint,
  status:
    key.revokedAt !== null
      ? "revoked"
      : key.expiresAt !== undefined && key.expiresAt <= now
        ? "expired"
        : "in_force",
  revokedAt: key.revokedAt === null ? null : isoTime(key.revokedAt),
})

export const make = Effect.gen(function* () {
  const engine = yield* Engine
  const { now } = engine
  const changing = yield* Semaphore.make(1)
  const rateLimits = new RateLimits()
  let directory = yield* engine.readDirectory
  let index = new KeyIndex(directory, now())
  let version = 0
  rateLimits.load(directory)

  const renewIndex = () => {
    index = new KeyIndex(directory, now())
    version++
  }

  const refresh = Effect.map(engine.readDirectory, (changed) => {
    if (changed.sequence === directory.sequence) return
    directory = changed
    renewIndex()
    rateLimits.load(changed)
  })

  yield* Effect.forkScoped(
    Effect.gen(function* () {
      while (true) {
        yield* Effect.sleep(limits.directoryCheckMs)
        yield* refresh
      }
    }),
  )

  const accounts = Accounts.of({
    authenticate: (text) => index.find(text, now()),
    isInForce: ({ keyId }) => {
      const key = directory.keys.get(keyId)
      if (key === undefined || key.revokedAt !== null) return false
      return key.expiresAt === undefined || key.expiresAt > now()
    },
    get version() {
      if (now() >= index.nextExpiryAt) renewIndex()
      return version
    },
    consume: (caller, amount) => rateLimits.consume(caller, amount, now()),
    look: (caller, amount) => rateLimits.look(caller, amount, now()),
  })

  /** A change runs to its end whatever becomes of its caller, so that the index follows the journal. */
  const change = <A>(effect: Effect.Effect<A, LaurelError>): Effect.Effect<A, LaurelError> =>
    Effect.uninterruptible(Semaphore.withPermit(changing, effect))

  const create = Effect.fnUntraced(function* (
    request: KeyRequest,
  ): Effect.fn.Return<CreatedKey, LaurelError> {
    const text = makeKeyText(request.environment)
    const id = makeId("key")
    yield* engine.askDirectory({
      kind: "createKey",
      projectId: makeId("prj"),
      projectName: request.project,
      key: {
        id,
        environment: request.environment,
        scope: request.scope,
        tier: request.tier,
        requestsPerMinute:
          request.rateLimit === undefined ? tierRequestsPerMinute[request.tier] : request.rateLimit,
        hash: hashKeyText(yield* hashSecretOf(engine), text),
        hint: keyHint(text),
        ...(request.expiresAt !== undefined && { expiresAt: Date.parse(request.expiresAt) }),
      },
    })
    yield* refresh
    return { key: text, ...shownKey(directory.keys.get(id)!, request.project) }
  })

  const apiKeys = ApiKeys.of({
    create: (request) => change(create(request)),
    list: Effect.sync(() =>
      [...directory.keys.values()]
        .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
        .map((key) => keyDetails(directory, key, now())),
    ),
    revoke: (keyId) =>
      change(Effect.andThen(engine.askDirectory({ kind: "revokeKey", keyId }), refresh)),
  })

  return Context.make(Accounts, accounts).pipe(Context.add(ApiKeys, apiKeys))
})

export const layer: Layer.Layer<Accounts | ApiKeys, never, Engine> = Layer.effectContext(make)
