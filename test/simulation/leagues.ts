/**
 * One seeded run of a league against a naive model: days pass, clocks change, and the project moves between zones, with late events, undo, hidden, erased
 * and merged users, while the power fails at any write, also in the middle of a close, and users are merged meanwhile. The model
 * follows the journal, so it needs no answers: a record that says too much, too little or something
 * twice does not fit.
 */
import { expect } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { decideUser } from "../../src/domain/decide/Decide.ts"
import type { Gives } from "../../src/domain/project/Definition.ts"
import type { UserCommand } from "../../src/domain/record/Record.ts"
import { recordNameOf } from "../../src/domain/values/Ids.ts"
import { domain } from "../../src/engine/actor/Environments.ts"
import { limits } from "../../src/Limits.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { leagueWith } from "../domain/definitions.ts"
import { recordsOf, rule, sandbox, start } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { localDay } from "./BoardModel.ts"
import { beginnings, zones } from "./boards.ts"
import { dyingDisk } from "./dyingDisk.ts"
import { LeagueModel } from "./LeagueModel.ts"
import { hashSecretOf, Random } from "./random.ts"

const minute = 60_000
const day = 1_440 * minute

const points = (points: number): Gives => ({ xp: 0, points, badgeId: null })

/** How much has happened in all runs. */
export const happened = {
  promoted: 0,
  stayed: 0,
  demoted: 0,
  waited: 0,
  united: 0,
  windows: 0,
  points: 0,
  moves: 0,
  disqualified: 0,
  reminded: 0,
  remindedLate: 0,
  promotionAhead: 0,
  demotionAhead: 0,
  /** Starts that found a closed window which was not settled for all. */
  resumed: 0,
  /** Merges, and ends of merges, between the close of a window and its last outcome. */
  raced: 0,
}

/** How much has happened in the runs with users who refuse. */
export const happenedLate = { closedWithout: 0, late: 0, missed: 0 }

/** `refuses`: defects keep some users from being settled. */
export const simulateLeagues = Effect.fnUntraced(function* (
  seed: number,
  steps: number,
  refuses = false,
) {
  const random = new Random(seed)
  const state = new MemoryStorage.MemoryState()
  const league = leagueWith({
    score: random.chance(0.5) ? { currency: "xp" } : { metric: "taps" },
    cohortSize: random.integer(2, 4),
    graceMinutes: random.pick([0, 0, 90]),
    rewards: [
      { division: null, ranks: [1, 1], outcome: null, reward: points(100) },
      { division: "bronze", ranks: [2, 3], outcome: null, reward: points(10) },
      { division: null, ranks: null, outcome: "promoted", reward: points(1) },
    ],
  })
  const model = new LeagueModel(league)
  /** No command of these users that settles a window, or needs it, is decided. */
  const refusing = new Set<string>()
  const defective: typeof decideUser = (user, project, ...rest) => {
    const entry = user?.leagues.get(league.id)?.entry
    const isOver =
      entry != null &&
      entry.window <= (project.leagueCloses.get(league.id)?.index ?? entry.window - 1)
    if (isOver && refusing.has(user!.id)) throw new Error("a bug")
    return decideUser(user, project, ...rest)
  }
  const disk = {
    appendsLeft: Number.POSITIVE_INFINITY,
    lastAppendKept: false,
    writesLeft: Number.POSITIVE_INFINITY,
  }
  yield* TestClock.setTime(Date.parse(random.pick(beginnings)))
  const open = Effect.suspend(() => {
    disk.appendsLeft = Number.POSITIVE_INFINITY
    disk.writesLeft = Number.POSITIVE_INFINITY
    return start(dyingDisk(MemoryStorage.make({ state }), disk), {
      decodedUsersMax: 4,
      newHashSecret: hashSecretOf(seed),
      durability: "fsync",
      snapshotIntervalMs: 300 * minute,
      snapshotSliceEntriesMax: 3,
      clockCheckMs: 10 * minute,
      domain: { ...domain, decideUser: defective },
      // The model follows each record before it is deleted.
      erasureGatherMs: 1_000 * day,
    })
  })
  let running = yield* open
  yield* running.engine.askProject(sandbox, rule("TAP", 3))
  yield* running.engine.askProject(sandbox, {
    kind: "createMetric",
    metric: {
      id: "mtr_1",
      key: "taps",
      name: "Taps",
      aggregate: "count",
      actions: ["TAP"],
      where: [],
      value: null,
      decimals: 0,
      unit: null,
    },
  })
  const { createdAt: _, set: __, updatedAt: ___, version: ____, ...given } = league
  yield* running.engine.askProject(sandbox, { kind: "createLeague", league: given })
  const users = Array.from({ length: 12 }, (_, index) => `u${index}`)
  const undoable: Array<readonly [userId: string, eventId: string]> = []

  let followed = 0
  const follow = () => {
    for (const record of recordsOf(state)) {
      if (record.sequence <= followed) continue
      followed = record.sequence
      const { kind } = record.cause
      if (model.due.size > 0 && (kind === "merge" || kind === "mergeEnd")) happened.raced++
      model.follow(record)
    }
  }

  const choose = (now: number): { readonly userId: string; readonly command: UserCommand } => {
    const userId = random.pick(users)
    const kind = random.next()
    if (kind < 0.2) {
      const amount = random.integer(1, 4)
      return { userId, command: { kind: "reward", type: "xp", amount } }
    }
    if (kind < 0.75) {
      const late = random.chance(0.3) ? random.integer(0, 2 * day) : 0
      return { userId, command: { kind: "event", action: "TAP", occurredAt: now - late } }
    }
    if (kind < 0.82) {
      const chosen = undoable.splice(random.integer(0, undoable.length - 1), 1)[0]
      if (chosen !== undefined) {
        const { at, sequence } = recordNameOf("evt", chosen[1])!
        return { userId: chosen[0], command: { kind: "revocation", of: "event", sequence, at } }
      }
    }
    if (kind < 0.86) {
      const disqualified = random.chance(0.5)
      return { userId, command: { kind: "disqualifyInLeague", league: league.key, disqualified } }
    }
    if (kind < 0.9) {
      const change = random.pick([
        { hidden: random.chance(0.4) },
        { timezone: random.pick([...zones, null]) },
        { attributes: { quiet: random.chance(0.3) } },
      ])
      return { userId, command: { kind: "profile", change } }
    }
    if (kind < 0.96) return { userId, command: { kind: "merge", into: random.pick(users) } }
    return { userId, command: { kind: "erasure" } }
  }

  /** Lets time pass meanwhile if a defect may have crashed the actor, which restarts after a pause. */
  const passing = Effect.fnUntraced(function* <A>(work: Effect.Effect<A>) {
    if (refusing.size === 0) return yield* work
    const fiber = yield* Effect.forkChild(work)
    for (let turn = 0; fiber.pollUnsafe() === undefined; turn++) {
      yield* yieldToEventLoop
      if (turn > 20) yield* TestClock.adjust(1_000)
    }
    return yield* Fiber.join(fiber)
  })

  /** Asks without a look at the answer: the journal has what came of it. */
  const ask = Effect.gen(function* () {
    const asked = choose(yield* Clock.currentTimeMillis)
    const reply = yield* passing(
      Effect.match(running.engine.askUser(sandbox, asked as never), {
        onSuccess: (answer) => (answer as { readonly reply: { readonly eventId?: string } }).reply,
        onFailure: () => undefined,
      }),
    )
    if (asked.command.kind === "event" && reply?.eventId !== undefined) {
      undoable.push([asked.userId, reply.eventId])
    }
  })

  /** Ends when nobody waits for the outcome of a closed window. */
  const quiet = Effect.gen(function* () {
    for (let turn = 0; ; turn++) {
      yield* Effect.andThen(TestClock.adjust(1), yieldToEventLoop)
      follow()
      const over = model.closedThrough < dueThrough(yield* Clock.currentTimeMillis)
      const now = yield* Clock.currentTimeMillis
      const waits = [...model.players.values()].some(
        (player) => !player.isMerging && model.isRemindable(player, now),
      )
      const isSettled = [...model.due.keys()].every(
        (userId) =>
          refusing.has(userId) || (refusing.size > 0 && model.players.get(userId)?.isMerging),
      )
      if (isSettled && !over && !waits) break
      if (turn > 100) yield* TestClock.adjust(limits.leagueRetryMs)
      expect(turn).toBeLessThan(1_000)
    }
    model.refusing.clear()
    for (const userId of refusing) model.refusing.add(userId)
  })

  /** The newest window with players that must be closed by now. */
  const dueThrough = (now: number): number => {
    const windows = [...model.players.values()].flatMap(({ entry }) =>
      entry !== undefined && model.closesAt(entry.window) <= now ? [entry.window] : [],
    )
    return Math.max(Number.NEGATIVE_INFINITY, ...windows)
  }

  /** A time at which a user is to be reminded next, or now. */
  const reminderAt = (now: number): number => {
    const times = [...model.players.values()]
      .flatMap((player) => model.remindersOf(player))
      .filter((at) => at > now)
    return times.length === 0 ? now : random.pick(times)
  }

  /** The power fails at one of the next writes; then the server starts again. */
  const crash = Effect.gen(function* () {
    disk.lastAppendKept = random.chance(0.5)
    if (random.chance(0.7)) disk.appendsLeft = random.integer(0, 6)
    else disk.writesLeft = random.integer(0, 15)
    // Over the next midnight and grace, so that the power fails while a window closes.
    const now = yield* Clock.currentTimeMillis
    const end = model.closesAt(localDay(model.zone, now))
    const kind = random.next()
    yield* TestClock.adjust(
      kind < 0.4 ? end - now : kind < 0.7 ? reminderAt(now) - now : random.integer(1, 600) * minute,
    )
    for (let turn = random.integer(0, 12); turn > 0; turn--) yield* yieldToEventLoop
    yield* running.close("kill")
    follow()
    if (model.due.size > 0) happened.resumed++
    if (random.chance(0.3)) yield* TestClock.adjust(random.integer(1, 240) * minute)
    running = yield* open
    // Before the background goes on, or meanwhile.
    for (let asks = random.integer(0, 3); asks > 0; asks--) yield* ask
  })

  /**
   * Users are merged while a window closes: some merges begin before the close, the others between it and
   * the outcomes. The power may fail meanwhile.
   */
  const race = Effect.gen(function* () {
    const merge = Effect.suspend(() => {
      const command = { kind: "merge", into: random.pick(users) } as const
      const asked = running.engine.askUser(sandbox, { userId: random.pick(users), command })
      return Effect.forkChild(Effect.ignore(asked), { startImmediately: true })
    })
    const now = yield* Clock.currentTimeMillis
    yield* TestClock.adjust(Math.max(0, model.closesAt(localDay(model.zone, now)) - now - 1))
    const dies = random.chance(0.5)
    disk.lastAppendKept = random.chance(0.5)
    if (dies) disk.appendsLeft = random.integer(0, 12)
    if (random.chance(0.5)) yield* merge
    yield* TestClock.adjust(1)
    for (let merges = random.integer(1, 3); merges > 0; merges--) {
      for (let turn = random.integer(0, 8); turn > 0; turn--) yield* yieldToEventLoop
      yield* merge
    }
    if (!dies) return
    for (let turn = random.integer(0, 12); turn > 0; turn--) yield* yieldToEventLoop
    yield* running.close("kill")
    follow()
    if (model.due.size > 0) happened.resumed++
    running = yield* open
  })

  for (let step = 0; step < steps; step++) {
    const kind = random.next()
    if (refuses && random.chance(0.06)) {
      const userId = random.pick(users)
      refusing.add(userId)
      model.refusing.add(userId)
    } else if (refuses && random.chance(0.04)) refusing.clear()
    if (kind < 0.68) yield* ask
    else if (kind < 0.72) yield* race
    else if (kind < 0.75) {
      const timezone = random.pick(zones)
      yield* running.engine.askProject(sandbox, { kind: "updateSettings", change: { timezone } })
    } else if (kind < 0.79) {
      const hour = random.pick([0, 2, 10, 19, 23])
      const unless = random.pick([null, "quiet"])
      const leagueDays = random.pick([1, 1, 2])
      const reminders = random.chance(0.9) ? { hour, inactiveDays: [], unless, leagueDays } : null
      yield* running.engine.askProject(sandbox, { kind: "updateSettings", change: { reminders } })
    } else if (kind < 0.83) {
      const now = yield* Clock.currentTimeMillis
      yield* TestClock.adjust(reminderAt(now) - now)
    } else if (kind < 0.87) yield* TestClock.adjust(random.integer(1, 600) * minute)
    else if (kind < 0.97) yield* crash
    else {
      yield* running.close()
      running = yield* open
    }
    yield* quiet
    for (const [userId, player] of model.players) {
      const user =
        running.engine.projectNow(sandbox) && (yield* running.engine.readUser(sandbox, userId))
      const now = user?.leagues.get(league.id)
      expect([userId, now?.division ?? 0]).toEqual([userId, player.division])
      expect([userId, user?.points ?? 0]).toEqual([userId, player.points])
      expect([userId, now?.entry?.score]).toEqual([userId, player.entry?.score])
      expect(now?.results.length ?? 0).toBe(
        Math.min(limits.leagueResultsKept, player.results.length),
      )
    }
  }
  expect(running.broken).toEqual([])
  yield* running.close()
  for (const key of Object.keys(model.seen) as ReadonlyArray<keyof typeof model.seen>) {
    happened[key] += model.seen[key]
  }
  for (const key of Object.keys(model.late) as ReadonlyArray<keyof typeof model.late>) {
    happenedLate[key] += model.late[key]
  }
})
