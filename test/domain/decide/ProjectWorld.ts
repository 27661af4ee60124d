/** A project that commands are decided on, one after the other, as its actor does it. */

import { Result } from "effect"
import { decideProject, type ProjectCommand } from "../../../src/domain/decide/Project.ts"
import { type Status, statusAt } from "../../../src/domain/project/Definition.ts"
import { emptyProject, type ProjectState } from "../../../src/domain/project/Project.ts"
import { applyProject } from "../../../src/domain/record/applyProject.ts"
import type { Fact } from "../../../src/domain/record/Record.ts"
import type { LaurelError } from "../../../src/domain/values/Errors.ts"

export class ProjectWorld {
  state: ProjectState = emptyProject
  now = Date.parse("2026-11-01T12:00:00Z")
  /** Decides and applies; throws the refusal. */
  ask(command: ProjectCommand): ReadonlyArray<Fact> {
    const decided = decideProject(this.state, command, this.now)
    if (Result.isFailure(decided)) throw new Error(JSON.stringify(decided.failure))
    this.state = applyProject(this.state, {
      sequence: this.state.sequence + 1,
      at: this.now,
      subject: { actor: "project", environment: "prj_1:sandbox" },
      cause: { kind: "request" },
      facts: decided.success,
    })
    return decided.success
  }

  /** The refusal of a command that must be refused. */
  refusal(command: ProjectCommand): LaurelError {
    const decided = decideProject(this.state, command, this.now)
    if (Result.isSuccess(decided)) throw new Error(`${command.kind} was not refused`)
    return decided.failure
  }

  /** The faults of a command that must be refused for them, as pointer and code. */
  faults(command: ProjectCommand): ReadonlyArray<readonly [string, string]> {
    const { code, errors = [] } = this.refusal(command)
    if (code !== "invalid_request") throw new Error(`It was refused with ${code}`)
    return errors.map((fault) => [fault.pointer, fault.code])
  }

  status(questId: string): Status {
    return statusAt(this.state.quests.get(questId)!, this.now)
  }
}
