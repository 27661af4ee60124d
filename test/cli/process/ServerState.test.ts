/** The state of a server as its owners see it, over a real data directory and real archives. */
import { rm } from "node:fs/promises"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Result } from "effect"
import { archiveTrouble, makeServerState } from "../../../src/cli/process/ServerState.ts"
import { readConfig } from "../../../src/config/Config.ts"
import { ArchiveMetrics } from "../../../src/engine/archive/ArchiveMetrics.ts"
import type { Step } from "../../../src/engine/archive/jobs/Jobs.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { busy, found, running } from "../../engine/archive/fixture.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"

describe("The state of a server", () => {
  it.live(
    "has sizes and archives, refuses a second archive at a time, and reports the failure of one",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporaryFolder
        const host = yield* makeWorkerHost({ background: false })
        const metrics = new Metrics()
        const copying = yield* Deferred.make<void>()
        const mayGoOn = yield* Deferred.make<void>()
        const onStep = (step: Step) =>
          step === "copied"
            ? Effect.andThen(Deferred.succeed(copying, undefined), Deferred.await(mayGoOn))
            : Effect.void
        const { archives, close, engine } = yield* running({
          directory,
          host,
          onStep,
          metrics: new ArchiveMetrics(metrics, undefined, Date.now),
          engine: { metrics },
        })
        yield* found(engine)
        yield* busy(engine, 20)
        const { config } = readConfig({ LAUREL_DATA_DIR: directory, LAUREL_ARCHIVE_DAILY: "3" })
        const state = yield* makeServerState({
          archives,
          config: Result.getOrThrow(config),
          metrics,
        })
        // Nothing listens there.
        const away = { LAUREL_DATA_DIR: directory, LAUREL_CLUSTER: "postgres://u@127.0.0.1:1/x" }
        const inCluster = yield* makeServerState({
          archives,
          config: Result.getOrThrow(readConfig(away).config),
          metrics,
        })
        expect((yield* inCluster.read).cluster).toEqual({
          failure: expect.stringContaining("ECONNREFUSED"),
        })
        const before = yield* state.read
        expect(before).toMatchObject({
          users: 20,
          isMakingArchive: false,
          archiveAgeMs: undefined,
          shippedArchiveAgeMs: undefined,
          isOverloaded: false,
          cluster: undefined,
        })
        expect(before.journalBytes).toBeGreaterThan(1_000)
        expect(before.databaseBytes).toBeGreaterThan(1_000)
        expect(before.dataFreeBytes).toBeGreaterThan(0)
        expect(before.archivesFreeBytes).toBeGreaterThan(0)
        expect(new Map(before.limits).get("Archives kept")).toBe("24 hourly, 3 daily")
        expect(yield* state.archives).toEqual([])
        expect(yield* state.runbook).toContain("# The data directory")

        yield* state.createArchive
        expect((yield* state.read).isMakingArchive).toBe(true)
        yield* Deferred.await(copying)
        const refused = yield* Effect.flip(state.createArchive)
        expect(refused.code).toBe("conflict")
        yield* Deferred.succeed(mayGoOn, undefined)
        // Waits for the one under way.
        yield* archives.create({ reason: "schedule" })
        const [second, first, ...others] = yield* state.archives
        expect(others).toEqual([])
        expect(first).toMatchObject({ isGood: true, reason: "request", users: 20 })
        expect(first!.bytes).toBeGreaterThan(1_000)
        expect(second).toMatchObject({ reason: "schedule" })
        const after = yield* state.read
        expect(after).toMatchObject({ isMakingArchive: false, archiveFailure: undefined })
        expect(after.archiveAgeMs).toBeGreaterThan(0)

        // The job finds no data.
        yield* Effect.promise(() => rm(`${directory}/live/data.mdb`))
        yield* state.createArchive
        yield* Effect.ignore(archives.create({ reason: "schedule" }))
        expect((yield* state.read).archiveFailure).toMatch(/./)
        yield* close("kill")
      }),
  )
})

describe("Archives", () => {
  const hour = 3_600_000
  const fine = { failure: undefined, intervalMs: hour, ageMs: hour, upMs: 10 * hour }

  it("are in trouble after a failure, and when two intervals passed without a good one", () => {
    expect(archiveTrouble(fine)).toBeUndefined()
    expect(archiveTrouble({ ...fine, ageMs: 2 * hour })).toBeUndefined()
    expect(archiveTrouble({ ...fine, ageMs: 3 * hour })).toBe(
      "The newest good archive is 3 hours old.",
    )
    expect(archiveTrouble({ ...fine, ageMs: undefined })).toMatch(/^No archive was made/)
    expect(archiveTrouble({ ...fine, failure: "no room" })).toMatch(/made: no room$/)
  })

  it("are in no trouble soon after a start, nor without a schedule", () => {
    expect(archiveTrouble({ ...fine, ageMs: 30 * hour, upMs: hour })).toBeUndefined()
    expect(archiveTrouble({ ...fine, ageMs: 30 * hour, intervalMs: null })).toBeUndefined()
  })
})
