/** The outcome of a command to an environment or the directory: its facts, or a refusal. */
import { Result } from "effect"
import type { Fact } from "../record/Record.ts"
import { type ErrorCode, type LaurelError, laurelError } from "../values/Errors.ts"

export type Decided = Result.Result<ReadonlyArray<Fact>, LaurelError>

export const refuse = (code: ErrorCode, detail: string) => Result.fail(laurelError(code, detail))

/** Refuses a definition beyond the `max` that an environment holds. */
export const quotaExceeded = (max: number, things: string) =>
  refuse("quota_exceeded", `An environment holds at most ${max} ${things}.`)
