import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import type { JournalRecord } from "../../../src/domain/record/Record.ts"
import {
  Feed,
  FeedEntry,
  type FeedOptions,
  FeedShares,
  type Follower,
} from "../../../src/engine/commit/Feed.ts"
import { encodeRecord } from "../../../src/engine/records/Codec.ts"
import { limits } from "../../../src/Limits.ts"
import { batchOf } from "../../../src/storage/Frames.ts"
import type { Broken } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import * as FaultyStorage from "../../storage/FaultyStorage.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, reward, rule, sandbox, startInMemory } from "../fixture.ts"

const recordOf = (sequence: number): JournalRecord => ({
  sequence,
  at: sequence * 1_000,
  subject: { actor: "user", environment: sandbox, userId: `u${sequence}` },
  cause: { kind: "request" },
  facts: [],
})

/** A feed over a journal that the test writes. */
const open = (bounds: Pick<FeedOptions, "bytesMax" | "recordsMax" | "shares"> = {}) => {
  const state = new MemoryStorage.MemoryState()
  const faults = new FaultyStorage.Faults()
  const storage = FaultyStorage.make(MemoryStorage.make({ state }), faults)
  const broken: Array<Broken> = []
  let head = 0
  let written: Effect.Effect<void> = Effect.void
  const feed = new Feed({
    storage,
    commit: {
      get durableSequence() {
        return head
      },
      written: Effect.suspend(() => written),
    },
    onBroken: (cause) => broken.push(cause),
    ...bounds,
  })
  const append = (count: number) =>
    Effect.gen(function* () {
      const records = Array.from({ length: count }, (_, index) => recordOf(head + 1 + index))
      const bodies = records.map((record) => Buffer.from(encodeRecord(record)))
      yield* storage.append(batchOf(head + 1, bodies))
      head += count
      for (const [index, record] of records.entries()) {
        feed.committed(record, bodies[index]!.length)
      }
    })
  /** Puts records into the journal that are not visible yet. */
  const appendAhead = (count: number) =>
    Effect.suspend(() => {
      const bodies = upTo(head + 1, head + count).map((sequence) =>
        Buffer.from(encodeRecord(recordOf(sequence))),
      )
      return storage.append(batchOf(head + 1, bodies))
    })
  const announce = () => feed.committed(recordOf(++head), 100)
  const hold = (until: Effect.Effect<void>) => {
    written = until
  }
  const reads = () => faults.calls("readRecords")
  return { announce, append, appendAhead, broken, faults, feed, hold, reads, state, storage }
}

const sequences = (follower: Follower, max = 1_000) =>
  Effect.map(follower.take(max), (entries) => entries.map(({ record }) => record.sequence))

const upTo = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)

describe("The feed", () => {
  it.effect("returns no record of the journal that is not durable yet", () =>
    Effect.gen(function* () {
      const { announce, append, appendAhead, feed } = open()
      yield* append(3)
      yield* appendAhead(2)
      const follower = yield* feed.follow(1)
      expect(yield* sequences(follower)).toEqual([1, 2, 3])
      expect((yield* feed.read(2, 10)).map(({ record }) => record.sequence)).toEqual([2, 3])
      const next = yield* Effect.forkChild(sequences(follower), { startImmediately: true })
      yield* yieldToEventLoop
      expect(next.pollUnsafe()).toBeUndefined()
      announce()
      expect(yield* Fiber.join(next)).toEqual([4])
    }),
  )

  it.effect("reads past records from a sequence on, then new ones, without a gap", () =>
    Effect.gen(function* () {
      const { append, feed } = open()
      yield* append(10)
      const follower = yield* feed.follow(4)
      expect(yield* sequences(follower)).toEqual(upTo(4, 10))
      const waiting = yield* Effect.forkChild(sequences(follower), { startImmediately: true })
      yield* append(3)
      expect(yield* Fiber.join(waiting)).toEqual([11, 12, 13])
      expect(follower.position).toBe(14)
    }),
  )

  it.effect("returns at most the number of records that is asked for", () =>
    Effect.gen(function* () {
      const { append, feed } = open()
      yield* append(5)
      const follower = yield* feed.follow(1)
      yield* append(5)
      for (const expected of [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10]]) {
        expect(yield* sequences(follower, 3)).toEqual(expected)
      }
    }),
  )

  it.effect("does not read the journal for a follower at the head", () =>
    Effect.gen(function* () {
      const { append, feed, reads } = open()
      yield* append(5)
      const followers = yield* Effect.all([feed.follow(6), feed.follow(6), feed.follow(6)])
      for (let round = 0; round < 10; round++) {
        const first = feed.head + 1
        yield* append(20)
        for (const follower of followers) {
          expect(yield* sequences(follower)).toEqual(upTo(first, feed.head))
        }
      }
      expect(reads()).toBe(0)
    }),
  )

  it.effect("wakes a waiting follower once, after the whole batch", () =>
    Effect.gen(function* () {
      const { append, feed } = open()
      const follower = yield* feed.follow(1)
      const waiting = yield* Effect.forkChild(sequences(follower), { startImmediately: true })
      yield* append(50)
      expect(yield* Fiber.join(waiting)).toEqual(upTo(1, 50))
    }),
  )

  it.effect("forgets a follower that stops waiting, and gives it the same records later", () =>
    Effect.gen(function* () {
      const { append, feed } = open()
      const follower = yield* feed.follow(1)
      const waiting = yield* Effect.forkChild(sequences(follower), { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      yield* append(2)
      expect(yield* sequences(follower)).toEqual([1, 2])
    }),
  )

  it.effect("keeps a bounded number of records; a slower follower reads the journal", () =>
    Effect.gen(function* () {
      const { append, feed, reads } = open({ recordsMax: 10 })
      const slow = yield* feed.follow(1)
      const fast = yield* feed.follow(1)
      for (let round = 0; round < 30; round++) {
        yield* append(7)
        expect(yield* sequences(fast)).toEqual(upTo(round * 7 + 1, round * 7 + 7))
      }
      expect(reads()).toBe(0)
      expect(yield* sequences(slow, 50)).toEqual(upTo(1, 50))
      expect(yield* sequences(slow)).toEqual(upTo(51, 210))
      expect(reads()).toBe(2)
      yield* append(7)
      expect(yield* sequences(slow)).toEqual(upTo(211, 217))
      expect(reads()).toBe(2)
    }),
  )

  it.effect("keeps a bounded number of bytes", () =>
    Effect.gen(function* () {
      const { append, feed, reads } = open({ bytesMax: 2_000 })
      const follower = yield* feed.follow(1)
      yield* append(100)
      expect(yield* sequences(follower)).toEqual(upTo(1, 100))
      expect(reads()).toBe(1)
    }),
  )

  it.effect("shares its bounds equally with the followed feeds of other engines", () =>
    Effect.gen(function* () {
      for (const bounds of [{ recordsMax: 10 }, { bytesMax: 1_500 }]) {
        const shares = new FeedShares()
        const [one, other] = [open({ ...bounds, shares }), open({ ...bounds, shares })]
        const scope = yield* Scope.make()
        /** How often a follower reads the journal when it takes eight new records at once. */
        const looks = Effect.gen(function* () {
          const before = one.reads()
          const follower = yield* one.feed.follow(one.feed.head + 1)
          yield* one.append(8)
          yield* sequences(follower)
          return one.reads() - before
        })
        expect(yield* looks).toBe(0)
        yield* Scope.provide(other.feed.follow(1), scope)
        expect(yield* looks).toBe(1)
        yield* Scope.close(scope, Exit.void)
        expect(yield* looks).toBe(0)
      }
    }).pipe(Effect.scoped),
  )

  it.effect("keeps no records without followers", () =>
    Effect.gen(function* () {
      const { append, feed, reads } = open()
      const scope = yield* Scope.make()
      yield* Scope.provide(feed.follow(1), scope)
      yield* append(3)
      yield* Scope.close(scope, Exit.void)
      yield* append(3)
      const later = yield* feed.follow(2)
      expect(yield* sequences(later)).toEqual(upTo(2, 6))
      expect(reads()).toBe(1)
    }),
  )

  it.effect("shows no acknowledged record before the journal has it", () =>
    Effect.gen(function* () {
      const { announce, feed, hold } = open()
      const follower = yield* feed.follow(1)
      hold(Effect.never)
      announce()
      const early = yield* Effect.forkChild(sequences(follower), { startImmediately: true })
      yield* yieldToEventLoop
      yield* yieldToEventLoop
      expect(early.pollUnsafe()).toBeUndefined()
      yield* Fiber.interrupt(early)
      hold(Effect.void)
      expect(yield* sequences(follower)).toEqual([1])
    }),
  )

  it.effect("fails with the first sequence of the journal for a record that was pruned", () =>
    Effect.gen(function* () {
      const { append, broken, feed, storage } = open()
      yield* append(10)
      yield* storage.prune(6)
      const late = yield* feed.follow(3)
      expect(yield* Effect.flip(late.take(10))).toMatchObject({ _tag: "FeedGone", first: 6 })
      const follower = yield* feed.follow(6)
      expect(yield* sequences(follower)).toEqual(upTo(6, 10))
      expect(broken).toEqual([])
    }),
  )

  it.effect(
    "reports a journal that cannot be read as broken, but not one that was pruned meanwhile",
    () =>
      Effect.gen(function* () {
        const { append, broken, faults, feed, storage } = open()
        yield* append(10)
        const follower = yield* feed.follow(2)
        const held = faults.hold("readRecords")
        faults.fail("readRecords", { error: "Broken" })
        const reading = yield* Effect.forkChild(Effect.flip(follower.take(10)), {
          startImmediately: true,
        })
        yield* held.reached
        yield* storage.prune(6)
        yield* held.release
        expect(yield* Fiber.join(reading)).toMatchObject({ _tag: "FeedGone", first: 6 })
        expect(broken).toEqual([])
        const other = yield* feed.follow(7)
        const never = yield* Effect.forkChild(other.take(10), { startImmediately: true })
        while (broken.length === 0) yield* yieldToEventLoop
        expect(never.pollUnsafe()).toBeUndefined()
      }),
  )

  it.effect("finds single records: at the head without the journal, close ones in one read", () =>
    Effect.gen(function* () {
      const { append, feed, reads, storage } = open()
      yield* append(100)
      yield* storage.prune(11)
      yield* feed.follow(101)
      yield* append(5)
      const found = yield* feed.find([3, 4, 20, 21, 60, 100, 102, 105])
      expect([...found.keys()]).toEqual([20, 21, 60, 100, 102, 105])
      for (const [sequence, { record }] of found) expect(record).toEqual(recordOf(sequence))
      expect(reads()).toBe(1)
    }),
  )

  it.effect("calls listeners at once for records of a project actor, and for no others", () =>
    Effect.gen(function* () {
      const { engine } = yield* startInMemory()
      const heard: Array<string> = []
      const scope = yield* Scope.make()
      yield* Scope.provide(
        engine.feed.onProjectRecord(({ facts }) => heard.push(...facts.map(({ kind }) => kind))),
        scope,
      )
      yield* engine.askProject(sandbox, rule("TAP", 5))
      yield* engine.askUser(sandbox, event("u", "TAP"))
      yield* Scope.close(scope, Exit.void)
      yield* engine.askProject(sandbox, rule("TAP", 5))
      expect(heard).toEqual(["rule.created"])
    }),
  )

  it.effect("of an engine has every record, in either durability", () =>
    Effect.gen(function* () {
      for (const durability of ["fsync", "relaxed"] as const) {
        const { close, committed, engine } = yield* startInMemory({}, { durability })
        const follower = yield* engine.feed.follow(1)
        for (let round = 0; round < 5; round++) {
          const asked = Array.from({ length: 20 }, (_, index) => reward(`u${index}`, 5))
          yield* engine.askUsers(sandbox, asked)
        }
        const seen: Array<JournalRecord> = []
        while (seen.length < 100) {
          for (const { record } of yield* follower.take(7)) seen.push(record)
        }
        expect(seen).toEqual(committed)
        yield* close()
      }
    }),
  )
})

describe("An entry of the feed", () => {
  const created = (sequence: number) =>
    new FeedEntry({ ...recordOf(sequence), facts: [{ kind: "user.created" }] }, 100)

  it("makes a message once for its readers, and an equal one after eviction", () => {
    const entry = created(1)
    const message = entry.message(0)
    for (let others = 1; others < limits.feedCachedEntriesMax; others++)
      created(1 + others).message(0)
    expect(entry.message(0)).toBe(message)
    created(9_999).message(0)
    expect(entry.message(0)).not.toBe(message)
    expect(entry.message(0)).toEqual(message)
  })
})
