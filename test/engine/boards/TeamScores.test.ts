import { describe, expect, it } from "@effect/vitest"
import { Effect, Latch } from "effect"
import { TestClock } from "effect/testing"
import type { ProjectCommand } from "../../../src/domain/decide/Project.ts"
import type { Storage } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, type Fixture, rule, sandbox, start } from "../fixture.ts"

const minute = 60_000

const turns = Effect.gen(function* () {
  for (let turn = 0; turn < 20; turn++) {
    yield* Effect.andThen(TestClock.adjust(1), yieldToEventLoop)
  }
})

const options = {
  snapshotIntervalMs: 10 * minute,
  snapshotSliceEntriesMax: 1,
  clockCheckMs: minute,
}

const disqualify = (disqualified: boolean): ProjectCommand => ({
  kind: "disqualifyTeam",
  teamId: "t1",
  leaderboard: "ldb_clubs",
  disqualified,
})

/**
 * The leaderboard of teams `clubs` with 6 of `t1` and 3 of `t2`, in a server whose snapshot is cut off in its middle:
 * before the states are written, `meanwhile` happens, and the last `left` transactions do not reach the disk.
 */
const afterCutSnapshot = Effect.fnUntraced(function* (
  left: number,
  meanwhile: (engine: Fixture["engine"]) => Effect.Effect<unknown, unknown>,
) {
  yield* TestClock.setTime(Date.parse("2026-11-04T10:00:00Z"))
  const state = new MemoryStorage.MemoryState()
  const memory = MemoryStorage.make({ state })
  const disk = { writes: Number.NEGATIVE_INFINITY, begun: Latch.makeUnsafe(false) }
  const goesOn = Latch.makeUnsafe(false)
  const writeEntries: Storage["Service"]["writeEntries"] = (entries) =>
    Effect.suspend(() => {
      const write = memory.writeEntries(entries)
      if (disk.writes++ < 0) return write
      if (disk.writes === 1) {
        disk.begun.openUnsafe()
        return Effect.andThen(goesOn.await, write)
      }
      return disk.writes <= left ? write : Effect.never
    })
  const { close, engine } = yield* start({ ...memory, writeEntries }, options)
  const ask = (command: ProjectCommand) => engine.askProject(sandbox, command)
  yield* ask(rule("TAP", 3))
  for (const teamId of ["t1", "t2"]) {
    yield* ask({ kind: "putTeam", teamId, team: { kind: "club", name: teamId } })
  }
  yield* ask({
    kind: "createLeaderboard",
    leaderboard: {
      id: "ldb_clubs",
      name: "Clubs",
      score: { currency: "xp" },
      entrants: "teams",
      teamKind: "club",
    },
  })
  for (const [userId, teamId] of [
    ["ada", "t1"],
    ["bob", "t2"],
    ["cyd", "t1"],
  ] as const) {
    yield* engine.askUser(sandbox, { userId, command: { kind: "join", teamId } })
    yield* engine.askUser(sandbox, event(userId, "TAP"))
  }
  // The states of users are written over a part of the interval.
  yield* TestClock.adjust(3 * options.snapshotIntervalMs)
  yield* turns
  // A snapshot stores the job of an erasure first.
  yield* engine.askUser(sandbox, { userId: "cyd", command: { kind: "erasure" } })
  yield* ask({ kind: "putTeam", teamId: "t2", team: { name: "The second" } })
  disk.writes = 0
  yield* TestClock.adjust(options.snapshotIntervalMs)
  yield* disk.begun.await
  yield* meanwhile(engine)
  goesOn.openUnsafe()
  yield* turns
  yield* TestClock.adjust(options.snapshotIntervalMs)
  yield* turns
  expect(disk.writes).toBe(left + 1)
  yield* close("kill")
  return yield* start(MemoryStorage.make({ state }), options)
})

const rowsOf = (engine: Fixture["engine"]) =>
  Effect.map(
    engine.readTeamBoard(sandbox, { board: "ldb_clubs", limit: 9, offset: 0 }),
    ({ entries }) => entries.map(({ rank, score, team }) => [rank, team.id, score]),
  )

describe("The leaderboard of teams after a snapshot that was cut off", () => {
  it.effect.each([1, 2])("lacks a team that is disqualified, with %d writes", (left) =>
    Effect.gen(function* () {
      const { engine } = yield* afterCutSnapshot(left, ({ askProject, askUser }) =>
        Effect.gen(function* () {
          yield* askProject(sandbox, disqualify(true))
          yield* askProject(sandbox, disqualify(false))
          yield* askUser(sandbox, event("ada", "TAP"))
          yield* askProject(sandbox, disqualify(true))
        }),
      )
      expect(yield* rowsOf(engine)).toEqual([[1, "t2", 3]])
    }),
  )
})
