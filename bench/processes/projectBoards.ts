/**
 * Engines with further leaderboards of one currency: what an event costs that scores on three of
 * them beside one, what a row of a window takes in memory, and what a page costs on each of many. No
 * HTTP, no disk. Costs are of the processor.
 */
import { Effect, Exit, Scope } from "effect"
import { Leaderboard } from "../../src/domain/board/Leaderboard.ts"
import { Members } from "../../src/domain/board/Members.ts"
import type { ProjectCommand } from "../../src/domain/decide/Project.ts"
import type { Engine } from "../../src/engine/Engine.ts"
import { makeEngine } from "../../src/engine/EngineLive.ts"
import { Names } from "../../src/engine/records/Names.ts"
import { encodeUser } from "../../src/engine/records/UserCodec.ts"
import { limits } from "../../src/Limits.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { answer } from "../children.ts"
import { forgetful } from "../forgetful.ts"
import { heapBytes } from "../heap.ts"
import { median } from "../statistics.ts"

export interface ProjectBoardsOptions {
  readonly users: number
  readonly events: number
  readonly rounds: number
}

export interface ProjectBoardsReport {
  /** Of an event, by the number of boards. */
  readonly oneUs: number
  readonly threeUs: number
  /** Of a user on one window of one board, what the user's state has of it included. */
  readonly bytesPerRow: number
  /** Of a read on one of 100 boards. */
  readonly pageUs: number
  readonly aroundUs: number
}

const environment = "prj_bench:sandbox"
const action = "LESSON_DONE"
const together = 1_000
const windowsOfBoard = 4
const pageLength = 100

/** Boards spread over the fewest currencies that the limit of boards per currency allows. An event credits each currency. */
const commandsOf = (boards: number): ReadonlyArray<ProjectCommand> => {
  const currencies = Array.from(
    { length: Math.max(1, Math.ceil(boards / limits.boardsOfCurrencyMax)) },
    (_, n) => `c${n}`,
  )
  return [
    ...currencies.map(
      (key): ProjectCommand => ({
        kind: "createCurrency",
        currency: { id: `cur_${key}`, key, name: key },
      }),
    ),
    {
      kind: "createRule",
      rule: {
        id: "rul_lesson",
        action,
        where: [],
        reward: {
          xp: 0,
          points: 0,
          currencies: Object.fromEntries(currencies.map((key) => [key, 10])),
          badgeId: null,
        },
        multiplier: null,
        limit: null,
        cooldownSeconds: null,
      },
    },
    ...Array.from(
      { length: boards },
      (_, n): ProjectCommand => ({
        kind: "createLeaderboard",
        leaderboard: {
          id: boardOf(n),
          name: `Board ${n}`,
          score: { currency: currencies[n % currencies.length]! },
        },
      }),
    ),
  ]
}

const boardOf = (n: number): string => `ldb_${n}`

const withEngine = <A>(
  decodedUsersMax: number,
  boards: number,
  use: (engine: Engine["Service"]) => Effect.Effect<A, unknown>,
): Promise<A> =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const engine = yield* makeEngine({
      decodedUsersMax,
      onBroken: (cause) => {
        throw cause
      },
    }).pipe(Effect.provideService(Storage, forgetful()), Scope.provide(scope))
    for (const command of commandsOf(boards)) yield* engine.askProject(environment, command)
    const used = yield* use(engine)
    yield* Scope.close(scope, Exit.void)
    return used
  }).pipe(Effect.runPromise)

/** Coprime to the numbers of users, so that all come, in an order that is not that of their ids. */
const step = 7_919

/** Events of the users in turn; at the end, some have one more than others. */
const track = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  events: number,
  users: number,
) {
  for (let next = 0; next < events; next += together) {
    const messages = Array.from({ length: Math.min(together, events - next) }, (_, n) => ({
      userId: `user_${((next + n) * step) % users}`,
      command: { kind: "event", action } as const,
    }))
    const outcomes = yield* engine.askUsers(environment, messages)
    for (const outcome of outcomes) if ("_tag" in outcome) return yield* Effect.die(outcome)
  }
})

/** Microseconds of processor time of each of `count` uses. */
const costOf = Effect.fnUntraced(function* (count: number, use: Effect.Effect<unknown, unknown>) {
  globalThis.gc!()
  const before = process.cpuUsage()
  yield* use
  const { system, user } = process.cpuUsage(before)
  return (system + user) / count
})

const eventCost = (options: ProjectBoardsOptions, boards: number): Promise<number> =>
  withEngine(options.users, boards, (engine) => {
    const { events, users } = options
    // First all users get their rows.
    return Effect.andThen(
      track(engine, Math.max(events, users), users),
      costOf(events, track(engine, events, users)),
    )
  })

/** Bytes of a row on a board in memory, whose members share the names of users. */
const rowBytes = (users: number): number => {
  const members = new Members()
  for (let n = 0; n < users; n++) members.admit(`user_${n}`)
  const before = heapBytes()
  const boards = Array.from({ length: windowsOfBoard }, () => new Leaderboard(members))
  // Half of the users have two events.
  for (let event = 0; event < users * 1.5; event++) {
    const score = event < users ? 10 : 20
    for (const board of boards) board.set((event * step) % users, score, event)
  }
  for (const board of boards) board.settle()
  const bytes = (heapBytes() - before) / (users * windowsOfBoard)
  if (boards.some(({ total }) => total !== users)) throw new Error("A board lacks users")
  return bytes
}

/** Bytes of the state of a user who has two events. */
const stateBytes = (options: ProjectBoardsOptions, boards: number): Promise<number> =>
  withEngine(options.users, boards, (engine) =>
    Effect.gen(function* () {
      yield* track(engine, 2 * together, together)
      const user = yield* engine.readUser(environment, "user_1")
      return encodeUser(user!, 0, new Names()).length
    }),
  )

const readCosts = (options: ProjectBoardsOptions) =>
  withEngine(options.users, limits.boardsMax - 1, (engine) =>
    Effect.gen(function* () {
      const { users } = options
      yield* track(engine, users, users)
      const reads = 20 * (limits.boardsMax - 1)
      const readAll = (aroundUser: boolean) =>
        Effect.gen(function* () {
          for (let n = 0; n < reads; n++) {
            const at = Math.floor((users * (n % 97)) / 97)
            const place = aroundUser ? { offset: 0, around: `user_${at}` } : { offset: at }
            const board = boardOf(n % (limits.boardsMax - 1))
            yield* engine.readBoard(environment, { board, limit: pageLength, ...place })
          }
        })
      yield* readAll(false)
      return {
        pageUs: yield* costOf(reads, readAll(false)),
        aroundUs: yield* costOf(reads, readAll(true)),
      }
    }),
  )

const boardsOfState = 10

await answer(async (options: ProjectBoardsOptions): Promise<ProjectBoardsReport> => {
  const measured: Array<{ readonly one: number; readonly three: number }> = []
  // The first round only warms up.
  for (let round = 0; round <= options.rounds; round++) {
    const costs = { one: await eventCost(options, 1), three: await eventCost(options, 3) }
    if (round > 0) measured.push(costs)
  }
  const states = [await stateBytes(options, 0), await stateBytes(options, boardsOfState)] as const
  const ofState = (states[1] - states[0]) / (boardsOfState * windowsOfBoard)
  return {
    oneUs: median(measured.map(({ one }) => one)),
    threeUs: median(measured.map(({ three }) => three)),
    bytesPerRow: rowBytes(10 * options.users) + ofState,
    ...(await readCosts(options)),
  }
})
