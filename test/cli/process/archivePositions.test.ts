import { randomBytes } from "node:crypto"
import path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { archivePositions } from "../../../src/cli/process/OpenClusterStorage.ts"
import { readConfig } from "../../../src/config/Config.ts"
import { isoTime } from "../../../src/domain/values/isoTime.ts"
import { writeVerification } from "../../../src/storage/archive/ArchiveCatalog.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import { archiveOf, hour, noon } from "../../engine/archive/bucketFixture.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"

describe("The archives that PostgreSQL may rely on", () => {
  it.live("are only those in the bucket if there is a bucket", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const made = [noon, noon + hour].map((at, n) =>
        Effect.promise(() => archiveOf(folder, at, [], randomBytes(9), n + 1)),
      )
      const [first] = yield* Effect.all(made)
      const config = Result.getOrThrow(readConfig({ LAUREL_ARCHIVE_DIR: folder }).config)
      const shipped = new Set<string>()
      const lastOf = (bucket: ReadonlySet<string> | undefined) =>
        Effect.map(archivePositions(config, bucket), (positions) =>
          positions.map(({ lastSequence }) => lastSequence),
        )
      expect(yield* lastOf(undefined)).toEqual([1, 2])
      expect(yield* lastOf(shipped)).toEqual([])
      shipped.add(first!.id)
      expect(yield* lastOf(shipped)).toEqual([1])
    }),
  )

  it.live("exclude archives that a check found damaged", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const made = [noon, noon + hour].map((at, n) =>
        Effect.promise(() => archiveOf(folder, at, [], randomBytes(9), n + 1)),
      )
      const [first] = yield* Effect.all(made)
      const config = Result.getOrThrow(readConfig({ LAUREL_ARCHIVE_DIR: folder }).config)
      const last = Effect.map(archivePositions(config, undefined), (positions) =>
        positions.map(({ lastSequence }) => lastSequence),
      )
      const check = (faultCount: number) =>
        writeVerification(nodeDisk, path.join(folder, first!.id), {
          format: 1,
          at: isoTime(noon),
          faults: [],
          faultCount,
        })
      yield* check(0)
      expect(yield* last).toEqual([1, 2])
      yield* check(1)
      expect(yield* last).toEqual([2])
    }),
  )
})
