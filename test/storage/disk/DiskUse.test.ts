import { mkdir, symlink, writeFile } from "node:fs/promises"
import path from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { bytesUnder, roomAt } from "../../../src/cli/process/DataUse.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

it.live(
  "the use of a folder is the sum of its files at any depth, and links are not followed",
  () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const deep = path.join(folder, "measured/a/b")
      yield* Effect.promise(() => mkdir(deep, { recursive: true }))
      const measured = bytesUnder(path.join(folder, "measured"))
      expect(yield* measured).toBe(0)
      const mebibyte = Buffer.alloc(2 ** 20, 1)
      yield* Effect.promise(async () => {
        await writeFile(path.join(deep, "one"), mebibyte)
        await writeFile(path.join(folder, "measured/two"), mebibyte)
        await writeFile(path.join(folder, "outside"), mebibyte)
        await symlink("../outside", path.join(folder, "measured/link"))
        await symlink("..", path.join(folder, "measured/circle"))
      })
      const bytes = yield* measured
      expect(bytes).toBeGreaterThanOrEqual(2 * 2 ** 20)
      expect(bytes).toBeLessThan(2.5 * 2 ** 20)
    }),
)

it.live("a missing folder uses nothing; a file has no use as a folder", () =>
  Effect.gen(function* () {
    const folder = yield* temporaryFolder
    expect(yield* bytesUnder(path.join(folder, "missing"))).toBe(0)
    expect(yield* roomAt(path.join(folder, "missing"))).toBeUndefined()
    yield* Effect.promise(() => writeFile(path.join(folder, "file"), "text"))
    expect(yield* bytesUnder(path.join(folder, "file"))).toBeUndefined()
    const room = yield* roomAt(folder)
    expect(room!.free).toBeGreaterThan(0)
    expect(room!.total).toBeGreaterThanOrEqual(room!.free)
  }),
)
