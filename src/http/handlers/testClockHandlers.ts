import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import { isoTime, isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { TestClocks } from "../api/TestClock.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { isProduction } from "./Shapes.ts"

export const testClockHandlers = (engine: Engine["Service"]): Handlers<typeof TestClocks> => ({
  get: {
    handle: ({ caller }) =>
      Effect.map(sandboxOf(caller), (environment) => ({ body: show(engine, environment) })),
  },
  advance: {
    handle: ({ caller, idempotency, payload }) =>
      Effect.gen(function* () {
        const environment = yield* sandboxOf(caller)
        const command = { kind: "advanceClock", to: Date.parse(payload.advanceTo) } as const
        const { replayed } = yield* engine.askProject(environment, command, idempotency)
        yield* Effect.timeoutOption(engine.testClockReady(environment), limits.testClockWaitMs)
        return { body: show(engine, environment), replayed }
      }),
  },
})

/** The environment of a caller of a sandbox: no other one reaches the engine. */
const sandboxOf = (caller: Caller) =>
  isProduction(caller) ? Effect.fail(sandboxOnly) : Effect.succeed(caller.environment)

const sandboxOnly = laurelError("sandbox_only", "Production has no test clock: its time is real.")

const show = (engine: Engine["Service"], environment: string) => {
  const { testClock } = engine.projectNow(environment)
  return {
    now: isoTime(engine.timeIn(environment)),
    advancedByMs: testClock?.aheadMs ?? 0,
    advancedTo: isoTimeOrNull(testClock?.target ?? null),
    status: testClock?.status ?? ("ready" as const),
  }
}
