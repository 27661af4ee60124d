/**
 * The outcome of a command to an environment or the directory: its facts, or a refusal with one of
 * `Code`.
 */
import type { Result } from "effect"
import type { Fact } from "../record/Record.ts"
import { differences } from "../values/differences.ts"
import { type ErrorCode, type Fault, type LaurelError, laurelError } from "../values/Errors.ts"

export type Decided<Code extends ErrorCode = ErrorCode> = Result.Result<
  ReadonlyArray<Fact>,
  LaurelError<Code>
>

/**
 * The versions that a command may change: `*` or absent for every version. The project's actor
 * decides it together with the command: of two editors who saw one version, one changes it.
 */
export interface Conditional {
  readonly ifMatch?: IfMatch
}

export type IfMatch = "*" | ReadonlyArray<number>

/** The refusal of a conditional command, which would change `version`; `undefined`: it may. */
export const versionConflict = (
  { ifMatch = "*" }: Conditional,
  version: number,
): LaurelError<"version_conflict"> | undefined =>
  ifMatch === "*" || ifMatch.includes(version)
    ? undefined
    : laurelError("version_conflict", `It has version ${version}. Nothing was changed.`, {
        version,
      })

/**
 * Whether two definitions are equal except for their versions. The order of members does not matter.
 */
export const noChange = (before: object, after: object): boolean =>
  differences({ ...before, ...sameVersion }, { ...after, ...sameVersion }, 1).length === 0

const sameVersion = { version: 0, updatedAt: 0 }

/** The fault of a key in a file that names an archived definition. */
export const archivedFault: Fault = {
  pointer: "/key",
  code: "unknown_reference",
  detail: "names an archived definition, which cannot change: use another key",
}
