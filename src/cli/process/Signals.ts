/**
 * SIGTERM and SIGINT. The first signal asks for an orderly shutdown; a second signal ends the
 * process at once. Under npm a key press arrives twice, from the terminal and from npm: the echo is
 * ignored.
 */
import { constants } from "node:os"
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { exitCodes } from "../output/ExitCode.ts"

const signals = ["SIGTERM", "SIGINT"] as const

/** The meaning of each signal. Times are milliseconds of a clock that only goes forward. */
export class SignalReader {
  #first: { readonly signal: string; readonly at: number } | undefined

  read(signal: string, now: number): "first" | "echo" | "again" {
    if (this.#first === undefined) {
      this.#first = { signal, at: now }
      return "first"
    }
    const { at, signal: first } = this.#first
    return signal === first && now - at < limits.signalEchoMs ? "echo" : "again"
  }
}

/** Ends with the name of the first signal. From then on the next signal ends the process. */
export const firstSignal: Effect.Effect<NodeJS.Signals> = Effect.callback((resume) => {
  const reader = new SignalReader()
  const receive = (signal: NodeJS.Signals): void => {
    const meaning = reader.read(signal, performance.now())
    if (meaning === "first") resume(Effect.succeed(signal))
    else if (meaning === "again") process.exit(exitCodes.signal + constants.signals[signal])
  }
  // The listeners stay until the process ends, for the second signal.
  for (const name of signals) process.on(name, receive)
})
