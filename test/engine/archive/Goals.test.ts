/** Shared goals after crashes, and in checks, restores, exports and imports. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeWorkerHost, type WorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { goalWith } from "../../domain/definitions.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { reward, sandbox } from "../fixture.ts"
import { exportScopes, imported, readIn, restored, shop } from "./copies.ts"
import { eraseFrom, found, running } from "./fixture.ts"

const users = ["ada", "bob", "cyd", "dan"]
const goals = ["gol_1", "gol_2"]

const earn = (engine: Engine["Service"], userId: string, xp: number, id?: string) =>
  engine.askUser(sandbox, reward(userId, xp, id))

/** The totals, the sums of the last days, and the contribution and payment of each user. */
const seen = Effect.fnUntraced(function* (engine: Engine["Service"]) {
  const parts: Record<string, unknown> = {}
  for (const userId of users) {
    const user = yield* engine.readUser(sandbox, userId)
    if (user?.id === userId) parts[userId] = [user.points, [...user.goals]]
  }
  const totals = engine.goalTotals(sandbox)
  const today = Math.floor(Date.now() / 86_400_000)
  // The run may pass midnight.
  const byDay = (id: string) =>
    [today - 2, today - 1, today].reduce((sum, day) => sum + totals.days.amountOn(id, day), 0)
  return { totals: goals.map((id) => [...totals.durableTotals(id), byDay(id)]), parts }
})

type Seen = Effect.Success<ReturnType<typeof seen>>

/** Until the reward of the first goal is paid to all. */
const paid = Effect.fnUntraced(function* (engine: Engine["Service"]) {
  while (engine.goalTotals(sandbox).durableOf("gol_1", 0)?.rewarded == null) {
    yield* Effect.sleep(1)
  }
})

/**
 * A directory with an archive, and contributions, moves, an undo, a merge, a completion with its
 * rewards and an erasure after it. `then`: what was seen after some records.
 */
const written = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const { archives, close, engine } = yield* running({ directory, host })
  const then = new Map<number, Seen>()
  const note = Effect.map(seen(engine), (reads) => {
    then.set(archives.position().lastSequence, reads)
  })
  yield* found(engine)
  for (const more of [{ id: "gol_1" }, { id: "gol_2", scope: "team", teamKind: "club" }] as const) {
    const { createdAt: _, set: __, updatedAt: ___, version: ____, ...goal } = goalWith(more)
    yield* engine.askProject(sandbox, { kind: "createGoal", goal })
  }
  for (const teamId of ["a", "b"]) {
    const team = { kind: "club", name: teamId }
    yield* engine.askProject(sandbox, { kind: "putTeam", teamId, team })
    yield* engine.askUser(sandbox, { userId: "ada", command: { kind: "join", teamId } })
    yield* earn(engine, "ada", 10)
  }
  yield* earn(engine, "bob", 5)
  yield* archives.create({ reason: "request" })
  yield* note
  yield* Effect.andThen(earn(engine, "bob", 15), note)
  yield* Effect.andThen(earn(engine, "cyd", 5, "undone"), note)
  yield* Effect.andThen(earn(engine, "cyd", 5), note)
  const undo = { kind: "revocation", of: "reward", sequence: 0, at: 0, ownId: "undone" } as const
  yield* Effect.andThen(engine.askUser(sandbox, { userId: "cyd", command: undo }), note)
  const merge = { kind: "merge", into: "bob" } as const
  yield* Effect.andThen(engine.askUser(sandbox, { userId: "cyd", command: merge }), note)
  yield* Effect.andThen(earn(engine, "dan", 60), paid(engine))
  yield* note
  yield* engine.askUser(sandbox, { userId: "dan", command: { kind: "erasure" } })
  yield* note
  const reads = yield* seen(engine)
  expect(reads.totals[0]).toMatchObject([[0, { total: 105, reached: 100, rewarded: 3 }], 105])
  expect(reads.totals[1]).toMatchObject([[1, { total: 10 }], [2, { total: 10 }], 20])
  yield* close("kill")
  return { directory, host, then, reads }
})

const seenIn = (directory: string, host: WorkerHost) => readIn(directory, host, seen)

describe("Shared goals in a data directory", () => {
  it.live("are the same after a crash, a snapshot and a start", () =>
    Effect.gen(function* () {
      const { directory, host, reads } = yield* written
      for (let start = 0; start < 2; start++) expect(yield* seenIn(directory, host)).toEqual(reads)
    }),
  )

  it.live("are those of the moment to which an archive is restored, the project alone, too", () =>
    Effect.gen(function* () {
      const { directory, host, reads, then } = yield* written
      const last = yield* restored(directory, { kind: "last" })
      expect(yield* seenIn(last, host)).toEqual(reads)
      for (const [sequence, expected] of then) {
        const copy = yield* restored(directory, { kind: "sequence", sequence })
        expect([sequence, yield* seenIn(copy, host)]).toEqual([sequence, expected])
      }
      const [, sequence] = [...then.keys()]
      const copy = yield* restored(directory, { kind: "sequence", sequence: sequence! }, shop)
      expect(yield* seenIn(copy, host)).toEqual(then.get(sequence!))
    }),
  )

  it.live("are the same in an export and its import", () =>
    Effect.gen(function* () {
      const { directory, host, reads } = yield* written
      for (const scope of exportScopes) {
        const copy = yield* imported(directory, scope)
        expect(yield* seenIn(copy, host)).toEqual(reads)
      }
    }),
  )
})

describe("Shared goals whose contributors left the journal", () => {
  const erasedFrom = Effect.gen(function* () {
    const all = yield* written
    yield* eraseFrom(all.directory, "bob", "cyd", "dan")
    return all
  })
  const totalsIn = (directory: string, host: WorkerHost) =>
    Effect.map(seenIn(directory, host), ({ totals }) => totals)

  it.live("have the totals of the moment to which an archive is restored", () =>
    Effect.gen(function* () {
      const { directory, host, reads, then } = yield* erasedFrom
      const last = yield* restored(directory, { kind: "last" })
      expect(yield* totalsIn(last, host)).toEqual(reads.totals)
      for (const [sequence, { totals }] of then) {
        const copy = yield* restored(directory, { kind: "sequence", sequence })
        expect([sequence, yield* totalsIn(copy, host)]).toEqual([sequence, totals])
      }
    }),
  )

  it.live("have the totals of the moment to which the project alone is restored", () =>
    Effect.gen(function* () {
      const { directory, host, then } = yield* erasedFrom
      for (const [sequence, { totals }] of [...then].slice(1, 6)) {
        const copy = yield* restored(directory, { kind: "sequence", sequence }, shop)
        expect([sequence, yield* totalsIn(copy, host)]).toEqual([sequence, totals])
      }
    }),
  )

  it.live("have the same totals after a start, and in an export and its import", () =>
    Effect.gen(function* () {
      const { directory, host, reads } = yield* erasedFrom
      for (const scope of exportScopes) {
        const copy = yield* imported(directory, scope)
        expect(yield* totalsIn(copy, host)).toEqual(reads.totals)
      }
      for (let start = 0; start < 2; start++) {
        expect(yield* totalsIn(directory, host)).toEqual(reads.totals)
      }
    }),
  )
})
