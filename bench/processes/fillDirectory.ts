/**
 * Fills a data directory with `users` users of one event each, all of them warm, and measures their
 * memory. Messages are parsed from JSON, so that strings are like those of a server.
 */
import { Effect } from "effect"
import type { UserMessage } from "../../src/engine/Engine.ts"
import { answer } from "../children.ts"
import { lessonDone, lessonRule, newEventId, userIdAt } from "../events.ts"
import { heapBytes } from "../heap.ts"
import { environment, withEngine } from "../millionUsers.ts"

export interface FillOptions {
  readonly directory: string
  readonly users: number
}

const together = 1_000

const message = (n: number): UserMessage =>
  JSON.parse(
    JSON.stringify({
      userId: userIdAt(n),
      command: {
        kind: "event",
        id: newEventId(),
        ...lessonDone(userIdAt(n)),
        userId: undefined,
      },
    }),
  )

await answer(({ directory, users }: FillOptions) =>
  withEngine({ directory }, (engine) =>
    Effect.gen(function* () {
      yield* engine.askProject(environment, lessonRule)
      const before = heapBytes()
      for (let n = 0; n < users; n += together) {
        const messages = Array.from({ length: Math.min(together, users - n) }, (_, index) =>
          message(n + index),
        )
        for (const outcome of yield* engine.askUsers(environment, messages)) {
          if (!("xp" in outcome)) return yield* Effect.die(outcome)
        }
      }
      // With the last snapshot nothing is kept for a next one.
      yield* engine.drain
      return { bytesPerNewUser: (heapBytes() - before) / users }
    }),
  ),
)
