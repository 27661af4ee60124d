/** The sold units of an item in checks, exports and restores, after a buyer left the journal. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeWorkerHost, type WorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { itemWith } from "../../domain/definitions.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { sandbox } from "../fixture.ts"
import { imported, readIn, restored, shop } from "./copies.ts"
import { eraseFrom, found, running } from "./fixture.ts"

const item = itemWith({ key: "poster", price: { points: 1 }, stock: 9 })

const ask = (engine: Engine["Service"], userId: string) => ({
  points: engine.askUser(sandbox, {
    userId,
    command: { kind: "reward", type: "points", amount: 50 },
  }),
  buy: (id?: string) =>
    engine.askUser(sandbox, { userId, command: { kind: "purchase", item: "poster", id } }),
  undo: (ownId: string) =>
    engine.askUser(sandbox, {
      userId,
      command: { kind: "revocation", of: "purchase", sequence: 0, at: 0, ownId },
    }),
  erase: engine.askUser(sandbox, { userId, command: { kind: "erasure" } }),
  mergeInto: (into: string) =>
    engine.askUser(sandbox, { userId, command: { kind: "merge", into } }),
})

const soldBy = (engine: Engine["Service"]) =>
  Effect.map(engine.readCounts(sandbox), ({ sold }) => sold.get(item.id) ?? 0)

/**
 * A directory with an archive, and sales after it. Ada and Cyd, who was merged into Ada, have bought
 * before and after the archive and are erased; the journal has lost both. `sold`: the units after each
 * of some records.
 */
const written = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const host = yield* makeWorkerHost({ background: false })
  const { archives, close, engine } = yield* running({ directory, host })
  const [ada, bob, cyd] = ["ada", "bob", "cyd"].map((userId) => ask(engine, userId))
  const sold = new Map<number, number>()
  const note = Effect.map(soldBy(engine), (units) => {
    sold.set(archives.position().lastSequence, units)
  })
  yield* found(engine)
  yield* engine.askProject(sandbox, { kind: "createItem", item })
  for (const user of [ada!, bob!, cyd!]) yield* user.points
  yield* ada!.buy("before")
  yield* cyd!.buy()
  yield* archives.create({ reason: "request" })
  yield* note
  for (const id of ["a", "b"]) yield* Effect.andThen(ada!.buy(id), note)
  yield* Effect.andThen(cyd!.buy("c"), note)
  yield* Effect.andThen(bob!.buy(), note)
  yield* Effect.andThen(ada!.undo("before"), note)
  yield* Effect.andThen(ada!.undo("a"), note)
  yield* Effect.andThen(cyd!.mergeInto("ada"), note)
  yield* Effect.andThen(ada!.undo("c"), note)
  yield* Effect.andThen(ada!.erase, note)
  yield* Effect.andThen(bob!.buy(), note)
  expect([...sold.values()]).toEqual([2, 3, 4, 5, 6, 5, 4, 4, 3, 3, 4])
  yield* close("kill")
  yield* eraseFrom(directory, "ada", "cyd")
  return { directory, host, sold, units: 4 }
})

const unitsIn = (directory: string, host: WorkerHost) => readIn(directory, host, soldBy)

describe("The sold units of an item, after buyers left the journal", () => {
  it.live("are those of the whole journal, after a crash and an orderly end", () =>
    Effect.gen(function* () {
      const { directory, host, units } = yield* written
      for (let start = 0; start < 2; start++) {
        expect(yield* unitsIn(directory, host)).toBe(units)
      }
    }),
  )

  it.live("are those of the moment to which an older archive is restored", () =>
    Effect.gen(function* () {
      const { directory, host, sold, units } = yield* written
      const last = yield* restored(directory, { kind: "last" })
      expect(yield* unitsIn(last, host)).toBe(units)
      for (const [sequence, then] of sold) {
        const copy = yield* restored(directory, { kind: "sequence", sequence })
        expect([sequence, yield* unitsIn(copy, host)]).toEqual([sequence, then])
      }
    }),
  )

  it.live("are those of the moment to which the project alone is restored", () =>
    Effect.gen(function* () {
      const { directory, host, sold } = yield* written
      for (const [sequence, then] of [...sold].slice(1, 6)) {
        const copy = yield* restored(directory, { kind: "sequence", sequence }, shop)
        expect([sequence, yield* unitsIn(copy, host)]).toEqual([sequence, then])
      }
    }),
  )

  it.live("are the same in an export and its import", () =>
    Effect.gen(function* () {
      const { directory, host, units } = yield* written
      const copy = yield* imported(directory)
      expect(yield* unitsIn(copy, host)).toBe(units)
    }),
  )
})
