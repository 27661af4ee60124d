/** Definitions as if commands to the project had been accepted: nothing of it is stored. */
import { Result } from "effect"
import {
  decideProject,
  type ProjectCommand,
  type ProjectRefusals,
} from "../../domain/decide/Project.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import { applyProject } from "../../domain/record/applyProject.ts"
import { type Fault, invalidRequest, type LaurelError } from "../../domain/values/Errors.ts"

/** The kinds of commands that can be tried. */
export type DraftKind = `${"create" | "update"}${"Badge" | "Quest" | "Rule"}` | "updateSettings"

/** A command that is tried; faults of it get pointers that begin with `pointer`, such as `/rule`. */
export interface DraftCommand<Kind extends DraftKind = DraftKind> {
  readonly pointer: string
  readonly command: Extract<ProjectCommand, { readonly kind: Kind }>
}

/**
 * The cost of trying drafts besides the decision, in units of `Matching.work` (0.04 µs): copying and indexing a definition
 * takes up to 1.6 µs, most for conditions on the action of the event.
 */
export const draftWork = ({ badges, quests, rules }: ProjectState): number =>
  40 * (rules.size + quests.size + badges.size)

/**
 * `project` after `drafts`, in their order; a refusal has the faults of all. The state is whole, though an event needs the
 * definitions of its action alone: the index of the next accepted change shares the conditions of the state that was
 * indexed before it (`ActionIndex.ts`), which may be this one.
 */
export const withDrafts = (
  project: ProjectState,
  environment: string,
  drafts: ReadonlyArray<DraftCommand>,
  now: number,
): Result.Result<ProjectState, LaurelError<ProjectRefusals[DraftKind]>> => {
  const subject = { actor: "project", environment } as const
  const cause = { kind: "request" } as const
  const faults: Array<Fault> = []
  let state = project
  for (const { command, pointer } of drafts) {
    const decided = decideProject(state, command, now)
    if (Result.isSuccess(decided)) {
      const { sequence } = state
      state = applyProject(state, { sequence, at: now, subject, cause, facts: decided.success })
    } else if (decided.failure.errors === undefined) {
      return Result.fail(decided.failure)
    } else {
      const { errors } = decided.failure
      faults.push(...errors.map((fault) => ({ ...fault, pointer: `${pointer}${fault.pointer}` })))
    }
  }
  return faults.length > 0 ? Result.fail(invalidRequest(faults)) : Result.succeed(state)
}
