/**
 * An engine with definitions: what an event costs that matches two rules, the steps of two quests
 * and two badges, beside how many others; and what a user costs in memory who has ten badges, five
 * quests and three streaks. No HTTP, no disk. Costs are of the processor, so that what else the
 * machine does counts less.
 */
import { Effect, Exit, Scope } from "effect"
import type { ProjectCommand } from "../../src/domain/decide/Project.ts"
import type { TrackedEvent } from "../../src/domain/record/Record.ts"
import type { Engine, UserMessage } from "../../src/engine/Engine.ts"
import { makeEngine } from "../../src/engine/EngineLive.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { answer } from "../children.ts"
import { forgetful } from "../forgetful.ts"
import { heapBytes } from "../heap.ts"
import { median } from "../statistics.ts"

export interface DefinitionsReport {
  readonly fewMicroseconds: number
  readonly manyMicroseconds: number
  readonly bytesPerUser: number
}

export interface Definitions {
  readonly rules: number
  readonly quests: number
  readonly badges: number
}

const environment = "prj_bench:sandbox"
const few: Definitions = { rules: 2, quests: 2, badges: 2 }
export const many: Definitions = { rules: 1_000, quests: 1_000, badges: 500 }
const eventsPerRound = 100_000
const rounds = 5
const userCount = 1_000
const together = 1_000
const richUsers = 50_000

const matching = "LESSON_DONE"
/** More than any user reaches, so that every event has the same cost as the first. */
const outOfReach = 1_000_000_000

const named = (
  prefix: string,
  count: number,
  make: (id: string, action: string) => ProjectCommand,
) =>
  Array.from({ length: count }, (_, n) => make(`${prefix}_${n}`, n < 2 ? matching : `OTHER_${n}`))

const gives = { xp: 1, points: 0, badgeId: null }

const rule = (id: string, action: string, badgeId: string | null = null): ProjectCommand => ({
  kind: "createRule",
  rule: {
    id,
    action,
    where: [],
    reward: { ...gives, badgeId },
    multiplier: null,
    limit: null,
    cooldownSeconds: null,
  },
})

const quest = (id: string, action: string): ProjectCommand => ({
  kind: "createQuest",
  quest: {
    id,
    title: `Quest ${id}`,
    description: null,
    set: "published",
    reward: gives,
    steps: [{ key: "step", action, where: [], target: outOfReach }],
    startsAt: null,
    endsAt: null,
    recurrence: "none",
    prerequisites: [],
    optIn: false,
    claim: "auto",
    metadata: {},
  },
})

const badge = (id: string, action: string | undefined): ProjectCommand => ({
  kind: "createBadge",
  badge: {
    id,
    name: `Badge ${id}`,
    description: null,
    icon: null,
    criteria:
      action === undefined
        ? { kind: "manual" }
        : { kind: "action_count", action, where: [], target: outOfReach },
    secret: false,
  },
})

const commandsOf = ({ badges, quests, rules }: Definitions): ReadonlyArray<ProjectCommand> => [
  ...named("rul", rules, rule),
  ...named("qst", quests, quest),
  ...named("bdg", badges, badge),
]

const withEngine = <A>(
  commands: ReadonlyArray<ProjectCommand>,
  use: (engine: Engine["Service"]) => Effect.Effect<A, unknown>,
): Promise<A> =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const engine = yield* makeEngine({
      decodedUsersMax: richUsers,
      onBroken: (cause) => {
        throw cause
      },
    }).pipe(Effect.provideService(Storage, forgetful()), Scope.provide(scope))
    for (const command of commands) yield* engine.askProject(environment, command)
    const used = yield* use(engine)
    yield* Scope.close(scope, Exit.void)
    return used
  }).pipe(Effect.runPromise)

const message = (userId: string): UserMessage<TrackedEvent> => ({
  userId,
  command: { kind: "event", action: matching },
})

const track = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  messages: ReadonlyArray<UserMessage<TrackedEvent>>,
) {
  for (let next = 0; next < messages.length; next += together) {
    const outcomes = yield* engine.askUsers(environment, messages.slice(next, next + together))
    for (const outcome of outcomes) if ("_tag" in outcome) return yield* Effect.die(outcome)
  }
})

/** Microseconds of processor time for an event. */
const costOf = (definitions: Definitions): Promise<number> =>
  withEngine(commandsOf(definitions), (engine) =>
    Effect.gen(function* () {
      const messages = Array.from({ length: eventsPerRound }, (_, n) =>
        message(`user_${n % userCount}`),
      )
      yield* track(engine, messages)
      globalThis.gc!()
      const before = process.cpuUsage()
      yield* track(engine, messages)
      const { system, user } = process.cpuUsage(before)
      return (system + user) / eventsPerRound
    }),
  )

const freezes = { initial: 1, max: 2, everyDays: 7 }

const richCommands: ReadonlyArray<ProjectCommand> = [
  ...Array.from({ length: 10 }, (_, n) => badge(`bdg_${n}`, undefined)),
  ...Array.from({ length: 10 }, (_, n) => rule(`rul_${n}`, matching, `bdg_${n}`)),
  ...Array.from({ length: 5 }, (_, n) => quest(`qst_${n}`, matching)),
  ...["daily", "lessons", "weekend"].map(
    (key): ProjectCommand => ({
      kind: "createStreak",
      streak: {
        id: `stk_${key}`,
        key,
        name: key,
        every: "day",
        needs: [],
        match: "all",
        restDays: [],
        freezes,
        milestones: [],
        atRisk: null,
        pauses: [],
        repair: null,
      },
    }),
  ),
]

/** Bytes that one more user takes who has ten badges, five quests begun and three streaks. */
const memory = (): Promise<number> =>
  withEngine(richCommands, (engine) =>
    Effect.gen(function* () {
      const before = heapBytes()
      const messages = Array.from({ length: richUsers }, (_, n) => message(`user_${n}`))
      yield* track(engine, messages)
      messages.length = 0
      const user = yield* engine.readUser(environment, "user_0")
      if (user?.badges.size !== 10 || user.quests.size !== 5 || user.streaks.size !== 3) {
        return yield* Effect.die("The user does not have what is to be measured")
      }
      // With the last snapshot nothing is kept for a next one.
      yield* engine.drain
      return (heapBytes() - before) / richUsers
    }),
  )

await answer(async (): Promise<DefinitionsReport> => {
  const measured: Array<{ readonly few: number; readonly many: number }> = []
  // The first round only warms up.
  for (let round = 0; round <= rounds; round++) {
    const costs = { few: await costOf(few), many: await costOf(many) }
    if (round > 0) measured.push(costs)
  }
  return {
    fewMicroseconds: median(measured.map((costs) => costs.few)),
    manyMicroseconds: median(measured.map((costs) => costs.many)),
    bytesPerUser: await memory(),
  }
})
