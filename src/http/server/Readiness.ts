/** Whether the service accepts requests, for `/readyz`. The program says so; the HTTP server only looks. */
import { Context, Layer } from "effect"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { shuttingDown } from "../../engine/actor/refusals.ts"

export interface ReadinessState {
  phase: "starting" | "ready" | "stopping"
  /** What a start is at, as a sentence, for people. */
  doing: string
}

/** Starting, until somebody says otherwise. */
export const newReadiness = (): ReadinessState => ({
  phase: "starting",
  doing: "Opening the data directory.",
})

export class Readiness extends Context.Service<Readiness, ReadinessState>()(
  "http/server/Readiness",
) {
  static readonly layer = Layer.sync(Readiness, newReadiness)
}

/** Why it is not ready; `undefined` when it is. */
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
