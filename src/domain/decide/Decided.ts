/** The outcome of a command to an environment or the directory: its facts, or a refusal with one of some codes. */
import type { Result } from "effect"
import type { Fact } from "../record/Record.ts"
import { type ErrorCode, type LaurelError, refuse } from "../values/Errors.ts"

export type Decided<Code extends ErrorCode = ErrorCode> = Result.Result<
  ReadonlyArray<Fact>,
  LaurelError<Code>
>

/** Refuses a definition beyond the `max` that an environment holds. */
export const quotaExceeded = (max: number, things: string) =>
  refuse("quota_exceeded", `An environment holds at most ${max} ${things}.`)
