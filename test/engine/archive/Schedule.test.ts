import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { Archives, archiveOnSchedule } from "../../../src/engine/archive/Archives.ts"
import { JobFailed } from "../../../src/engine/archive/jobs/Jobs.ts"
import { limits } from "../../../src/Limits.ts"
import { manifest } from "../../storage/manifest.ts"

const minute = 60_000
const start = Date.UTC(2026, 10, 21, 10)

/**
 * A schedule of one archive an hour, where the newest is `ageMinutes` old and there is data for 10 minutes.
 * `pass` lets minutes pass, and tells at which of them archives were tried.
 */
const scheduled = Effect.fnUntraced(function* (
  ageMinutes: number | undefined,
  outcome: (n: number) => "made" | "failed" | "defect" = () => "made",
) {
  yield* TestClock.setTime(start)
  let newest = ageMinutes === undefined ? undefined : start - ageMinutes * minute
  const tried: Array<number> = []
  const service = Archives.of({
    list: Effect.succeed([]),
    isMaking: () => false,
    position: () => ({ lastSequence: 0, checksum: 0 }),
    create: () =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const how = outcome(tried.push((now - start) / minute) - 1)
        if (how === "failed") return yield* new JobFailed({ kind: "failed", detail: "no" })
        if (how === "defect") return yield* Effect.die("a defect")
        newest = Math.max(newest ?? 0, now)
        return { ...manifest, createdAt: new Date(now).toISOString() }
      }),
  })
  const newestAt = Effect.sync(() => newest)
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const schedule = { intervalMs: 60 * minute, newestAt, now, since: start - 10 * minute }
  yield* Effect.forkScoped(archiveOnSchedule(service, schedule), { startImmediately: true })
  const pass = Effect.fnUntraced(function* (minutes: number) {
    for (let n = 0; n < minutes; n++) yield* TestClock.adjust(minute)
    return tried.splice(0)
  })
  const made = () => {
    newest = start + 20 * minute
  }
  return { made, pass }
})

describe("The schedule of archives", () => {
  it.effect("counts from the newest archive, also over a restart", () =>
    Effect.gen(function* () {
      const { pass } = yield* scheduled(25)
      expect(yield* pass(34)).toEqual([])
      expect(yield* pass(130)).toEqual([35, 95, 155])
    }),
  )

  it.effect("counts from the first data where there is no archive", () =>
    Effect.gen(function* () {
      const { pass } = yield* scheduled(undefined)
      expect(yield* pass(60)).toEqual([50])
    }),
  )

  it.effect("makes one at once when it is overdue", () =>
    Effect.gen(function* () {
      const { pass } = yield* scheduled(3_000)
      expect(yield* pass(1)).toEqual([0])
    }),
  )

  it.effect("makes none while one that was asked for is new enough", () =>
    Effect.gen(function* () {
      const { made, pass } = yield* scheduled(25)
      expect(yield* pass(20)).toEqual([])
      made()
      expect(yield* pass(60)).toEqual([80])
    }),
  )

  it.effect("is not put off for long by a clock that was ahead", () =>
    Effect.gen(function* () {
      const { pass } = yield* scheduled(-30_000)
      expect(yield* pass(190)).toEqual([60, 120, 180])
    }),
  )

  it.effect("tries again sooner after a failure or a defect", () =>
    Effect.gen(function* () {
      const ends = ["failed", "defect", "made"] as const
      const { pass } = yield* scheduled(60, (n) => ends[n % 3]!)
      const retry = limits.archiveRetryMs / minute
      expect(yield* pass(2 * retry + 60)).toEqual([0, retry, 2 * retry, 2 * retry + 60])
    }),
  )
})
