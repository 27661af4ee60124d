/** Refusals common to all operations. */
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"

export const internalError = laurelError(
  "internal_error",
  "The server failed; whether the request was applied is unknown.",
)

export const insufficientScope = (scope: string): LaurelError =>
  laurelError("insufficient_scope", `The scope ${scope} does not permit this operation.`)
