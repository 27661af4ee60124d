/** Starts an engine on a data directory with many users. Measures the time and the memory. */
import { Effect } from "effect"
import { answer } from "../children.ts"
import { heapBytes } from "../heap.ts"
import { environment, withEngine } from "../millionUsers.ts"

export interface OpenReport {
  readonly durationMs: number
  readonly users: number
  readonly bytes: number
}

await answer(({ directory }: { readonly directory: string }) => {
  const before = heapBytes()
  const startedAt = performance.now()
  return withEngine({ directory }, (engine) =>
    Effect.gen(function* () {
      const durationMs = performance.now() - startedAt
      const { total } = yield* engine.readBoard(environment, { limit: 1, offset: 0 })
      return { durationMs, users: total, bytes: heapBytes() - before }
    }),
  )
})
