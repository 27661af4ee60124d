/** Refusals that any request can meet. */
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"

export const shuttingDown = laurelError("shutting_down", "Ask again when the server is back.", {
  retryAfterSeconds: 5,
})

export const internalError = laurelError(
  "internal_error",
  "The request failed for a reason of ours; whether it was applied is unknown.",
)

export const insufficientScope = (scope: string): LaurelError =>
  laurelError("insufficient_scope", `A key with the scope ${scope} may not do this.`)
