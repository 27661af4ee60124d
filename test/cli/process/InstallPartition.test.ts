/** A partition that is replaced while servers run, which then fill their copies. */
import { writeFile } from "node:fs/promises"
import path from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { insistFillable, recordsIn } from "../../../src/cli/process/InstallPartition.ts"
import { ofPartition, readConfig } from "../../../src/config/Config.ts"
import { encodeManifest } from "../../../src/storage/archive/ArchiveManifest.ts"
import * as DurableStorage from "../../../src/storage/durable/DurableStorage.ts"
import { archiveOf, noon } from "../../engine/archive/bucketFixture.ts"
import { numbered } from "../../storage/records.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"

it.live(
  "An installed partition needs an archive up to its journal, unless the journal begins with record 1",
  () =>
    Effect.gen(function* () {
      const base = yield* temporaryFolder
      const elsewhere = path.join(base, "archives")
      const configOf = (more: Record<string, string> = {}) => {
        const settings = { LAUREL_DATA_DIR: path.join(base, "back"), ...more }
        return ofPartition(Result.getOrThrow(readConfig(settings).config), 3)
      }
      const alone = configOf()
      const config = configOf({ LAUREL_ARCHIVE_DIR: elsewhere })
      const padding = "x".repeat(9_000)
      const positions = yield* Effect.scoped(
        Effect.gen(function* () {
          const directory = alone.dataDirectory
          const opened = yield* DurableStorage.open({ directory, segmentBytes: 100_000 })
          const found = new Map<number, number>()
          for (let last = 0; last < 40; last++) {
            yield* opened.storage.append(numbered(last + 1, 1, padding))
            found.set(last + 1, opened.position().checksum)
          }
          yield* insistFillable(alone)
          yield* opened.storage.prune(30)
          return found
        }),
      )
      const { first, last } = yield* recordsIn(alone)
      expect([first > 2, first <= 30, last]).toEqual([true, true, 40])
      const archive = (at: number, sequence: number, checksum: number) =>
        Effect.promise(async () => {
          const manifest = await archiveOf(
            config.archiveDirectory,
            at,
            [],
            Buffer.alloc(1),
            sequence,
          )
          const file = path.join(config.archiveDirectory, manifest.id, "manifest.json")
          await writeFile(file, encodeManifest({ ...manifest, checksum }))
        })
      const isFillable = (of: typeof config) =>
        Effect.map(Effect.result(insistFillable(of)), Result.isSuccess)
      expect(yield* isFillable(config)).toBe(false)
      yield* archive(noon, first - 2, positions.get(first - 2)!)
      yield* archive(noon + 1, first, positions.get(first)! + 1)
      expect(yield* isFillable(config)).toBe(false)
      yield* archive(noon + 2, first - 1, positions.get(first - 1)!)
      expect(yield* isFillable(config)).toBe(true)
      expect((yield* Effect.flip(insistFillable(alone))).message).toContain(
        `begins with record ${first}`,
      )
    }),
)
