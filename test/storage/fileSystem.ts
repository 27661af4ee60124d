/** A small file system for tests, which can be filled to the last page. */
import { execFileSync } from "node:child_process"
import { readdir, rm, writeFile } from "node:fs/promises"
import path from "node:path"
import { Effect } from "effect"
import { temporaryFolder } from "./temporaryFolder.ts"

/** A file system of its own, as large as this; `undefined` where this user may not mount one. */
export const mounted = Effect.fnUntraced(function* (mebibytes: number) {
  const folder = yield* temporaryFolder
  const mount = Effect.try(() => {
    const options = `size=${mebibytes}m`
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder], { stdio: "ignore" })
    return folder
  })
  return yield* Effect.acquireRelease(
    Effect.orElseSucceed(mount, () => undefined),
    (at) => Effect.sync(() => at && execFileSync("umount", ["-l", at])),
  )
})

/** Takes all space that is left, and gives it back. */
export const ballastIn = (folder: string) => {
  const file = path.join(folder, "ballast")
  return {
    take: Effect.promise(async () => {
      const piece = Buffer.alloc(1_048_576)
      for (const size of [piece.length, 4_096]) {
        for (let n = 0; ; n++) {
          const name = `${file}-${size}-${n}`
          const full = await writeFile(name, piece.subarray(0, size)).then(
            () => false,
            () => true,
          )
          if (full) break
        }
      }
    }),
    giveBack: Effect.promise(async () => {
      for (const name of await readdir(folder)) {
        if (name.startsWith("ballast")) await rm(path.join(folder, name))
      }
    }),
  }
}
