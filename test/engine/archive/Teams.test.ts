/** Teams, their members and their scores after crashes, and in checks, exports and imports. */
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { verifyLive } from "../../../src/engine/archive/check/Verification.ts"
import { makeWorkerHost, type WorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { limits } from "../../../src/Limits.ts"
import { everyKey } from "../../../src/storage/Keys.ts"
import { openLmdbStore } from "../../../src/storage/lmdb/LmdbStore.ts"
import { collectEntries } from "../../../src/storage/Values.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { event, rule, sandbox } from "../fixture.ts"
import { exportScopes, imported, readIn, restored, shop } from "./copies.ts"
import { alone, eraseFrom, found, running } from "./fixture.ts"

const teams = 3 * limits.teamChunkMax
const users = ["ada", "bob", "cyd", "dan", "eve"]

const put = (engine: Engine["Service"], teamId: string) =>
  engine.askProject(sandbox, {
    kind: "putTeam",
    teamId,
    team: { kind: "club", name: `Team ${teamId}` },
  })
const join = (engine: Engine["Service"], userId: string, teamId: string) =>
  engine.askUser(sandbox, { userId, command: { kind: "join", teamId } })

const seen = Effect.fnUntraced(function* (engine: Engine["Service"]) {
  const { teams } = yield* engine.readProject(sandbox)
  const members: Record<string, ReadonlyArray<string>> = {}
  for (const { teams: some } of teams.chunks) {
    for (const team of some) {
      const page = yield* engine.listTeamMembers(sandbox, { team, limit: 9 })
      if (page.members.length > 0) members[team.id] = page.members.map(({ user }) => user.id)
    }
  }
  const board = { board: "ldb_cup", limit: 100, offset: 0 }
  const scores = yield* Effect.forEach(["all_time", "daily"] as const, (window) =>
    Effect.map(engine.readTeamBoard(sandbox, { ...board, window }), ({ entries }) =>
      entries.map(({ rank, score, team }) => [rank, team.id, score]),
    ),
  )
  return { teams, members, scores }
})

const earn = (engine: Engine["Service"], userId: string) =>
  engine.askUser(sandbox, event(userId, "LESSON"))

/**
 * A directory with several chunks of teams in the snapshot, and changes of all kinds after it. `then`: the
 * scores after some records.
 */
const written = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const { archives, close, engine } = yield* running({ directory, host })
  yield* found(engine)
  for (let n = 0; n < teams; n++) yield* put(engine, `t${n}`)
  yield* engine.askProject(sandbox, rule("LESSON", 3))
  const leaderboard = { id: "ldb_cup", name: "Cup", score: { currency: "xp" } } as const
  const ofTeams = { ...leaderboard, entrants: "teams", teamKind: "club" } as const
  yield* engine.askProject(sandbox, { kind: "createLeaderboard", leaderboard: ofTeams })
  for (const userId of users) {
    yield* join(engine, userId, "t7")
    yield* earn(engine, userId)
  }
  yield* join(engine, "dan", "t101")
  yield* earn(engine, "dan")
  yield* join(engine, "bob", "t8")
  yield* archives.create({ reason: "request" })
  // A whole chunk goes, and one splits.
  for (let n = 100; n < 180; n++) {
    yield* engine.askProject(sandbox, { kind: "deleteTeam", teamId: `t${n}` })
  }
  for (let n = 0; n < 40; n++) yield* put(engine, `t5-${n}`)
  const then = new Map<number, unknown>()
  const note = Effect.map(seen(engine), ({ scores }) => {
    then.set(archives.position().lastSequence, scores)
  })
  yield* join(engine, "cyd", "t5-3")
  yield* Effect.andThen(earn(engine, "cyd"), note)
  yield* Effect.andThen(earn(engine, "eve"), note)
  yield* Effect.andThen(join(engine, "dan", "t7"), note)
  yield* engine.askUser(sandbox, { userId: "dan", command: { kind: "leave", teamId: "t7" } })
  yield* engine.askUser(sandbox, { userId: "eve", command: { kind: "erasure" } })
  // A record that no erasure takes away.
  yield* put(engine, "last")
  const reads = yield* seen(engine)
  expect(reads.members).toEqual({ t7: ["ada"], t8: ["bob"], "t5-3": ["cyd"] })
  const rows = [
    [1, "t7", 18],
    [2, "t5-3", 3],
  ]
  expect(reads.scores).toEqual([rows, rows])
  yield* close("kill")
  return { directory, host, reads, then }
})

const scoresIn = (directory: string, host: WorkerHost) =>
  Effect.map(readIn(directory, host, seen), ({ scores }) => scores)

describe("A data directory with teams", () => {
  it.live("is the same after a crash, a snapshot and a start", () =>
    Effect.gen(function* () {
      const { directory, host, reads } = yield* written
      const check = Effect.scoped(verifyLive({ directory }, alone))
      expect(yield* check).toMatchObject({ faults: [] })
      for (const how of [undefined, undefined]) {
        const { close, engine } = yield* running({ directory, host })
        expect(yield* seen(engine)).toEqual(reads)
        yield* put(engine, "late")
        yield* engine.askProject(sandbox, { kind: "deleteTeam", teamId: "late" })
        reads.teams = (yield* engine.readProject(sandbox)).teams
        yield* close(how)
        expect(yield* check).toMatchObject({ faults: [] })
      }
    }),
  )

  it.live("is the same after an export and an import", () =>
    Effect.gen(function* () {
      const { directory, host, reads } = yield* written
      for (const scope of exportScopes) {
        const copy = yield* imported(directory, scope)
        const { close, engine } = yield* running({ directory: copy, host })
        expect(yield* seen(engine)).toEqual(reads)
        yield* close()
      }
    }),
  )

  it.live("is found damaged without the row of a member", () =>
    Effect.gen(function* () {
      const { directory, host } = yield* written
      const { close } = yield* running({ directory, host })
      yield* close()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const store = yield* openLmdbStore({ folder: path.join(directory, "live") })
          const rows = yield* collectEntries(store, { table: "teamMembers", ...everyKey })
          expect(rows).toHaveLength(3)
          yield* store.writeEntries([{ table: "teamMembers", key: rows[0]![0], value: null }])
        }),
      )
      const { faults } = yield* Effect.scoped(verifyLive({ directory }, alone))
      expect(faults).toEqual([expect.stringContaining("of table teamMembers is missing")])
    }),
  )
})

describe("Leaderboards of teams whose members left the journal after an archive", () => {
  const erasedFrom = Effect.gen(function* () {
    const all = yield* written
    yield* eraseFrom(all.directory, "bob", "cyd", "dan", "eve")
    return all
  })

  it.live("have the scores of the moment to which the archive is restored", () =>
    Effect.gen(function* () {
      const { directory, host, reads, then } = yield* erasedFrom
      const last = yield* restored(directory, { kind: "last" })
      expect(yield* scoresIn(last, host)).toEqual(reads.scores)
      for (const [sequence, scores] of then) {
        for (const project of [undefined, shop]) {
          const copy = yield* restored(directory, { kind: "sequence", sequence }, project)
          expect([sequence, yield* scoresIn(copy, host)]).toEqual([sequence, scores])
        }
      }
    }),
  )

  it.live("have the same scores after a start, and in an export and its import", () =>
    Effect.gen(function* () {
      const { directory, host, reads } = yield* erasedFrom
      for (const scope of exportScopes) {
        const copy = yield* imported(directory, scope)
        expect(yield* scoresIn(copy, host)).toEqual(reads.scores)
      }
      for (let start = 0; start < 2; start++) {
        expect(yield* scoresIn(directory, host)).toEqual(reads.scores)
      }
    }),
  )
})
