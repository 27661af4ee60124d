/** The codes of the engine's verbs, and the refusals of commands of any kind. */
import type { UserRefusal } from "../../domain/decide/Decide.ts"
import type { ProjectCommand, ProjectRefusals } from "../../domain/decide/Project.ts"
import type { UserCommand } from "../../domain/record/Record.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import type { Idempotency, IdempotencyCode } from "../dedupe/Idempotency.ts"

/** The only code of a read: the storage failed. */
export type StorageCode = "storage_unavailable"

/** The codes with which the intake refuses commands, and a batch as a whole. */
export type IntakeCode = StorageCode | "shutting_down" | "overloaded"

/** The codes of the engine itself for commands of any kind. */
export type EngineCode = IntakeCode | "internal_error"

/** The codes of a command asked with `Asked`: only an Idempotency-Key can be reused or in progress. */
type KeyCode<Asked> = Asked extends Idempotency ? IdempotencyCode : never

/** All codes of a user's command. Its record may be too large: rules, quests and badges add to it. */
export type UserCode<Command extends UserCommand, Asked = undefined> =
  | EngineCode
  | "body_too_large"
  | UserRefusal<Command>
  | KeyCode<Asked>

/** All codes of a command to an environment. Its record holds little beyond a body, except the results of a batch. */
export type ProjectCode<Command extends ProjectCommand, Asked = undefined> =
  | EngineCode
  | (Command extends { readonly kind: "keepBatch" } ? "body_too_large" : never)
  | ProjectRefusals[Command["kind"]]
  | KeyCode<Asked>

/** A refusal by the engine itself. */
export type EngineRefusal = LaurelError<EngineCode | "body_too_large">

export const shuttingDown = laurelError("shutting_down", "Retry when the server is back.", {
  retryAfterSeconds: 5,
})
export const outcomeUnknown = laurelError(
  "storage_unavailable",
  "The outcome is unknown: repeat the request with the same id or Idempotency-Key.",
  { retryAfterSeconds: 5 },
)
export const storageUnavailable = laurelError("storage_unavailable", "Nothing was changed.", {
  retryAfterSeconds: 5,
})
export const overloaded = laurelError("overloaded", "Nothing was changed.", {
  retryAfterSeconds: 1,
})
