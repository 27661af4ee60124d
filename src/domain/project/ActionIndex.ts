/**
 * Indexes the definitions of an environment by action and conditions. The cost of an event depends
 * on the definitions that it can match, not on the number of all definitions. The index is derived
 * lazily from a `ProjectState` and cached with it.
 *
 * The clock starts and ends rules, badges and streaks. An index has those that are open at a moment,
 * and the span of time in which they stay the same; an event in another span gets another index. An
 * event that occurred before the present span gets the index of all published definitions, whatever
 * their periods: the index may have more definitions than apply to the event, never fewer. The code
 * that applies a rule, a badge or a streak checks its period against the event. Definitions that are
 * paused, ended or not yet started cost an event nothing unless it arrives late.
 */

import { questCompleteAction } from "../values/Ids.ts"
import type { Metadata } from "../values/Metadata.ts"
import type { Quest, QuestStep, Rule } from "./Definition.ts"
import {
  type Award,
  awardsOf,
  type Badge,
  type Condition,
  type CountingCriterion,
  isCounting,
  isOpenAt,
  type Lifecycle,
  type Scalar,
  type Test,
  testOf,
  valueAtNames,
} from "./Definition.ts"
import { definitionWithKey } from "./DefinitionKey.ts"
import type { Metric } from "./Metric.ts"
import type { ProjectState } from "./Project.ts"
import { isShown, type Streak } from "./StreakDefinition.ts"
import { type AllThresholds, allThresholds, crossedName } from "./Thresholds.ts"

/*
 * The distinct conditions of all definitions of an action. For each event, between `begin` and
 * `end`, each path is looked up and each condition is evaluated at most once.
 *
 * After a change of definitions, the next index reuses these conditions and compiles only new ones.
 * Unused conditions may stay in memory, but not more than used ones (`isStale`).
 */

/** A path, and its value in event number `event`. */
export interface SharedPath {
  readonly names: ReadonlyArray<string>
  readonly conditions: Map<Condition["op"], Map<unknown, SharedCondition>>
  event: number
  found: unknown
}

/** A condition, and its result for event number `event`. */
export interface SharedCondition {
  readonly condition: Condition
  readonly path: SharedPath
  /** Compiled at the first use. */
  test: Test | undefined
  /** The number of definitions that have or had the condition. */
  uses: number
  event: number
  holds: boolean
}

class SharedConditions {
  /**
   * The work for the current event: 1 for each evaluated condition (about 40 ns), plus 1 for each
   * 16 code units that a `contains` searches. The latter is the worst case of a hostile text, ten
   * times the usual cost.
   */
  work = 0
  readonly #paths = new Map<string, SharedPath>()
  readonly #looked: Array<SharedPath> = []
  readonly #shared = new WeakMap<ReadonlyArray<Condition>, ReadonlyArray<SharedCondition>>()
  /** The number of distinct conditions, unused conditions included. */
  #size = 0
  #event = 0
  #metadata: Metadata | undefined

  /**
   * Whether most conditions are unused, given the number of conditions that definitions have now.
   */
  isStale(conditions: number): boolean {
    return this.#size > 2 * conditions + staleMin
  }

  /** The shared conditions equal to those of one definition. */
  share(where: ReadonlyArray<Condition>): ReadonlyArray<SharedCondition> {
    let shared = this.#shared.get(where)
    if (shared === undefined) {
      shared = where.map((condition) => this.#share(condition))
      this.#shared.set(where, shared)
    }
    return shared
  }

  #share(condition: Condition): SharedCondition {
    const { op, value } = condition
    const path = this.#path(condition.path)
    let sameOperator = path.conditions.get(op)
    if (sameOperator === undefined) {
      sameOperator = new Map()
      path.conditions.set(op, sameOperator)
    }
    const key = op === "in" ? JSON.stringify(value) : value
    let shared = sameOperator.get(key)
    if (shared === undefined) {
      shared = { condition, path, test: undefined, uses: 0, event: 0, holds: false }
      sameOperator.set(key, shared)
      this.#size++
    }
    shared.uses++
    return shared
  }

  #path(path: string): SharedPath {
    let shared = this.#paths.get(path)
    if (shared === undefined) {
      shared = { names: path.split("."), conditions: new Map(), event: 0, found: undefined }
      this.#paths.set(path, shared)
    }
    return shared
  }

  /** Starts the next event. The caller must call `end`. */
  begin(metadata: Metadata | undefined): void {
    this.#event++
    this.#metadata = metadata
    this.work = 0
  }

  /** Releases the metadata of the event. */
  end(): void {
    this.#metadata = undefined
    for (const path of this.#looked) path.found = undefined
    this.#looked.length = 0
  }

  valueAt(path: SharedPath): unknown {
    if (path.event !== this.#event) {
      path.event = this.#event
      path.found = valueAtNames(this.#metadata, path.names)
      this.#looked.push(path)
    }
    return path.found
  }

  holds(shared: SharedCondition): boolean {
    if (shared.event !== this.#event) {
      shared.event = this.#event
      const found = this.valueAt(shared.path)
      this.work++
      if (shared.condition.op === "contains") this.work += lengthOf(found) >>> 4
      shared.test ??= testOf(shared.condition)
      shared.holds = shared.test(found)
    }
    return shared.holds
  }
}

const staleMin = 1_000

const lengthOf = (found: unknown): number =>
  typeof found === "string" || Array.isArray(found) ? found.length : 0

/*
 * Finds the definitions whose conditions an event satisfies. Each definition is filed under its
 * rarest equality (`eq`, or `in` with few values), by path and value. Only definitions without an
 * equality are tried for every event.
 */

/**
 * A definition, its place in the order of creation, and its other conditions than the filed
 * equality.
 */
interface Clause<A> {
  readonly place: number
  readonly item: A
  readonly rest: ReadonlyArray<SharedCondition>
}

/** An `in` with more values is not filed, since filing would take longer than trying it. */
const filedValuesMax = 8

class Matcher<A> {
  readonly #items: ReadonlyArray<A>
  readonly #conditions: SharedConditions
  readonly #unfiled: Array<Clause<A>> = []
  readonly #filed = new Map<SharedPath, Map<Scalar, Array<Clause<A>>>>()
  readonly #unconditional: boolean

  /** `items` are in the order of creation. */
  constructor(
    items: ReadonlyArray<A>,
    whereOf: (item: A) => ReadonlyArray<Condition>,
    conditions: SharedConditions,
  ) {
    this.#items = items
    this.#conditions = conditions
    this.#unconditional = items.every((item) => whereOf(item).length === 0)
    if (this.#unconditional) return
    const shared = items.map((item) => conditions.share(whereOf(item)))
    for (const [place, item] of items.entries()) this.#file(item, place, shared[place]!)
  }

  #file(item: A, place: number, where: ReadonlyArray<SharedCondition>): void {
    let equality: SharedCondition | undefined
    for (const one of where) {
      if (equalityValues(one.condition) === undefined) continue
      if (equality === undefined || one.uses < equality.uses) equality = one
    }
    if (equality === undefined) {
      this.#unfiled.push({ place, item, rest: where })
      return
    }
    const clause = { place, item, rest: where.filter((one) => one !== equality) }
    let byValue = this.#filed.get(equality.path)
    if (byValue === undefined) {
      byValue = new Map()
      this.#filed.set(equality.path, byValue)
    }
    for (const value of equalityValues(equality.condition)!) {
      const clauses = byValue.get(value)
      if (clauses === undefined) byValue.set(value, [clause])
      else clauses.push(clause)
    }
  }

  /** The definitions whose conditions hold for the current event, in the order of creation. */
  matching(): ReadonlyArray<A> {
    if (this.#unconditional) return this.#items
    const conditions = this.#conditions
    const lists: Array<ReadonlyArray<Clause<A>>> = []
    if (this.#unfiled.length > 0) lists.push(this.#unfiled)
    for (const [path, byValue] of this.#filed) {
      conditions.work++
      const clauses = byValue.get(conditions.valueAt(path) as Scalar)
      if (clauses !== undefined) lists.push(clauses)
    }
    if (lists.length === 1) return this.#hold(lists[0]!).map(({ item }) => item)
    return lists
      .flatMap((clauses) => this.#hold(clauses))
      .sort((one, other) => one.place - other.place)
      .map(({ item }) => item)
  }

  #hold(clauses: ReadonlyArray<Clause<A>>): Array<Clause<A>> {
    const conditions = this.#conditions
    conditions.work += clauses.length
    return clauses.filter(({ rest }) => {
      for (const one of rest) if (!conditions.holds(one)) return false
      return true
    })
  }
}

/**
 * The values that satisfy the condition; `undefined` if it is no equality or has too many values.
 */
const equalityValues = ({ op, value }: Condition): ReadonlyArray<Scalar> | undefined => {
  if (op === "eq") return isScalar(value) ? [value] : undefined
  if (op !== "in" || !Array.isArray(value) || value.length > filedValuesMax) return undefined
  return [...new Set<Scalar>(value)]
}

const isScalar = (value: Condition["value"]): value is Scalar =>
  value !== undefined && !Array.isArray(value)

/** The steps of a quest that match an event. */
export interface StepsOfQuest {
  readonly quest: Quest
  readonly steps: ReadonlyArray<QuestStep>
}

export interface CountingBadge {
  readonly badge: Badge
  readonly criteria: CountingCriterion
  readonly awards: ReadonlyArray<Award>
}

/** The definitions that match an event, each list in the order of creation. */
export interface Matching {
  readonly metrics: ReadonlyArray<Metric>
  readonly rules: ReadonlyArray<Rule>
  readonly steps: ReadonlyArray<StepsOfQuest>
  readonly badges: ReadonlyArray<CountingBadge>
  /** The cost of the match: `SharedConditions.work`, plus 1 for each definition that was tried. */
  readonly work: number
}

/** The definitions of an action. */
export interface ActionEntry {
  readonly streaks: ReadonlyArray<Streak>
  /** The definitions whose conditions hold for an event's metadata. */
  readonly matching: (metadata: Metadata | undefined) => Matching
}

/** Whether a definition of the index names the action. */
export const namesAction = ({ byAction }: ActionIndex, action: string): boolean =>
  byAction.has(action) || action === questCompleteAction

export interface ActionIndex extends AllThresholds {
  readonly byAction: ReadonlyMap<string, ActionEntry>
  /** The entry of all actions that no definition names. */
  readonly other: ActionEntry
}

interface QuestWithStep {
  readonly quest: Quest
  readonly step: QuestStep
  /** The conditions of the step, or of its metric. */
  readonly where: ReadonlyArray<Condition>
}

interface Index extends ActionIndex {
  readonly byAction: ReadonlyMap<string, Entry>
  /** The span of time in which no rule, badge or streak starts or ends. */
  readonly from: number
  readonly until: number
}

class Entry implements ActionEntry {
  readonly metrics: Array<Metric> = []
  readonly rules: Array<Rule> = []
  readonly steps: Array<QuestWithStep> = []
  readonly badges: Array<CountingBadge> = []
  streaks: ReadonlyArray<Streak> = []
  /**
   * Compiled at the first event: while many definitions are created, most indexes see no event of
   * most actions.
   */
  #match: ActionEntry["matching"] | undefined
  /** The conditions of this entry; until it is compiled, the conditions of its predecessor. */
  #conditions: SharedConditions | undefined

  constructor(before?: Entry) {
    this.#conditions = before === undefined ? undefined : before.#conditions
  }

  matching(metadata: Metadata | undefined): Matching {
    this.#match ??= this.#compile()
    return this.#match(metadata)
  }

  #compile(): ActionEntry["matching"] {
    const { badges, metrics, rules, steps } = this
    const isOpen = ({ where }: { readonly where: ReadonlyArray<Condition> }) => where.length === 0
    if (
      metrics.every(isOpen) &&
      rules.every(isOpen) &&
      steps.every(isOpen) &&
      badges.every(({ criteria }) => isOpen(criteria))
    ) {
      const work = metrics.length + rules.length + steps.length + badges.length
      const all: Matching = { metrics, rules, steps: byQuest(steps), badges, work }
      return () => all
    }
    const conditions = this.#conditionsToShare()
    const ofMetrics = new Matcher(metrics, ({ where }) => where, conditions)
    const ofRules = new Matcher(rules, ({ where }) => where, conditions)
    const ofSteps = new Matcher(steps, ({ where }) => where, conditions)
    const ofBadges = new Matcher(badges, ({ criteria }) => criteria.where, conditions)
    return (metadata) => {
      conditions.begin(metadata)
      const metrics = ofMetrics.matching()
      const rules = ofRules.matching()
      const steps = byQuest(ofSteps.matching())
      const badges = ofBadges.matching()
      conditions.end()
      return { metrics, rules, steps, badges, work: conditions.work }
    }
  }

  /** The conditions of the predecessor, unless most of them are unused. */
  #conditionsToShare(): SharedConditions {
    let count = 0
    for (const { where } of this.metrics) count += where.length
    for (const { where } of this.rules) count += where.length
    for (const { where } of this.steps) count += where.length
    for (const { criteria } of this.badges) count += criteria.where.length
    const before = this.#conditions
    this.#conditions =
      before === undefined || before.isStale(count) ? new SharedConditions() : before
    return this.#conditions
  }
}

/** Groups steps by quest. The steps of a quest are adjacent. */
const byQuest = (steps: ReadonlyArray<QuestWithStep>): ReadonlyArray<StepsOfQuest> => {
  const quests: Array<{ readonly quest: Quest; readonly steps: Array<QuestStep> }> = []
  for (const { quest, step } of steps) {
    const last = quests.at(-1)
    if (last?.quest === quest) last.steps.push(step)
    else quests.push({ quest, steps: [step] })
  }
  return quests
}

/** The actions, and their conditions, that a step or a need counts: its own, or those of its metric. */
const countedBy = (
  { metrics }: ProjectState,
  {
    action,
    metric,
    where = [],
  }: {
    readonly action?: string
    readonly metric?: string
    readonly where?: ReadonlyArray<Condition>
  },
): Pick<Metric, "actions" | "where"> => {
  if (action !== undefined) return { actions: [action], where }
  const counting = definitionWithKey(metrics, metric ?? "")
  return counting?.set === "published" ? counting : { actions: [], where }
}

/** The rules, badges and streaks that are open at `now`; without `now`, all that are published. */
const build = (project: ProjectState, before: Index | undefined, now?: number): Index => {
  let from = Number.NEGATIVE_INFINITY
  let until = Number.POSITIVE_INFINITY
  const isOpen = (definition: Lifecycle): boolean => {
    if (now === undefined) return true
    for (const edge of [definition.startsAt, definition.endsAt]) {
      if (edge === null) continue
      if (edge <= now) from = Math.max(from, edge)
      else until = Math.min(until, edge)
    }
    return isOpenAt(definition, now)
  }
  const byAction = new Map<string, Entry>()
  const of = (action: string): Entry => {
    let entry = byAction.get(action)
    if (entry === undefined) {
      entry = new Entry(before?.byAction.get(action))
      byAction.set(action, entry)
    }
    return entry
  }
  for (const metric of project.metrics.values()) {
    if (metric.set !== "published") continue
    for (const action of metric.actions) of(action).metrics.push(metric)
  }
  for (const rule of project.rules.values()) {
    if (rule.set === "published" && isOpen(rule)) of(rule.action).rules.push(rule)
  }
  for (const quest of project.quests.values()) {
    if (quest.set !== "published") continue
    for (const step of quest.steps) {
      const { actions, where } = countedBy(project, step)
      for (const action of actions) of(action).steps.push({ quest, step, where })
    }
  }
  const crossed = new Map<string, Array<Badge>>()
  for (const badge of project.badges.values()) {
    const { criteria, set } = badge
    if (set === "archived" || set === "draft" || criteria.kind === "manual") continue
    if (!isOpen(badge)) continue
    if (isCounting(criteria))
      of(criteria.action).badges.push({ badge, criteria, awards: awardsOf(badge) })
    else if (set === "published") {
      const name = crossedName(criteria)
      const badges = crossed.get(name)
      if (badges === undefined) crossed.set(name, [badge])
      else badges.push(badge)
    }
  }
  const streaks = [...project.streaks.values()].filter(
    (streak) => isShown(streak) && isOpen(streak),
  )
  const anyAction = streaks.filter(({ needs }) => needs.length === 0)
  const actionsOf = new Map(
    streaks.map((streak) => [
      streak,
      new Set(streak.needs.flatMap((need) => countedBy(project, need).actions)),
    ]),
  )
  for (const actions of actionsOf.values()) for (const action of actions) of(action)
  for (const [action, entry] of byAction) {
    entry.streaks = streaks.filter(
      (streak) => streak.needs.length === 0 || actionsOf.get(streak)!.has(action),
    )
  }
  const other = new Entry()
  other.streaks = anyAction
  return { byAction, other, ...allThresholds(project, crossed), from, until }
}

/** The indexes of a state: of the present span of time, and of all published definitions. */
interface Indexes {
  present: Index
  all: Index | undefined
}

const indexes = new WeakMap<ProjectState, Indexes>()

/** By some definitions of a state: the latest indexed state that has them. */
const latest = new WeakMap<object, ProjectState>()

/**
 * The first two definitions of each kind: a record that changes one definition keeps the other one.
 */
function* keysOf({ badges, metrics, quests, rules, streaks }: ProjectState): Generator<object> {
  for (const part of [rules, quests, badges, metrics, streaks]) {
    let count = 0
    for (const definition of part.values()) {
      yield definition
      if (++count === 2) break
    }
  }
}

/**
 * An earlier state of the same environment, usually one record earlier, found by common
 * definitions.
 */
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
  one.metrics === other.metrics &&
  one.streaks === other.streaks

const find = (project: ProjectState, now: number): Indexes => {
  let found = indexes.get(project)
  if (found === undefined) {
    const before = stateBefore(project)
    const foundBefore = before === undefined ? undefined : indexes.get(before)
    // Most records of a project change no definition.
    const isKnown = before !== undefined && sameDefinitions(before, project)
    const known = isKnown ? foundBefore : undefined
    found = known ?? { present: build(project, foundBefore?.present, now), all: undefined }
    indexes.set(project, found)
    for (const key of keysOf(project)) latest.set(key, project)
  }
  return found
}

/** The last result: most events have the same project state as the event before. */
let asked: { readonly project: ProjectState; readonly found: Indexes } | undefined

/** The index of the definitions of a project at `now`, for an event that occurred at `at`. */
export const actionIndexOf = (project: ProjectState, now: number, at = now): ActionIndex => {
  if (asked?.project !== project) asked = { project, found: find(project, now) }
  const { found } = asked
  if (now < found.present.from || now >= found.present.until) {
    found.present = build(project, found.present, now)
  }
  if (at >= found.present.from) return found.present
  found.all ??= build(project, found.present)
  return found.all
}
