/** An engine on storage in memory, and helpers for its tests. */
import { Effect, Exit, Scope } from "effect"
import type { decideUser } from "../../src/domain/decide/Decide.ts"
import type { ProjectCommand } from "../../src/domain/decide/Project.ts"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import type { UserState } from "../../src/domain/user/User.ts"
import { type Domain, domain, Environment } from "../../src/engine/actor/Environments.ts"
import type { Engine, Idempotency } from "../../src/engine/Engine.ts"
import { type EngineOptions, makeEngine } from "../../src/engine/EngineLive.ts"
import { decodeRecord } from "../../src/engine/records/Codec.ts"
import { type Broken, Storage } from "../../src/storage/Storage.ts"
import { questWith, ruleWith } from "../domain/definitions.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { type Stalling, stallingWrites } from "../storage/stalling.ts"

export const sandbox = "prj_1:sandbox"
export const production = "prj_1:production"

export interface Fixture {
  readonly engine: Engine["Service"]
  /** The errors that the engine reported as fatal. */
  readonly broken: Array<Broken>
  readonly committed: Array<JournalRecord>
  /** Ends the engine: `kill` without its last snapshot, else after `drain`. */
  readonly close: (how?: "kill") => Effect.Effect<void>
}

/** An environment without an engine around it. */
export const anEnvironment = (): Environment =>
  new Environment(sandbox, {
    domain,
    now: () => 0,
    sooner: () => {},
    stateBytes: { bytes: 0 },
  })

/** A domain that meets a defect in the commands of users for which `isDefect` says so. */
export const defective = (
  isDefect: (command: Parameters<typeof decideUser>[2], user: UserState | undefined) => boolean,
): Domain => ({
  ...domain,
  decideUser: (user, project, command, ...rest) => {
    if (isDefect(command, user)) throw new Error("a bug")
    return domain.decideUser(user, project, command, ...rest)
  },
})

/** Starts an engine over `storage`; starting a second one over the same state is a restart. */
export const start = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  options: Partial<EngineOptions> = {},
) {
  const scope = yield* Scope.make()
  const broken: Array<Broken> = []
  const committed: Array<JournalRecord> = []
  const engine = yield* makeEngine({
    onBroken: (cause) => broken.push(cause),
    onCommitted: (record) => committed.push(record),
    // Small, so that false positives happen too.
    idFilterBytes: 256,
    ...options,
  }).pipe(Effect.provideService(Storage, storage), Scope.provide(scope))
  const fixture: Fixture = {
    engine,
    broken,
    committed,
    close: (how) =>
      Effect.andThen(how === "kill" ? Effect.void : engine.drain, Scope.close(scope, Exit.void)),
  }
  return fixture
})

export const startInMemory = (
  memory: MemoryStorage.MemoryStorageOptions = {},
  options: Partial<EngineOptions> = {},
) => start(MemoryStorage.make(memory), options)

/** Starts an engine over `state` whose writes of entries may stall. */
export const startStalling = (
  state: MemoryStorage.MemoryState,
  disk: Stalling,
  options: Partial<EngineOptions> = {},
) => Effect.suspend(() => start(stallingWrites(MemoryStorage.make({ state }), disk), options))

let made = 0
const newId = (prefix: string) => `${prefix}_${++made}`

export const event = (
  userId: string,
  action: string,
  more: {
    readonly id?: string
    readonly occurredAt?: number
    readonly imported?: true
    readonly metadata?: object
  } = {},
) => ({
  userId,
  command: {
    kind: "event",
    action,
    ...(more as { readonly id?: string }),
  } as const,
})

export const reward = (userId: string, amount: number, id?: string) => ({
  userId,
  command: {
    kind: "reward",
    type: "xp",
    amount,
    ...(id !== undefined && { id }),
  } as const,
})

export const rule = (action: string, xp: number): ProjectCommand => ({
  kind: "createRule",
  rule: ruleWith({ id: newId("rul"), action, reward: { xp } }),
})

export const quest = (title: string, xp: number, status: "draft" | "active" = "active") => ({
  kind: "createQuest" as const,
  quest: questWith({
    id: newId("qst"),
    title,
    set: status === "active" ? "published" : status,
    reward: { xp },
  }),
})

/** The points of each user. */
export const pointsOf = Effect.fnUntraced(function* (
  { engine }: Fixture,
  userIds: ReadonlyArray<string>,
) {
  const all: Record<string, number> = {}
  for (const userId of userIds) {
    all[userId] = (yield* engine.readUser(sandbox, userId))?.points ?? 0
  }
  return all
})

export const once = (key: string, fingerprint = "same"): Idempotency => ({ key, fingerprint })

/** The records of a memory state that were not erased, as recovery would read them. */
export const recordsOf = (state: MemoryStorage.MemoryState): ReadonlyArray<JournalRecord> =>
  state.records.flatMap(({ body }) => (body.length === 0 ? [] : [decodeRecord(body)]))
