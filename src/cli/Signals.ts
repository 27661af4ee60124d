/** SIGTERM and SIGINT: the first asks for an orderly end, the second ends the process at once. */
import { constants } from "node:os"
import { Effect } from "effect"
import { exitCodes } from "./ExitCode.ts"

const signals = ["SIGTERM", "SIGINT"] as const

/** Ends with the name of the first signal; from then on the next one ends the process. */
export const firstSignal: Effect.Effect<NodeJS.Signals> = Effect.callback((resume) => {
  const onFirst = (signal: NodeJS.Signals): void => {
    for (const name of signals) {
      process.off(name, onFirst)
      process.on(name, (second) => process.exit(exitCodes.signal + constants.signals[second]))
    }
    resume(Effect.succeed(signal))
  }
  for (const name of signals) process.on(name, onFirst)
  return Effect.sync(() => {
    for (const name of signals) process.off(name, onFirst)
  })
})
