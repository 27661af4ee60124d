/** Histories and erasures in sealed segments of a real journal on a simulated disk. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { grantedOf } from "../../../src/domain/message/UserReply.ts"
import type { Engine } from "../../../src/engine/Engine.ts"
import { decodeRecord } from "../../../src/engine/records/Codec.ts"
import type { Position } from "../../../src/http/api/Cursor.ts"
import {
  type ListedRecords,
  readHistoryFacts,
  readListed,
} from "../../../src/http/handlers/readHistory.ts"
import { limits } from "../../../src/Limits.ts"
import type { Storage } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"
import { journalOn } from "../../storage/journalOn.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, sandbox, start } from "../fixture.ts"

const hourMs = 3_600_000
const snapshotIntervalMs = 60_000
const gatherMs = 60_000
const options = {
  snapshotIntervalMs,
  erasureGatherMs: gatherMs,
  erasureCheckMs: gatherMs,
  clockCheckMs: hourMs,
  heartbeatMs: 365 * 86_400_000,
}
const rounds = 70
/** A round of events fills a segment, in batches that are smaller. */
const segmentBytes = 100_000
const padding = "x".repeat(2_000)

const reward = (n: number) =>
  ({ userId: "quinn", command: { kind: "reward", type: "xp", amount: n + 1 } }) as const

/**
 * A server whose journal has a segment for each event of quinn, all but the newest sealed. Quinn is
 * granted a reward in each of the `rewarded` rounds.
 */
const worldWith = Effect.fnUntraced(function* (rewarded: ReadonlyArray<number>) {
  const state = new MemoryStorage.MemoryState()
  const journal = yield* journalOn(new SimulatedDisk(), segmentBytes)
  const work = { blocks: 0 }
  const storage: Storage["Service"] = {
    ...MemoryStorage.make({ state }),
    lastSequence: journal.lastSequence,
    firstSequence: Effect.sync(() => journal.firstSequence),
    append: journal.append,
    readRecords: journal.readRecords,
    readRecord: (sequence, own = { blocks: 0 }) => {
      const before = own.blocks
      return Effect.tap(journal.readRecord(sequence, own), () =>
        Effect.sync(() => {
          work.blocks += own.blocks - before
        }),
      )
    },
    eraseRecords: journal.sealer.erase,
    prune: () => Effect.void,
  }
  const { broken, engine } = yield* start(storage, options)
  const round = (n: number) =>
    Effect.gen(function* () {
      yield* engine.askUser(sandbox, event("quinn", "TAP", { id: `quinn-${n}` }))
      if (rewarded.includes(n)) yield* engine.askUser(sandbox, reward(n))
      for (let batch = 0; batch < 2; batch++) {
        const others = Array.from({ length: 25 }, (_, other) =>
          event(`u${other}`, "TAP", { metadata: { padding } }),
        )
        yield* engine.askUsers(sandbox, others)
      }
    })
  const seal = Effect.repeat(journal.sealer.sealNext, { while: (more) => more })
  for (let n = 0; n < rounds; n++) yield* round(n)
  yield* TestClock.adjust(snapshotIntervalMs)
  for (let turn = 0; turn < 100; turn++) yield* yieldToEventLoop
  yield* seal
  expect(journal.sealer.sealed.length).toBeGreaterThanOrEqual(rounds - 1)
  return { broken, engine, journal, round, seal, state, work }
})

const world = worldWith([])

/** All pages of quinn's history: the events of each, and the blocks that each read. */
const pagesOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  work: { blocks: number },
  limit: number,
) {
  const pages: Array<{ readonly events: number; readonly blocks: number }> = []
  const sequences: Array<string> = []
  let after: Position<"history"> | undefined
  do {
    const before = work.blocks
    const asked = { limit, after }
    const page = yield* readHistoryFacts(engine, sandbox, "quinn", asked, "event.tracked")
    pages.push({ events: page.items.length, blocks: work.blocks - before })
    sequences.push(...page.items.map(({ at }) => String(at)))
    after = page.last
  } while (after !== undefined)
  return { pages, count: sequences.length }
})

describe("A history in many sealed segments", () => {
  it.effect("is read in pages of 20 that read at most 32 blocks each", () =>
    Effect.gen(function* () {
      const { broken, engine, work } = yield* world
      const { count, pages } = yield* pagesOf(engine, work, 20)
      expect(count).toBe(rounds)
      expect(pages.map(({ events }) => events)).toEqual([20, 20, 20, 10])
      // Blocks that a page read ahead are kept for the next one.
      expect(pages[0]!.blocks).toBeGreaterThanOrEqual(20)
      for (const { blocks } of pages) {
        expect(blocks).toBeLessThanOrEqual(limits.historyPageBlocksMax)
      }
      expect(broken).toEqual([])
    }).pipe(Effect.scoped),
  )

  it.effect("ends a longer page at 32 blocks, and goes on with the next", () =>
    Effect.gen(function* () {
      const { engine, work } = yield* world
      const { count, pages } = yield* pagesOf(engine, work, 100)
      expect(count).toBe(rounds)
      expect(pages[0]!.events).toBe(limits.historyPageBlocksMax)
      for (const { blocks } of pages) {
        expect(blocks).toBeLessThanOrEqual(limits.historyPageBlocksMax)
      }
    }).pipe(Effect.scoped),
  )
})

describe("A list of rewards in many sealed segments", () => {
  it.effect("reads at most a block for each reward, however many events are between them", () =>
    Effect.gen(function* () {
      const rewarded = [0, 10, 20, 30, 40, 50, 60]
      const { engine, work } = yield* worldWith(rewarded)
      const user = yield* engine.readUser(sandbox, "quinn")
      const amounts: Array<number> = []
      let first: number | undefined = user!.lastReward
      while (first !== undefined) {
        const before = work.blocks
        const page: ListedRecords<"reward"> = yield* readListed(
          engine,
          sandbox,
          "quinn",
          "reward",
          { first, lasts: [first], limit: 3 },
        )
        expect(work.blocks - before).toBeLessThanOrEqual(3)
        amounts.push(...page.records.map(({ cause }) => grantedOf(cause).amount!))
        first = page.next
      }
      expect(amounts).toEqual(rewarded.map((n) => n + 1).toReversed())
      const spends = { first: undefined, lasts: [user!.lastSpend], limit: 3 }
      expect((yield* readListed(engine, sandbox, "quinn", "spend", spends)).records).toEqual([])
    }).pipe(Effect.scoped),
  )
})

describe("An erased user in sealed segments", () => {
  it.effect("leaves each of them, and the newest segment once that is sealed", () =>
    Effect.gen(function* () {
      const { broken, engine, journal, round, seal, state } = yield* world
      yield* engine.askUser(sandbox, { userId: "quinn", command: { kind: "erasure" } })
      const last = (yield* engine.readUser(sandbox, "u0"))!.sequence
      const mentions = Effect.map(Stream.runCollect(journal.readRecords(1)), (chunks) =>
        chunks
          .flat()
          .filter(({ body }) => Buffer.from(body).includes("quinn"))
          .map(({ sequence }) => sequence),
      )
      const jobs = () =>
        state
          .table("erasures")
          .entries({ table: "erasures", from: new Uint8Array(), until: Uint8Array.of(255) }).length
      /** Lets time pass: a run pauses after each segment. */
      const until = Effect.fnUntraced(function* (isSo: () => boolean) {
        while (!isSo()) {
          for (let turn = 0; turn < 20; turn++) yield* yieldToEventLoop
          yield* TestClock.adjust(1_000)
        }
      })
      expect(yield* mentions).toHaveLength(rounds + 1)
      yield* TestClock.adjust(snapshotIntervalMs)
      yield* until(() => jobs() === 1)
      yield* TestClock.adjust(2 * gatherMs)
      const left = yield* mentions
      // The newest segment has the erasure, and may have the last event.
      let stay = left
      for (let step = 0; step < 100 && stay.length > 2; step++) {
        for (let segment = 0; segment < rounds; segment++) {
          for (let turn = 0; turn < 20; turn++) yield* yieldToEventLoop
          yield* TestClock.adjust(1)
        }
        stay = yield* mentions
      }
      expect(stay).toEqual(left.slice(-stay.length))
      expect([1, 2]).toContain(stay.length)
      expect(jobs()).toBe(1)
      yield* round(rounds)
      yield* round(rounds + 1)
      yield* seal
      yield* TestClock.adjust(limits.erasureRetryMs + 2 * gatherMs)
      yield* until(() => jobs() === 0)
      // The id is that of a new user.
      const again = yield* mentions
      expect(again).toHaveLength(2)
      expect(Math.min(...again)).toBeGreaterThan(last)
      const records = (yield* Stream.runCollect(journal.readRecords(1))).flat()
      const others = records.filter(({ body }) => body.length > 0).map(({ body }) => body)
      expect(others.length).toBe(records.length - rounds - 1)
      for (const body of others) expect(decodeRecord(body).at).toBeGreaterThanOrEqual(0)
      expect(broken).toEqual([])
    }).pipe(Effect.scoped),
  )
})
