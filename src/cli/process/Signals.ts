/**
 * SIGTERM and SIGINT: the first asks for an orderly shutdown, another one ends the process at once. Under npm a key press
 * arrives twice, from the terminal and from npm; the echo is ignored.
 */
import { constants } from "node:os"
import { Effect } from "effect"
import { limits } from "../../Limits.ts"
import { exitCodes } from "../output/ExitCode.ts"

const signals = ["SIGTERM", "SIGINT"] as const

/** Tells what each signal means. Times are milliseconds of a clock that only goes forward. */
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

/** Ends with the name of the first signal; from then on the next one ends the process. */
export const firstSignal: Effect.Effect<NodeJS.Signals> = Effect.callback((resume) => {
  const reader = new SignalReader()
  const receive = (signal: NodeJS.Signals): void => {
    const meaning = reader.read(signal, performance.now())
    if (meaning === "first") resume(Effect.succeed(signal))
    else if (meaning === "again") process.exit(exitCodes.signal + constants.signals[signal])
  }
  // They stay for the rest of the process, to hear the second one.
  for (const name of signals) process.on(name, receive)
})
