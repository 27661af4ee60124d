import { describe, expect, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import { expiredArchives } from "../../../src/storage/archive/ArchiveRetention.ts"
import { openJournal } from "../../../src/storage/journal/Journal.ts"
import { asBuffer } from "../../../src/storage/Keys.ts"
import type { Storage } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, type Fixture, reward, sandbox, start } from "../fixture.ts"

const id = "somebody-ünique"
const hourMs = 3_600_000
const folder = "/data/journal"
/** More bytes than any test here writes. */
const segmentBytes = 256 * 1_024

const erase = (userId: string) => ({ userId, command: { kind: "erasure" } as const })

/** A storage with a real journal on a simulated disk, and the snapshot in memory. */
const storageOn = (disk: SimulatedDisk, state: MemoryStorage.MemoryState) =>
  Effect.map(openJournal({ disk, folder, segmentBytes, freeSpaceBytesMin: 0 }), (journal) => {
    const storage: Storage["Service"] = {
      ...MemoryStorage.make({ state }),
      lastSequence: journal.lastSequence,
      firstSequence: Effect.sync(() => journal.firstSequence),
      segments: Effect.sync(() => journal.segments),
      append: journal.append,
      readRecords: journal.readRecords,
      readRecord: journal.readRecord,
      eraseRecords: journal.sealer.erase,
      prune: journal.prune,
    }
    return {
      storage,
      /** Seals every segment that takes no more records. */
      seal: Effect.repeat(journal.sealer.sealNext, { while: (isMore) => isMore }),
      /** Whether a record or a plain segment has the text. */
      holds: (text: string) =>
        Effect.map(Stream.runCollect(journal.readRecords(journal.firstSequence)), (chunks) => {
          const bodies = chunks.flat().map(({ body }) => body)
          const plain = [...disk.files(folder)].filter(([name]) => name.endsWith(".segment"))
          const all = [...bodies, ...plain.map(([, bytes]) => bytes)]
          return all.some((bytes) => asBuffer(bytes).includes(text))
        }),
    }
  })

const stepHours = 3

/** Lets some hours pass, with everything that is due in them. */
const someHours = Effect.gen(function* () {
  yield* TestClock.adjust(stepHours * hourMs)
  for (let turn = 0; turn < 10; turn++) yield* yieldToEventLoop
})

describe("The journal", () => {
  const quiet = { clockCheckMs: 30 * 86_400_000 }
  const options = { ...quiet, snapshotIntervalMs: stepHours * hourMs }

  /**
   * The hours until the journal has nothing of the user, with `eachStep` between them, and a
   * restart every `restartHours`.
   */
  const hoursUntilGone = Effect.fnUntraced(function* (
    eachStep: (fixture: Fixture) => Effect.Effect<unknown, unknown>,
    restartHours = Number.POSITIVE_INFINITY,
  ) {
    const disk = new SimulatedDisk()
    const state = new MemoryStorage.MemoryState()
    let journal = yield* storageOn(disk, state)
    let fixture = yield* start(journal.storage, options)
    yield* fixture.engine.askUser(sandbox, reward("other", 1))
    yield* someHours
    yield* fixture.engine.askUser(sandbox, event(id, "TAP", { metadata: { me: id } }))
    yield* fixture.engine.askUser(sandbox, erase(id))
    expect(yield* journal.holds(id)).toBe(true)
    let hours = 0
    for (; (yield* journal.holds(id)) && hours <= most; hours += stepHours) {
      yield* someHours
      yield* journal.seal
      yield* Effect.orDie(eachStep(fixture))
      if ((hours + stepHours) % restartHours !== 0) continue
      yield* fixture.close()
      journal = yield* storageOn(disk, state)
      fixture = yield* start(journal.storage, options)
    }
    expect(fixture.broken).toEqual([])
    expect((yield* fixture.engine.readUser(sandbox, "other"))?.xp).toBeGreaterThan(0)
    return hours
  })
  const least = limits.erasureGatherMs / hourMs
  const most =
    (limits.journalSegmentMs +
      limits.erasureRetryMs +
      limits.erasureGatherMs +
      limits.erasureCheckMs +
      2 * limits.erasureRunMs +
      4 * limits.journalHeartbeatMs) /
    hourMs

  const ways = [
    ["although no segment is full", (_: Fixture) => _.engine.askUser(sandbox, reward("other", 1))],
    ["although nothing else is written", () => Effect.void],
  ] as const
  for (const [when, eachStep] of ways) {
    it.effect(`has nothing of an erased user some days later, ${when}`, () =>
      Effect.gen(function* () {
        const hours = yield* hoursUntilGone(eachStep)
        expect(hours).toBeGreaterThanOrEqual(least)
        expect(hours).toBeLessThan(most)
      }),
    )
  }

  it.effect("has nothing of an erased user some days later, although the server restarts", () =>
    Effect.gen(function* () {
      const hours = yield* hoursUntilGone(() => Effect.void, 15)
      expect(hours).toBeGreaterThanOrEqual(least)
      expect(hours).toBeLessThan(most)
    }),
  )
})

describe("Archives", () => {
  it("from before an erasure are deleted in time, also archives made by hand", () => {
    const start = Date.parse("2026-11-04T12:34:56Z")
    const retention = { hourly: limits.archivesHourly, daily: limits.archivesDaily }
    let kept = [
      { id: "asked", at: start - 1, reason: "request" as const, good: true },
      { id: "hourly", at: start, reason: "schedule" as const, good: true },
    ]
    let goneAfterMs = Number.POSITIVE_INFINITY
    for (let hour = 1; hour <= (2 * limits.erasureMs) / hourMs; hour++) {
      const at = start + hour * hourMs
      kept.push({ id: `at ${at}`, at, reason: "schedule", good: true })
      const expired = expiredArchives(kept, retention)
      kept = kept.filter((archive) => !expired.includes(archive.id))
      if (kept.every((archive) => archive.at > start)) {
        goneAfterMs = at - start
        break
      }
    }
    expect(goneAfterMs).toBeLessThan(limits.erasureMs)
    expect(goneAfterMs).toBeGreaterThan((limits.archivesDaily - 1) * 24 * hourMs)
  })
})
