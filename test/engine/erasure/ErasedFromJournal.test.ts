/** How long the journal and archives still have the data of an erased user. */
import { readdirSync, readFileSync } from "node:fs"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeWorkerHost } from "../../../src/engine/archive/WorkerHost.ts"
import { limits } from "../../../src/Limits.ts"
import { expiredArchives } from "../../../src/storage/archive/ArchiveRetention.ts"
import { openJournal } from "../../../src/storage/journal/Journal.ts"
import { asBuffer } from "../../../src/storage/Keys.ts"
import * as MemoryStorage from "../../../src/storage/MemoryStorage.ts"
import type { Storage } from "../../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { found, running } from "../archive/fixture.ts"
import { event, type Fixture, reward, sandbox, start } from "../fixture.ts"

const id = "somebody-ünique"
const hourMs = 3_600_000
const folder = "/data/journal"
/** More bytes than any test here writes. */
const segmentBytes = 256 * 1_024

const erase = (userId: string) => ({ userId, command: { kind: "erasure" } as const })

/** A storage with a real journal on a simulated disk, and the snapshot in memory. */
const storageOn = (disk: SimulatedDisk, state: MemoryStorage.MemoryState) =>
  Effect.map(
    openJournal({ disk, folder, segmentBytes, freeSpaceBytesMin: 0 }),
    (journal): Storage["Service"] => ({
      ...MemoryStorage.make({ state }),
      lastSequence: journal.lastSequence,
      firstSequence: Effect.sync(() => journal.firstSequence),
      append: journal.append,
      readRecords: journal.readRecords,
      prune: journal.prune,
    }),
  )

const isOn = (disk: SimulatedDisk, text: string): boolean =>
  [...disk.files(folder).values()].some((bytes) => asBuffer(bytes).includes(text))

const stepHours = 3

/** Lets some hours pass, with everything that is due in them. */
const someHours = Effect.gen(function* () {
  yield* TestClock.adjust(stepHours * hourMs)
  for (let turn = 0; turn < 10; turn++) yield* yieldToEventLoop
})

describe("The journal", () => {
  const quiet = { clockCheckMs: 30 * 86_400_000 }
  const options = { ...quiet, snapshotIntervalMs: stepHours * hourMs }

  /** The hours until the journal has nothing of the user, with `eachStep` between them. */
  const hoursUntilGone = Effect.fnUntraced(function* (
    eachStep: (fixture: Fixture, hour: number) => Effect.Effect<Fixture, unknown, Scope.Scope>,
    disk = new SimulatedDisk(),
    state = new MemoryStorage.MemoryState(),
  ) {
    let fixture = yield* start(yield* storageOn(disk, state), options)
    yield* fixture.engine.askUser(sandbox, reward("other", 1))
    yield* someHours
    yield* fixture.engine.askUser(sandbox, event(id, "TAP", { metadata: { me: id } }))
    yield* fixture.engine.askUser(sandbox, erase(id))
    expect(isOn(disk, id)).toBe(true)
    let hours = 0
    for (; isOn(disk, id) && hours <= 2 * (limits.erasureMs / hourMs); hours += stepHours) {
      yield* someHours
      fixture = yield* Effect.orDie(eachStep(fixture, hours))
    }
    expect(fixture.broken).toEqual([])
    expect((yield* fixture.engine.readUser(sandbox, "other"))?.xp).toBeGreaterThan(0)
    return hours
  })
  const least = limits.journalRetentionMs / hourMs
  const most = limits.erasureMs / hourMs

  it.effect("has nothing of an erased user after its retention, although no segment is full", () =>
    Effect.gen(function* () {
      const hours = yield* hoursUntilGone((fixture) =>
        Effect.as(fixture.engine.askUser(sandbox, reward("other", 1)), fixture),
      )
      expect(hours).toBeGreaterThan(least)
      expect(hours).toBeLessThan(most)
    }),
  )

  it.effect(
    "has nothing of an erased user after its retention, although nothing else is written",
    () =>
      Effect.gen(function* () {
        const hours = yield* hoursUntilGone(Effect.succeed)
        expect(hours).toBeGreaterThan(least)
        expect(hours).toBeLessThan(most)
      }),
  )

  it.effect(
    "has nothing of an erased user after its retention, although the server restarts every few hours",
    () =>
      Effect.gen(function* () {
        const disk = new SimulatedDisk()
        const state = new MemoryStorage.MemoryState()
        const hours = yield* hoursUntilGone(
          (fixture, hour) =>
            hour % 15 < 12
              ? Effect.succeed(fixture)
              : Effect.gen(function* () {
                  yield* fixture.close()
                  return yield* start(yield* storageOn(disk, state), options)
                }),
          disk,
          state,
        )
        expect(hours).toBeGreaterThan(least)
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

  it.live("made after an erasure have nothing of the user", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      const host = yield* makeWorkerHost({ background: false })
      let { archives, close, engine, folder } = yield* running({ directory, host })
      yield* found(engine)
      yield* engine.askUser(sandbox, event(id, "TAP", { id: "e1", metadata: { me: id } }))
      yield* engine.askUser(sandbox, reward("other", 7))
      const holds = (name: string) =>
        readdirSync(path.join(folder, name), { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .some((entry) => readFileSync(path.join(entry.parentPath, entry.name)).includes(id))
      const before = yield* archives.create({ reason: "request" })
      yield* engine.askUser(sandbox, erase(id))
      yield* engine.askUser(sandbox, reward("other", 7))
      // The last snapshot deletes the user's data.
      yield* close()
      ;({ archives, close, engine, folder } = yield* running({ directory, host }))
      const after = yield* archives.create({ reason: "request" })
      expect([holds(before.id), holds(after.id)]).toEqual([true, false])
      yield* close()
    }),
  )
})
