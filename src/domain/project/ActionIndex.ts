/**
 * The definitions of an environment, by the action and the metadata of the events that concern them: so that an event
 * costs what it can match, however many definitions there are. Derived from a `ProjectState`, made when it is first asked
 * for and kept as long as the state.
 */
import type { Metadata } from "../values/Metadata.ts"
import { type Badge, type Criterion, targetOf } from "./Badge.ts"
import type { Condition } from "./Condition.ts"
import { Matcher } from "./Matcher.ts"
import type { ProjectState, StreakDefinition } from "./Project.ts"
import type { Quest, QuestStep } from "./Quest.ts"
import type { Rule } from "./Rule.ts"
import { SharedConditions } from "./SharedConditions.ts"

type CountCriterion = Extract<Criterion, { readonly kind: "action_count" }>

/** Steps of one quest. */
export interface StepsOfQuest {
  readonly quest: Quest
  readonly steps: ReadonlyArray<QuestStep>
}

export interface CountingBadge {
  readonly badge: Badge
  readonly criteria: CountCriterion
}

/** The definitions that an event concerns, each list in the order of creation. */
export interface Matching {
  readonly rules: ReadonlyArray<Rule>
  readonly steps: ReadonlyArray<StepsOfQuest>
  readonly badges: ReadonlyArray<CountingBadge>
  /** What it took to find them, as `SharedConditions.work`, and 1 for each definition that was gone through. */
  readonly work: number
}

/** What an action can concern. */
export interface ActionEntry {
  readonly streaks: ReadonlyArray<StreakDefinition>
  /** Of the definitions of the action, those whose conditions hold for an event's metadata. */
  readonly matching: (metadata: Metadata | undefined) => Matching
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
  /** Made for the first event: when definitions are made one after the other, most indexes see no event of most actions. */
  #match: ActionEntry["matching"] | undefined
  /** Of this entry once it is compiled, until then of the one before. */
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

  /** Those of the entry before, unless most of them are gone. */
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

const indexes = new WeakMap<ProjectState, Index>()

/** By some of its definitions, the latest state that was indexed. */
const latest = new WeakMap<object, ProjectState>()

/** The first two definitions of each kind: a record that changes one definition leaves one of these, if there are two. */
function* keysOf({ badges, quests, rules }: ProjectState): Generator<object> {
  for (const part of [rules, quests, badges]) {
    let count = 0
    for (const definition of part.values()) {
      yield definition
      if (++count === 2) break
    }
  }
}

/** The latest state that had some of these definitions: of the same environment, mostly one record before. */
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

/** The state that was asked for last: most events are of the same one as the event before. */
let asked: { readonly project: ProjectState; readonly index: ActionIndex } | undefined

/** The index of a project's definitions. */
export const actionIndexOf = (project: ProjectState): ActionIndex => {
  if (asked?.project !== project) asked = { project, index: find(project) }
  return asked.index
}
