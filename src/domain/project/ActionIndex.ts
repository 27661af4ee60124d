/**
 * Indexes the definitions of an environment by action and conditions, so the cost of an event depends on the
 * definitions that it can match, not on their number. Derived lazily from a `ProjectState` and cached with it.
 */
import { countUpTo } from "../values/countUpTo.ts"
import { questCompleteAction } from "../values/Ids.ts"
import type { Metadata } from "../values/Metadata.ts"
import { type Badge, type CountingCriterion, isCounting, targetOf } from "./Badge.ts"
import type { Condition } from "./Condition.ts"
import { Matcher } from "./Matcher.ts"
import type { ProjectState, StreakDefinition } from "./Project.ts"
import type { Quest, QuestStep } from "./Quest.ts"
import type { Rule } from "./Rule.ts"
import { SharedConditions } from "./SharedConditions.ts"

/** Steps of one quest. */
export interface StepsOfQuest {
  readonly quest: Quest
  readonly steps: ReadonlyArray<QuestStep>
}

export interface CountingBadge {
  readonly badge: Badge
  readonly criteria: CountingCriterion
}

/** The definitions that match an event, each list in the order of creation. */
export interface Matching {
  readonly rules: ReadonlyArray<Rule>
  readonly steps: ReadonlyArray<StepsOfQuest>
  readonly badges: ReadonlyArray<CountingBadge>
  /** The cost of the match: `SharedConditions.work`, plus 1 per definition tried. */
  readonly work: number
}

/** The definitions of an action. */
export interface ActionEntry {
  readonly streaks: ReadonlyArray<StreakDefinition>
  /** The definitions whose conditions hold for an event's metadata. */
  readonly matching: (metadata: Metadata | undefined) => Matching
}

/** Whether a definition in use names the action. */
export const namesAction = ({ byAction }: ActionIndex, action: string): boolean =>
  byAction.has(action) || action === questCompleteAction

/** Badges of one kind of criterion by target, lowest first. */
export interface Thresholds {
  readonly targets: ReadonlyArray<number>
  readonly badges: ReadonlyArray<Badge>
}

export interface ActionIndex {
  readonly byAction: ReadonlyMap<string, ActionEntry>
  /** For actions without a definition of their own. */
  readonly other: ActionEntry
  readonly thresholds: Readonly<Record<"xp" | "level" | "points" | "quest_count", Thresholds>>
  /** By the streak's key; under `""` the badges for any streak. */
  readonly streakThresholds: ReadonlyMap<string, Thresholds>
}

interface QuestWithStep {
  readonly quest: Quest
  readonly step: QuestStep
}

interface Index extends ActionIndex {
  readonly byAction: ReadonlyMap<string, Entry>
}

class Entry implements ActionEntry {
  readonly rules: Array<Rule> = []
  readonly steps: Array<QuestWithStep> = []
  readonly badges: Array<CountingBadge> = []
  streaks: ReadonlyArray<StreakDefinition> = []
  /** Compiled for the first event: while definitions are created in a row, most indexes see no event of most actions. */
  #match: ActionEntry["matching"] | undefined
  /** The conditions of this entry once compiled, until then those of its predecessor. */
  #conditions: SharedConditions | undefined

  constructor(before?: Entry) {
    this.#conditions = before === undefined ? undefined : before.#conditions
  }

  matching(metadata: Metadata | undefined): Matching {
    this.#match ??= this.#compile()
    return this.#match(metadata)
  }

  #compile(): ActionEntry["matching"] {
    const { badges, rules, steps } = this
    const isOpen = ({ where }: { readonly where: ReadonlyArray<Condition> }) => where.length === 0
    if (
      rules.every(isOpen) &&
      steps.every(({ step }) => isOpen(step)) &&
      badges.every(({ criteria }) => isOpen(criteria))
    ) {
      const work = rules.length + steps.length + badges.length
      const all: Matching = { rules, steps: byQuest(steps), badges, work }
      return () => all
    }
    const conditions = this.#conditionsToShare()
    const ofRules = new Matcher(rules, ({ where }) => where, conditions)
    const ofSteps = new Matcher(steps, ({ step }) => step.where, conditions)
    const ofBadges = new Matcher(badges, ({ criteria }) => criteria.where, conditions)
    return (metadata) => {
      conditions.begin(metadata)
      const rules = ofRules.matching()
      const steps = byQuest(ofSteps.matching())
      const badges = ofBadges.matching()
      conditions.end()
      return { rules, steps, badges, work: conditions.work }
    }
  }

  /** The predecessor's conditions, unless most of them are unused. */
  #conditionsToShare(): SharedConditions {
    let count = 0
    for (const { where } of this.rules) count += where.length
    for (const { step } of this.steps) count += step.where.length
    for (const { criteria } of this.badges) count += criteria.where.length
    const before = this.#conditions
    this.#conditions =
      before === undefined || before.isStale(count) ? new SharedConditions() : before
    return this.#conditions
  }
}

/** The steps of each quest together; those of one quest follow one another. */
const byQuest = (steps: ReadonlyArray<QuestWithStep>): ReadonlyArray<StepsOfQuest> => {
  const quests: Array<{ readonly quest: Quest; readonly steps: Array<QuestStep> }> = []
  for (const { quest, step } of steps) {
    const last = quests.at(-1)
    if (last?.quest === quest) last.steps.push(step)
    else quests.push({ quest, steps: [step] })
  }
  return quests
}

const build = (project: ProjectState, before: Index | undefined): Index => {
  const byAction = new Map<string, Entry>()
  const of = (action: string): Entry => {
    let entry = byAction.get(action)
    if (entry === undefined) {
      entry = new Entry(before?.byAction.get(action))
      byAction.set(action, entry)
    }
    return entry
  }
  for (const rule of project.rules.values()) if (rule.enabled) of(rule.action).rules.push(rule)
  for (const quest of project.quests.values()) {
    if (quest.set !== "published") continue
    for (const step of quest.steps) of(step.action).steps.push({ quest, step })
  }
  const crossed = new Map<string, Array<Badge>>()
  for (const badge of project.badges.values()) {
    const { criteria } = badge
    if (badge.archived || criteria.kind === "manual") continue
    if (isCounting(criteria)) of(criteria.action).badges.push({ badge, criteria })
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
  const other = new Entry()
  other.streaks = anyAction
  return {
    byAction,
    other,
    thresholds: {
      xp: thresholds(crossed.get("xp")),
      level: thresholds(crossed.get("level")),
      points: thresholds(crossed.get("points")),
      quest_count: thresholds(crossed.get("quest_count")),
    },
    streakThresholds,
  }
}

const thresholds = (badges: ReadonlyArray<Badge> = []): Thresholds => {
  const sorted = badges.toSorted((one, other) => targetOf(one) - targetOf(other))
  return { targets: sorted.map(targetOf), badges: sorted }
}

/** The badges with a target in (`before`, `after`], lowest first; O(log n) plus the result. */
export const crossedBy = (
  { badges, targets }: Thresholds,
  before: number,
  after: number,
): ReadonlyArray<Badge> => {
  if (after <= before || targets.length === 0 || targets.at(-1)! <= before) return noBadges
  const start = countUpTo(targets, before)
  let end = start
  // Few targets lie between two balances: a scan is faster than a second search.
  while (end < targets.length && targets[end]! <= after) end++
  return end === start ? noBadges : badges.slice(start, end)
}

const noBadges: ReadonlyArray<Badge> = []

const indexes = new WeakMap<ProjectState, Index>()

/** The latest indexed state, by some of its definitions. */
const latest = new WeakMap<object, ProjectState>()

/** The first two definitions of each kind: a record that changes one of them keeps the other. */
function* keysOf({ badges, quests, rules }: ProjectState): Generator<object> {
  for (const part of [rules, quests, badges]) {
    let count = 0
    for (const definition of part.values()) {
      yield definition
      if (++count === 2) break
    }
  }
}

/** The latest indexed state with some of these definitions: the same environment, usually one record earlier. */
const stateBefore = (project: ProjectState): ProjectState | undefined => {
  for (const key of keysOf(project)) {
    const before = latest.get(key)
    if (before !== undefined) return before
  }
  return undefined
}

const sameDefinitions = (one: ProjectState, other: ProjectState): boolean =>
  one.rules === other.rules &&
  one.quests === other.quests &&
  one.badges === other.badges &&
  one.settings === other.settings

const find = (project: ProjectState): Index => {
  let index = indexes.get(project)
  if (index === undefined) {
    const before = stateBefore(project)
    const indexBefore = before === undefined ? undefined : indexes.get(before)
    // Most records of a project change no definition.
    const isKnown = before !== undefined && sameDefinitions(before, project)
    index = (isKnown ? indexBefore : undefined) ?? build(project, indexBefore)
    indexes.set(project, index)
    for (const key of keysOf(project)) latest.set(key, project)
  }
  return index
}

/** The last state and its index: most events have the same state as the previous event. */
let asked: { readonly project: ProjectState; readonly index: ActionIndex } | undefined

/** The index of a project's definitions. */
export const actionIndexOf = (project: ProjectState): ActionIndex => {
  if (asked?.project !== project) asked = { project, index: find(project) }
  return asked.index
}
