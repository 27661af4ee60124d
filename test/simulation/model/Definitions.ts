import { isDeepStrictEqual } from "node:util"
import type { Board } from "../../../src/domain/project/BoardDefinition.ts"
import type { Boost } from "../../../src/domain/project/Boost.ts"
import type { Currency } from "../../../src/domain/project/Currency.ts"
import type {
  Badge,
  Definition,
  Quest,
  Rule,
  Status,
} from "../../../src/domain/project/Definition.ts"
import type { Experiment } from "../../../src/domain/project/Experiment.ts"
import type { Item } from "../../../src/domain/project/Item.ts"
import type { Metric } from "../../../src/domain/project/Metric.ts"
import type { ProjectSettings } from "../../../src/domain/project/Project.ts"
import type { Segment } from "../../../src/domain/project/Segment.ts"
import type { Streak } from "../../../src/domain/project/StreakDefinition.ts"
import type { Team } from "../../../src/domain/project/Team.ts"
import type { Closes } from "./windows.ts"

/** The definitions of a project at a moment; each list in the order of creation. */
export interface Definitions {
  readonly settings: ProjectSettings
  readonly rules: ReadonlyArray<Rule>
  readonly badges: ReadonlyArray<Badge>
  readonly currencies: ReadonlyArray<Currency>
  readonly quests: ReadonlyArray<Quest>
  readonly boosts: ReadonlyArray<Boost>
  readonly segments: ReadonlyArray<Segment>
  readonly metrics: ReadonlyArray<Metric>
  readonly streaks: ReadonlyArray<Streak>
  readonly leaderboards: ReadonlyArray<Board>
  readonly experiments: ReadonlyArray<Experiment>
  readonly items: ReadonlyArray<Item>
  readonly teams: ReadonlyArray<Team>
  readonly closed: Closes
  /** The time zones of the project before, and until when. */
  readonly moves: ReadonlyArray<Move>
  /** How each currency refilled balances, and since when; oldest first. */
  readonly courses: ReadonlyArray<Course>
}

export interface Course {
  readonly key: string
  readonly at: number
  readonly max: number | null
  readonly refill: { readonly amount: number; readonly everyMinutes: number } | null
}

/** The courses after a record of the project at `at`. */
export const coursesAfter = (
  courses: ReadonlyArray<Course>,
  currencies: Iterable<Currency>,
  at: number,
): ReadonlyArray<Course> => {
  const changed = [...currencies].filter(({ key, max, refill }) => {
    const last = courses.findLast((course) => course.key === key)
    return last === undefined || last.max !== max || !isDeepStrictEqual(last.refill, refill)
  })
  return [...courses, ...changed.map(({ key, max, refill }) => ({ key, at, max, refill }))]
}

export interface Move {
  readonly zone: string
  readonly until: number
}

/** The status of a definition: as an operator set it, and for a published one, by the clock. */
export const statusOf = (definition: Definition, now: number): Status => {
  if (definition.set === "draft") return "draft"
  if (definition.set === "archived") return "archived"
  if (definition.endsAt !== null && definition.endsAt <= now) return "ended"
  if (definition.set === "paused") return "paused"
  if (definition.startsAt !== null && definition.startsAt > now) return "scheduled"
  return "active"
}

/** Whether a definition that is in force pays for what occurred then. */
export const pays = (definition: Definition, occurredAt: number): boolean =>
  statusOf(definition, occurredAt) === "active"

/** Whether a badge or a streak counts what occurred then: also while it is paused. */
export const counts = (counted: Badge | Streak, occurredAt: number): boolean =>
  pays(counted.set === "paused" ? { ...counted, set: "published" } : counted, occurredAt)
