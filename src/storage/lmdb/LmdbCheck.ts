/** What is checked before LMDB opens an environment, and what is said where it must not. */
import fs from "node:fs"
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { Broken } from "../Storage.ts"
import { yieldToEventLoop } from "../yieldToEventLoop.ts"
import { checkPages, dataFile, makeAnew } from "./LmdbPages.ts"

const attempt = <A>(run: () => A): Effect.Effect<A, Broken> =>
  Effect.try({ try: run, catch: (cause) => new Broken({ operation: "open", cause }) })

const isSmall = (folder: string): boolean => {
  const found = fs.statSync(dataFile(folder), { throwIfNoEntry: false })
  return found === undefined || found.size <= limits.databaseCheckedBytesMax
}

/**
 * Fails where LMDB must not open the environment in `folder`: checks all of it where it is small or `mistrusted`, else
 * only what leads to the rest.
 */
export const checkDatabase = Effect.fnUntraced(function* (
  folder: string,
  mistrusted: boolean,
  onChecking: ((done: number, total: number) => void) | undefined,
): Effect.fn.Return<void, Broken> {
  const startedAt = performance.now()
  const whole = mistrusted || (yield* attempt(() => isSmall(folder)))
  const check = checkPages(folder, { whole })
  const step = attempt(() => check.next())
  let found = yield* step
  let pages = 0
  while (found.done !== true) {
    pages = found.value.done
    onChecking?.(pages, found.value.total)
    yield* yieldToEventLoop
    found = yield* step
  }
  const { fault } = found.value
  if (fault !== undefined) {
    return yield* new Broken({ operation: "open", cause: new Error(`${fault}. ${makeAnew}`) })
  }
  if (!mistrusted || pages === 0) return
  const durationMs = Math.round(performance.now() - startedAt)
  yield* Effect.logInfo(
    "The last end was not in order: the pages of the database were checked",
  ).pipe(Effect.annotateLogs({ pages, durationMs }))
})
