/** The loop that ships a server's archives, with its real process and a real S3 server. */
import { randomBytes } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger, Queue } from "effect"
import { ShipmentMetrics, Shipments } from "../../../src/engine/archive/bucket/Shipments.ts"
import { makeWorkerHost } from "../../../src/engine/archive/jobs/WorkerHost.ts"
import { Metrics } from "../../../src/metrics/Metrics.ts"
import { refuse } from "../../storage/bucket/server.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { archiveOf, bucketIn, hour, noon } from "./bucketFixture.ts"

describe("The shipping of a server's archives", () => {
  it.live("begins at the start, goes on after a failure, and ships what is made", () =>
    Effect.gen(function* () {
      const s3 = yield* bucketIn()
      const folder = yield* temporaryFolder
      const make = (at: number) => Effect.promise(() => archiveOf(folder, at, [], randomBytes(9)))
      const first = yield* make(noon)
      const metrics = new Metrics()
      const listed = yield* Queue.unbounded<ReadonlyArray<string>>()
      const lines = yield* Queue.unbounded<string>()
      const logger = Logger.make((entry) => {
        Queue.offerUnsafe(lines, Logger.formatLogFmt.log(entry))
      })
      const shipments = new Shipments({
        archives: folder,
        retention: { hourly: 24, daily: 7 },
        place: s3.place,
        host: yield* makeWorkerHost({ background: false }),
        metrics: new ShipmentMetrics(metrics, () => noon + 2 * hour),
        onShipped: (ids) => Queue.offerUnsafe(listed, ids),
        retryMs: 1,
      })
      const count = (outcome: string) => metrics.value("laurel_shipped_archives_total", { outcome })
      expect(metrics.value("laurel_shipped_archive_age_seconds")).toBe(0)
      const { secretAccessKey } = s3.place
      s3.fault = (_, response) => refuse(response, 403, "AccessDenied", `${secretAccessKey}!`)
      yield* Effect.forkScoped(shipments.run.pipe(Effect.provide(Logger.layer([logger]))))
      const failed = yield* Queue.take(lines)
      expect(failed).toContain("Archives could not be shipped; they are on this machine alone")
      expect(failed).toMatch(/AccessDenied: \[secret\]!/)
      expect(count("failed")).toBe(1)
      s3.fault = undefined
      expect(yield* Queue.take(listed)).toEqual([first.id])
      expect([count("sent"), metrics.value("laurel_shipped_archive_age_seconds")]).toEqual([
        1, 7_200,
      ])
      const second = yield* make(noon + hour)
      shipments.wake()
      expect(yield* Queue.take(listed)).toEqual([first.id, second.id])
      expect([count("sent"), metrics.value("laurel_shipped_archive_age_seconds")]).toEqual([
        2, 3_600,
      ])
    }).pipe(Effect.scoped),
  )
})
