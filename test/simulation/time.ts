/**
 * One seeded run of the engine on a machine whose clock is set back and ahead, by seconds and by
 * years, while requests with many Idempotency-Keys come, some repeated, over days, shutdowns and
 * kills. It is compared with the journal's times, a linear search in them, and a map of answers.
 */
import { expect } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import { limits } from "../../src/Limits.ts"
import { rangeOf } from "../../src/storage/Keys.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { once, recordsOf, reward, sandbox, start } from "../engine/fixture.ts"
import { steppedClock } from "../engine/time/steppedClock.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { Random } from "./random.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const options = {
  snapshotIntervalMs: 2 * hour,
  clockCheckMs: hour,
  decodedUsersMax: 4,
  snapshotSliceEntriesMax: 50,
}

export const simulateTime = Effect.fnUntraced(function* (seed: number, steps: number) {
  const random = new Random(seed)
  yield* TestClock.setTime(Date.parse("2026-11-22T12:00:00Z"))
  const real = yield* Clock.Clock
  const { clock, step } = yield* steppedClock
  const state = new MemoryStorage.MemoryState()
  const boot = Effect.suspend(() => start(MemoryStorage.make({ state }), options)).pipe(
    Effect.provideService(Clock.Clock, clock),
  )
  let running = yield* boot

  /** The error of the machine's clock, and the largest error that the engine could follow. */
  let wrongMs = 0
  let believedMs = 0
  const set = (ms: number) => {
    step(ms - wrongMs)
    wrongMs = ms
  }
  const believe = () => {
    believedMs = Math.max(believedMs, wrongMs)
  }

  /** All records so far: the journal itself is pruned. */
  const records: Array<JournalRecord> = []
  const follow = () => {
    const last = records.at(-1)?.sequence ?? 0
    const latest = real.currentTimeMillisUnsafe() + believedMs
    for (const record of recordsOf(state)) {
      if (record.sequence <= last) continue
      expect(record.at).toBeGreaterThanOrEqual(records.at(-1)?.at ?? 0)
      expect(record.at).toBeLessThanOrEqual(latest)
      records.push(record)
    }
  }

  const answers = new Map<string, { readonly at: number; readonly reply: unknown }>()
  let keys = 0
  /** The latest time that the engine has shown. */
  let shownMs = 0
  const ask = Effect.gen(function* () {
    const key = keys > 0 && random.chance(0.4) ? `k${random.integer(1, keys)}` : `k${++keys}`
    const first = answers.get(key)
    shownMs = Math.max(shownMs, running.engine.now())
    const endsAt = (first?.at ?? 0) + limits.idempotencyRetentionMs
    const { reply, replayed } = yield* running.engine.askUser(
      sandbox,
      reward(`u${random.integer(1, 8)}`, 1),
      once(key),
    )
    // After a kill time continues from the newest record: expired entries may be deleted, or valid
    // again.
    if (shownMs < endsAt || running.engine.now() >= endsAt) {
      expect([key, replayed]).toEqual([key, first !== undefined && shownMs < endsAt])
    }
    if (replayed) return expect(reply).toEqual(first?.reply)
    follow()
    answers.set(key, { at: records.at(-1)!.at, reply })
  })

  /**
   * The machine's clock jumps ahead, further than is ever followed, or not long enough to be
   * followed.
   */
  const glitch = Effect.gen(function* () {
    const before = wrongMs
    const isFar = random.chance(0.5)
    const ahead = isFar
      ? limits.clockJumpMsMax + random.integer(2 * day, 800 * day)
      : random.integer(limits.clockStepMs + hour, limits.clockJumpMsMax - day)
    // Relative to the engine's time, which may be far ahead of a clock that was set back.
    set(believedMs + ahead)
    for (let asks = random.integer(1, 5); asks > 0; asks--) yield* ask
    yield* TestClock.adjust(isFar ? random.integer(1, day) : limits.clockJumpWaitMs - 1)
    yield* ask
    set(before)
  })

  const search = Effect.gen(function* () {
    follow()
    const first = recordsOf(state)[0]?.sequence ?? 1
    const at = random.pick(records).at + random.integer(-1, 1)
    const expected =
      records.find((record) => record.at >= at && record.sequence >= first)?.sequence ??
      records.at(-1)!.sequence + 1
    expect(yield* running.engine.feed.sequenceAt(at)).toBe(expected)
  })

  // Without a record, time would begin at the machine's clock at the next start.
  yield* ask
  for (let n = 0; n < steps; n++) {
    const kind = random.next()
    shownMs = Math.max(shownMs, running.engine.now())
    if (kind < 0.35) for (let asks = random.integer(1, 40); asks > 0; asks--) yield* ask
    else if (kind < 0.5) yield* glitch
    else if (kind < 0.6) {
      // As an operator or a time server sets it: a little ahead, or back by up to a year.
      set(
        wrongMs +
          (random.chance(0.5)
            ? random.integer(1, limits.clockStepMs)
            : -random.integer(1, random.pick([minute, hour, 365 * day]))),
      )
      believe()
    } else if (kind < 0.7) {
      set(0)
      // The engine sees the jump twice: it has lasted.
      running.engine.now()
      yield* TestClock.adjust(limits.clockJumpWaitMs)
      running.engine.now()
    } else if (kind < 0.8) {
      yield* running.close(random.chance(0.5) ? "kill" : undefined)
      if (random.chance(0.3)) yield* TestClock.adjust(random.integer(1, 3 * day))
      running = yield* boot
    } else yield* TestClock.adjust(random.pick([1, minute, hour, 5 * hour, 13 * hour, 30 * hour]))
    yield* search
    expect(running.broken).toEqual([])
  }

  // With a right clock every expired entry is deleted, however many keys there were.
  set(0)
  running.engine.now()
  yield* TestClock.adjust(limits.clockJumpWaitMs)
  expect(running.engine.now()).toBeGreaterThanOrEqual(real.currentTimeMillisUnsafe())
  yield* ask
  yield* TestClock.adjust(limits.idempotencyRetentionMs / limits.clockSlewRate + 4 * hour)
  const left = () =>
    state.table("expiry").entries({ table: "expiry", ...rangeOf(new Uint8Array()) }).length
  while (left() > 0) yield* yieldToEventLoop
  follow()
  yield* running.close()
  return { records: records.length, keys }
})
