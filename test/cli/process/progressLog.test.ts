/** Log lines about a long opening. */
import { expect, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { withProgressLog } from "../../../src/cli/process/OpenServices.ts"
import { limits } from "../../../src/Limits.ts"
import { advance } from "../../cluster/advance.ts"

it.effect("Log lines about an opening end with the opening, also if it fails", () => {
  let lines = 0
  const counting = Logger.layer([Logger.make(() => void lines++)])
  const opening = Effect.andThen(
    Effect.sleep(2.5 * limits.startLogEveryMs),
    Effect.fail("no space"),
  )
  return Effect.gen(function* () {
    // Its fiber goes on after the failure.
    const server = Effect.andThen(
      Effect.ignore(withProgressLog({ doing: "Opening." }, opening)),
      Effect.never,
    )
    yield* Effect.forkChild(server)
    yield* advance(2 * limits.startLogEveryMs)
    expect(lines).toBe(2)
    yield* advance(10 * limits.startLogEveryMs)
    expect(lines).toBe(2)
  }).pipe(Effect.provide(counting))
})
