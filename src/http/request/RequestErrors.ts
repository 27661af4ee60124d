/** Refusals that any request can meet. */
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"

export const internalError = laurelError(
  "internal_error",
  "The request failed for a reason of ours; whether it was applied is unknown.",
)

export const insufficientScope = (scope: string): LaurelError =>
  laurelError("insufficient_scope", `A key with the scope ${scope} may not do this.`)
