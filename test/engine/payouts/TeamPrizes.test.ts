/** Prizes of teams whose payments are late, over crashes, merges, erasures and changes of teams. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Latch, Result } from "effect"
import { TestClock } from "effect/testing"
import { decideUser } from "../../../src/domain/decide/Decide.ts"
import { overloaded } from "../../../src/engine/actor/Actor.ts"
import { domain } from "../../../src/engine/actor/Environments.ts"
import { limits } from "../../../src/Limits.ts"
import { everyKey } from "../../../src/storage/Keys.ts"
import type { Storage } from "../../../src/storage/Storage.ts"
import { collectEntries } from "../../../src/storage/Values.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { stallingReads } from "../../storage/stalling.ts"
import { type Fixture, pointsOf, recordsOf, reward, sandbox, start } from "../fixture.ts"

const quiet = { clockCheckMs: 3_600_000, snapshotIntervalMs: 600_000 }

const day = 24 * 3_600_000
const begin = Date.parse("2026-11-03T10:00:00Z")
/** While it is closed, no member of a team is found. The user `refuses` cannot be paid now. */
const payer = { isOpen: Latch.makeUnsafe(true), refuses: "" }

const decide: typeof decideUser = (user, project, command, ...rest) => {
  const isRefused = command.kind === "payment" && command.to === payer.refuses
  if (isRefused) return Result.fail(overloaded) as never
  return decideUser(user, project, command, ...rest)
}
const options = { ...quiet, domain: { ...domain, decideUser: decide } }

const storageOf = (state: MemoryStorage.MemoryState): Storage["Service"] =>
  stallingReads(MemoryStorage.make({ state }), "teamMembers", payer.isOpen)

const ask = ({ engine }: Fixture, userId: string, command: object) =>
  engine.askUser(sandbox, { userId, command } as Parameters<typeof engine.askUser>[1])
const join = (fixture: Fixture, userId: string, teamId: string) =>
  ask(fixture, userId, { kind: "join", teamId })
const leave = (fixture: Fixture, userId: string, teamId: string) =>
  ask(fixture, userId, { kind: "leave", teamId })
const merge = (fixture: Fixture, userId: string, into: string) =>
  ask(fixture, userId, { kind: "merge", into })
const score = ({ engine }: Fixture, userId: string, xp = 1) =>
  engine.askUser(sandbox, reward(userId, xp))

/** Two clubs, Ada in the Falcons and Bob in the Owls, and a board that pays every team a point a day. */
const found = Effect.fnUntraced(function* (fixture: Fixture) {
  const { engine } = fixture
  for (const teamId of ["falcons", "owls"]) {
    const team = { kind: "club", name: teamId }
    yield* engine.askProject(sandbox, { kind: "putTeam", teamId, team })
  }
  yield* engine.askProject(sandbox, {
    kind: "createLeaderboard",
    leaderboard: {
      id: "ldb_cup",
      name: "Cup",
      score: { currency: "xp" },
      entrants: "teams",
      teamKind: "club",
      windows: ["daily"],
      prizes: [{ window: "daily", percent: 100, reward: { xp: 0, points: 1, badgeId: null } }],
    },
  })
  yield* join(fixture, "ada", "falcons")
  yield* join(fixture, "bob", "owls")
})

/** The n-th day after the first one comes: clocks close windows, and payments are tried. */
const dayComes = Effect.fnUntraced(function* (n: number) {
  yield* TestClock.setTime(begin + n * day)
  for (let turn = 0; turn < 40; turn++) {
    yield* Effect.andThen(TestClock.adjust(limits.payoutPauseMs), yieldToEventLoop)
  }
})

const payAll = Effect.fnUntraced(function* ({ engine }: Fixture) {
  payer.isOpen.openUnsafe()
  for (let turn = 0; turn < 400; turn++) {
    if ((yield* engine.readProject(sandbox)).payouts.size === 0) return
    yield* Effect.andThen(TestClock.adjust(limits.payoutRetryMs), yieldToEventLoop)
  }
  throw new Error("The payouts have not ended")
})

/** The users in the stored lists of members. */
const rowsOf = (state: MemoryStorage.MemoryState) =>
  Effect.map(
    collectEntries(MemoryStorage.make({ state }), { table: "teamMembers", ...everyKey }),
    (entries) => entries.map(([key]) => Buffer.from(key).toString("latin1")),
  )

const opened = Effect.fnUntraced(function* () {
  payer.isOpen.closeUnsafe()
  payer.refuses = ""
  yield* TestClock.setTime(begin)
  const state = new MemoryStorage.MemoryState()
  const fixture = yield* start(storageOf(state), options)
  yield* found(fixture)
  return { fixture, state }
})

/** Guest and Idle join the Falcons. Guest and Ada score. */
const withGuests = Effect.gen(function* () {
  const { fixture } = yield* opened()
  for (const userId of ["guest", "idle"]) yield* join(fixture, userId, "falcons")
  for (const userId of ["guest", "ada"]) yield* score(fixture, userId)
  return fixture
})

describe("A prize of a team whose payment fails over two later windows", () => {
  for (const [how, words] of [
    [undefined, ""],
    ["kill", ", and the server is killed"],
    ["stop", ", and the server stops"],
  ] as const) {
    it.effect(`reaches each member for each window, once${words}`, () =>
      Effect.gen(function* () {
        const { fixture: first, state } = yield* opened()
        let fixture = first
        for (let n = 0; n < 4; n++) {
          yield* dayComes(n)
          yield* score(fixture, "ada")
          yield* score(fixture, "bob")
          if (how === undefined) continue
          yield* fixture.close(how === "kill" ? how : undefined)
          fixture = yield* start(storageOf(state), options)
        }
        yield* dayComes(4)
        expect((yield* fixture.engine.readProject(sandbox)).payouts.size).toBe(4)
        expect(yield* pointsOf(fixture, ["ada", "bob"])).toEqual({ ada: 0, bob: 0 })
        yield* payAll(fixture)
        expect(yield* pointsOf(fixture, ["ada", "bob"])).toEqual({ ada: 4, bob: 4 })
        expect(
          (yield* fixture.engine.readUser(sandbox, "ada"))?.boards.get("ldb_cup"),
        ).not.toHaveProperty("kept")
        yield* fixture.close()
        expect(recordsOf(state).filter(({ cause }) => cause.kind === "payment")).toHaveLength(8)
      }),
    )
  }

  it.effect("reaches the members of the team at the close, and not users who left before it", () =>
    Effect.gen(function* () {
      const { fixture, state } = yield* opened()
      yield* join(fixture, "early", "falcons")
      yield* join(fixture, "late", "falcons")
      for (const userId of ["ada", "early", "late"]) yield* score(fixture, userId)
      yield* leave(fixture, "early", "falcons")
      yield* dayComes(1)
      yield* join(fixture, "late", "owls")
      yield* score(fixture, "late")
      yield* dayComes(2)
      yield* leave(fixture, "late", "owls")
      yield* score(fixture, "late")
      yield* payAll(fixture)
      const users = ["ada", "early", "late"]
      expect(yield* pointsOf(fixture, users)).toEqual({ ada: 1, early: 0, late: 2 })
      const team = {
        kind: "club",
        number: (yield* fixture.engine.readUser(sandbox, "ada"))!.teams.get("club")!.number,
      }
      const page = yield* fixture.engine.listTeamMembers(sandbox, { team, limit: 9 })
      expect(page.members.map(({ user }) => user.id)).toEqual(["ada"])
      yield* fixture.close()
      // The stored lists of members no longer have the former member, who is paid.
      expect((yield* rowsOf(state)).filter((key) => key.includes("late"))).toEqual([])
    }),
  )

  it.effect("goes with a merge, once", () =>
    Effect.gen(function* () {
      const fixture = yield* withGuests
      yield* dayComes(1)
      // Bob is in another team, Idle has no share, and Ada has one of her own.
      yield* join(fixture, "other", "falcons")
      yield* score(fixture, "other")
      yield* dayComes(2)
      yield* merge(fixture, "guest", "bob")
      yield* merge(fixture, "other", "ada")
      yield* merge(fixture, "ada", "idle")
      yield* payAll(fixture)
      const users = ["bob", "idle"]
      // Idle has Ada's prize of the first day, and that of the second day, which was Other's.
      expect(yield* pointsOf(fixture, users)).toEqual({ bob: 1, idle: 2 })
      yield* fixture.close()
    }),
  )

  it.effect("that was paid to a user is not paid again after the user is merged into another", () =>
    Effect.gen(function* () {
      const fixture = yield* withGuests
      payer.isOpen.openUnsafe()
      payer.refuses = "ada"
      yield* dayComes(1)
      payer.refuses = ""
      yield* merge(fixture, "guest", "idle")
      yield* merge(fixture, "idle", "bob")
      yield* payAll(fixture)
      expect(yield* pointsOf(fixture, ["ada", "bob"])).toEqual({ ada: 1, bob: 1 })
      yield* fixture.close()
    }),
  )

  it.effect("leaves no row of a user who is erased", () =>
    Effect.gen(function* () {
      const { fixture, state } = yield* opened()
      yield* join(fixture, "gone", "falcons")
      yield* score(fixture, "gone")
      yield* dayComes(1)
      yield* join(fixture, "gone", "owls")
      yield* ask(fixture, "gone", { kind: "erasure" })
      yield* payAll(fixture)
      yield* fixture.close()
      expect((yield* rowsOf(state)).filter((key) => key.includes("gone"))).toEqual([])
    }),
  )
})
