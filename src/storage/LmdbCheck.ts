/** What is checked before LMDB opens an environment, and what is said where it must not. */
import { Effect } from "effect"
import { checkPages, makeAnew } from "./LmdbPages.ts"
import { nextTurn } from "./nextTurn.ts"
import { Broken } from "./Storage.ts"

/** Fails where LMDB must not open the environment in `folder`; checks the `whole` of it or only what leads to the rest. */
export const checkDatabase = Effect.fnUntraced(function* (
  folder: string,
  whole: boolean,
  onChecking: ((done: number, total: number) => void) | undefined,
): Effect.fn.Return<void, Broken> {
  const startedAt = performance.now()
  const check = checkPages(folder, { whole })
  const step = Effect.try({
    try: () => check.next(),
    catch: (cause) => new Broken({ operation: "open", cause }),
  })
  let found = yield* step
  let pages = 0
  while (found.done !== true) {
    pages = found.value.done
    onChecking?.(pages, found.value.total)
    yield* nextTurn
    found = yield* step
  }
  const { fault } = found.value
  if (fault !== undefined) {
    return yield* new Broken({ operation: "open", cause: new Error(`${fault}. ${makeAnew}`) })
  }
  if (!whole || pages === 0) return
  const durationMs = Math.round(performance.now() - startedAt)
  yield* Effect.logInfo(
    "The last end was not in order: the pages of the database were checked",
  ).pipe(Effect.annotateLogs({ pages, durationMs }))
})
