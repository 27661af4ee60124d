/**
 * The definitions of an environment, by what an event can reach them with: so that an event costs what it
 * matches, however many definitions there are. Derived from a `ProjectState`, made when it is first asked
 * for and kept as long as the state.
 */
import type { Badge, Criterion } from "./Badge.ts"
import type { ProjectState } from "./Project.ts"
import type { Quest, QuestStep } from "./Quest.ts"
import type { Rule } from "./Rule.ts"
import type { StreakDefinition } from "./Streak.ts"

type CountCriterion = Extract<Criterion, { readonly kind: "action_count" }>

/** What an action can concern, each list in the order of creation. */
export interface ActionEntry {
  readonly rules: ReadonlyArray<Rule>
  readonly steps: ReadonlyArray<{ readonly quest: Quest; readonly steps: ReadonlyArray<QuestStep> }>
  readonly badges: ReadonlyArray<{ readonly badge: Badge; readonly criteria: CountCriterion }>
  readonly streaks: ReadonlyArray<StreakDefinition>
}

/** Badges of one kind of criterion by target, lowest first. */
export interface Thresholds {
  readonly targets: ReadonlyArray<number>
  readonly badges: ReadonlyArray<Badge>
}

export interface ActionIndex {
  readonly byAction: ReadonlyMap<string, ActionEntry>
  /** For actions that no definition names. */
  readonly other: ActionEntry
  readonly thresholds: Readonly<Record<"xp" | "level" | "points" | "quest_count", Thresholds>>
  /** Of the streak with this key; under `""` those for whichever. */
  readonly streakThresholds: ReadonlyMap<string, Thresholds>
}

class Entry {
  readonly rules: Array<Rule> = []
  readonly steps: Array<{ readonly quest: Quest; readonly steps: Array<QuestStep> }> = []
  readonly badges: Array<{ readonly badge: Badge; readonly criteria: CountCriterion }> = []
  streaks: ReadonlyArray<StreakDefinition> = []
}

const build = (project: ProjectState): ActionIndex => {
  const byAction = new Map<string, Entry>()
  const of = (action: string): Entry => {
    let entry = byAction.get(action)
    if (entry === undefined) {
      entry = new Entry()
      byAction.set(action, entry)
    }
    return entry
  }
  for (const rule of project.rules.values()) if (rule.enabled) of(rule.action).rules.push(rule)
  for (const quest of project.quests.values()) {
    if (quest.set !== "published") continue
    for (const step of quest.steps) {
      const { steps } = of(step.action)
      const last = steps.at(-1)
      if (last?.quest === quest) last.steps.push(step)
      else steps.push({ quest, steps: [step] })
    }
  }
  const crossed = new Map<string, Array<Badge>>()
  for (const badge of project.badges.values()) {
    const { criteria } = badge
    if (badge.archived || criteria.kind === "manual") continue
    if (criteria.kind === "action_count") of(criteria.action).badges.push({ badge, criteria })
    else {
      const name = criteria.kind === "streak" ? `streak ${criteria.streak ?? ""}` : criteria.kind
      const badges = crossed.get(name)
      if (badges === undefined) crossed.set(name, [badge])
      else badges.push(badge)
    }
  }
  const { streaks } = project.settings
  const anyAction = streaks.filter(({ actions }) => actions.length === 0)
  for (const { actions } of streaks) for (const action of actions) of(action)
  for (const [action, entry] of byAction) {
    entry.streaks = streaks.filter(
      ({ actions }) => actions.length === 0 || actions.includes(action),
    )
  }
  const streakThresholds = new Map<string, Thresholds>()
  for (const [name, badges] of crossed) {
    if (name.startsWith("streak ")) streakThresholds.set(name.slice(7), thresholds(badges))
  }
  return {
    byAction,
    other: { ...new Entry(), streaks: anyAction },
    thresholds: {
      xp: thresholds(crossed.get("xp")),
      level: thresholds(crossed.get("level")),
      points: thresholds(crossed.get("points")),
      quest_count: thresholds(crossed.get("quest_count")),
    },
    streakThresholds,
  }
}

const targetOf = ({ criteria }: Badge): number =>
  criteria.kind === "manual" ? Number.POSITIVE_INFINITY : criteria.target

const thresholds = (badges: ReadonlyArray<Badge> = []): Thresholds => {
  const sorted = badges.toSorted((one, other) => targetOf(one) - targetOf(other))
  return { targets: sorted.map(targetOf), badges: sorted }
}

/** The badges whose target lies in (`before`, `after`], lowest first; O(log n) and what it finds. */
export const crossedBy = (
  { badges, targets }: Thresholds,
  before: number,
  after: number,
): ReadonlyArray<Badge> => {
  if (after <= before || targets.length === 0 || targets.at(-1)! <= before) return noBadges
  let low = 0
  let high = targets.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (targets[middle]! <= before) low = middle + 1
    else high = middle
  }
  let end = low
  while (end < targets.length && targets[end]! <= after) end++
  return end === low ? noBadges : badges.slice(low, end)
}

const noBadges: ReadonlyArray<Badge> = []

const indexes = new WeakMap<ProjectState, ActionIndex>()

/** By its quests, the latest state that was indexed: most records of a project change no definition. */
const latest = new WeakMap<ProjectState["quests"], ProjectState>()

const sameDefinitions = (one: ProjectState, other: ProjectState): boolean =>
  one.rules === other.rules && one.badges === other.badges && one.settings === other.settings

const find = (project: ProjectState): ActionIndex => {
  let index = indexes.get(project)
  if (index === undefined) {
    const before = latest.get(project.quests)
    const known = before !== undefined && sameDefinitions(before, project)
    index = (known ? indexes.get(before) : undefined) ?? build(project)
    indexes.set(project, index)
    latest.set(project.quests, project)
  }
  return index
}

/** The state that was asked for last: most events are of the same one as the event before. */
let asked: { readonly project: ProjectState; readonly index: ActionIndex } | undefined

/** The index of a project's definitions. */
export const actionIndexOf = (project: ProjectState): ActionIndex => {
  if (asked?.project !== project) asked = { project, index: find(project) }
  return asked.index
}
