/** The state that `/readyz` shows. The program sets it, and the HTTP server reads it. */
import { Context, Layer } from "effect"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { shuttingDown } from "../../engine/actor/Actor.ts"

export interface ReadinessState {
  phase: "starting" | "ready" | "stopping"
  /** The progress of the start, as a sentence for people. */
  doing: string
}

/** The state at the beginning of a start. */
export const newReadiness = (): ReadinessState => ({
  phase: "starting",
  doing: "Opening the data directory.",
})

export class Readiness extends Context.Service<Readiness, ReadinessState>()(
  "http/server/Readiness",
) {
  static readonly layer = Layer.sync(Readiness, newReadiness)
}

/** The refusal of a server that is not ready; `undefined` if it is ready. */
export const notReady = ({ doing, phase }: ReadinessState): LaurelError | undefined => {
  switch (phase) {
    case "ready":
      return undefined
    case "starting":
      return laurelError("starting", doing, { retryAfterSeconds: 1 })
    case "stopping":
      return shuttingDown
  }
}
