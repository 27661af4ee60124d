/** Opens the clock of an engine at the newest time of its data; its steps are logged and counted. */
import { Clock, Effect } from "effect"
import type { EngineMetrics } from "../metrics/EngineMetrics.ts"
import { type ClockStep, EngineClock } from "./Clock.ts"

/** Makes the clock; it begins at `latest`, the newest time of the data. */
export const openClock = Effect.fnUntraced(function* (
  latest: number | undefined,
  jumpMsMax: number,
  metrics: EngineMetrics,
): Effect.fn.Return<EngineClock> {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const clock = new EngineClock({
    clock: yield* Clock.Clock,
    latest,
    jumpMsMax,
    onStep: (step) => {
      if (step.kind === "refused") metrics.clockJumpRefused()
      run(logStep(step))
    },
  })
  metrics.observeClock(clock)
  return clock
})

const logStep = (step: ClockStep): Effect.Effect<void> => {
  switch (step.kind) {
    case "refused":
      return Effect.annotateLogs(Effect.logError(step.untilAllowed ? tooFar : jumped), {
        aheadSeconds: seconds(step.aheadMs),
      })
    case "believed":
      return Effect.annotateLogs(
        Effect.logWarning("The machine's clock kept its jump ahead and is followed again"),
        { aheadSeconds: seconds(step.aheadMs) },
      )
    case "withdrawn":
      return Effect.annotateLogs(
        Effect.logWarning("The machine's clock is back from its jump ahead, which was ignored"),
        { aheadSeconds: seconds(step.aheadMs) },
      )
    case "behind":
      return Effect.annotateLogs(
        Effect.logWarning(
          "The machine's clock is behind the newest time of the data. The server's time runs a tenth slower until the clock has caught up",
        ),
        { behindSeconds: seconds(step.behindMs) },
      )
  }
}

const jumped =
  "The machine's clock jumped ahead. It is ignored until the jump has lasted for a minute"
const tooFar =
  "The machine's clock jumped ahead further than LAUREL_CLOCK_JUMP_MAX and is ignored. If the clock is right, start once with a larger value"

const seconds = (ms: number): number => Math.round(ms / 1_000)
