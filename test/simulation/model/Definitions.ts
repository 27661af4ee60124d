import type { Badge, Quest, Rule } from "../../../src/domain/project/Definition.ts"
import type { ProjectSettings } from "../../../src/domain/project/Project.ts"
import type { ClosedThrough } from "./windows.ts"

/** The definitions of a project at a moment; each list in the order of creation. */
export interface Definitions {
  readonly settings: ProjectSettings
  readonly rules: ReadonlyArray<Rule>
  readonly badges: ReadonlyArray<Badge>
  readonly quests: ReadonlyArray<Quest>
  readonly closed: ClosedThrough
  /** The time zones of the project before, and until when. */
  readonly moves: ReadonlyArray<Move>
}

export interface Move {
  readonly zone: string
  readonly until: number
}
