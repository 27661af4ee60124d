/**
 * Histories in partitions so small that a user's pages are in many, in a real data directory.
 */
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { verifyLive } from "../../../src/engine/archive/Verification.ts"
import { makeWorkerHost } from "../../../src/engine/archive/WorkerHost.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { pageKey, placeOfPage } from "../../../src/engine/records/SnapshotValues.ts"
import { limits } from "../../../src/Limits.ts"
import * as DurableStorage from "../../../src/storage/durable/DurableStorage.ts"
import { rangeOf } from "../../../src/storage/Keys.ts"
import type { StoredEntry } from "../../../src/storage/Storage.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { alone, busy, found, running } from "../archive/fixture.ts"
import { event, sandbox } from "../fixture.ts"

const real = { ...limits }
const small = { historyPartitionRecords: 5, historyTurnPartitionsMax: 2, historyReadPagesMax: 2 }
// Modules are shared with other test files: a mock would affect some of those, and not every module
// here.
beforeAll(() => void Object.assign(limits, small))
afterAll(() => void Object.assign(limits, real))

const users = 4

/** The sequences of a user's records according to the journal. */
const recordsOf = (
  committed: ReadonlyArray<{ sequence: number; subject: object }>,
  userId: string,
) =>
  committed
    .filter(({ subject }) => "userId" in subject && subject.userId === userId)
    .map(({ sequence }) => sequence)
    .reverse()

const historyOf = (engine: Engine["Service"], userId: string, before?: number) =>
  Effect.map(Stream.runCollect(engine.readHistory(sandbox, userId, before)), (chunks) =>
    chunks.flat().map(({ sequence }) => sequence),
  )

/** Events of one user between those of others, for pages of several records. */
const more = (round: number, n: number) => event("u0", "TAP", { id: `more-${round}-${n}` })

const host = makeWorkerHost({ background: false })

/** A directory with three snapshots, and the records of all of them. */
const written = Effect.gen(function* () {
  const directory = yield* temporaryFolder
  const committed = []
  for (let round = 0; round < 3; round++) {
    const { close, engine, ...others } = yield* running({ directory, host: yield* host })
    if (round === 0) yield* found(engine)
    yield* busy(engine, users, round)
    // Events of one user between those of others, for pages of several records.
    const few = [1, 2, 3].map((n) => more(round, n))
    yield* engine.askUsers(sandbox, few)
    yield* close()
    committed.push(...others.committed)
  }
  return { directory, committed }
})

const storageOf = (directory: string) => DurableStorage.make({ directory })

const pagesOf = (directory: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const storage = yield* storageOf(directory)
      const range = { table: "history", ...rangeOf(new Uint8Array()) } as const
      return (yield* Stream.runCollect(storage.readEntries(range))).flat()
    }),
  )

const checked = Effect.fnUntraced(function* (directory: string) {
  const { faults } = yield* Effect.scoped(verifyLive({ directory }, alone))
  expect(faults).toEqual([])
})

/** Expects that a reader finds the records of every user that the journal has. */
const expectWhole = Effect.fnUntraced(function* (
  directory: string,
  committed: ReadonlyArray<{ sequence: number; subject: object }>,
) {
  yield* checked(directory)
  const { close, engine } = yield* running({ directory, host: yield* host })
  const last = committed.at(-1)!.sequence
  for (let n = 0; n < users; n++) {
    const all = recordsOf(committed, `u${n}`)
    expect(yield* historyOf(engine, `u${n}`)).toEqual(all)
    for (let before = 0; before <= last + 1; before++) {
      const expected = all.filter((sequence) => sequence < before)
      expect(yield* historyOf(engine, `u${n}`, before)).toEqual(expected)
    }
  }
  // Each record is also found by the caller's id.
  for (let round = 0; round < 3; round++) {
    for (let n = 1; n <= 3; n++) {
      const { reply } = yield* engine.askUser(sandbox, more(round, n))
      expect(reply).toMatchObject({ duplicate: true })
    }
  }
  yield* close()
})

describe("Histories in many partitions", () => {
  it.live("are complete from any record on, and pass the check of a directory", () =>
    Effect.gen(function* () {
      const { committed, directory } = yield* written
      const places = (yield* pagesOf(directory)).map(([key]) => placeOfPage(key)!)
      // Each partition has at most five records.
      expect(places.filter(({ userId }) => userId === "u0").length).toBeGreaterThan(3)
      yield* expectWhole(directory, committed)
    }),
  )

  it.live("of an erased user are deleted from every partition", () =>
    Effect.gen(function* () {
      const { directory } = yield* written
      const pages = yield* pagesOf(directory)
      const isOfUser = ([key]: StoredEntry) => placeOfPage(key)!.userId === "u0"
      expect(pages.filter(isOfUser).length).toBeGreaterThan(3)
      const { close, engine } = yield* running({ directory, host: yield* host })
      yield* engine.askUser(sandbox, { userId: "u0", command: { kind: "erasure" } })
      yield* engine.askUser(sandbox, event("u0", "TAP"))
      const [sequence] = yield* historyOf(engine, "u0")
      yield* close()
      const left = (yield* pagesOf(directory)).filter(isOfUser).map(([key]) => Buffer.from(key))
      expect(left).toEqual([pageKey(sandbox, "u0", sequence!)])
      yield* checked(directory)
    }),
  )
})
