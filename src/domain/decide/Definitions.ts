/**
 * Applies a file of definitions as one decision: either all definitions, or none and all faults.
 *
 * A definition is identified by its id. An existing definition is replaced, and a new one is
 * created with the id of the file, so it has the same id in each environment. A definition that
 * does not change causes no fact. Definitions that the file does not name stay. With `removes` they
 * are deleted or archived, if the file has their kind.
 *
 * Each change is decided on the state after the changes before it, in this order: settings with
 * their streaks, badges, quests after their prerequisites, rules. Removals come last, in the
 * opposite order.
 *
 * Cost: a change may look at many definitions: at the text searches of its action, the
 * prerequisites of its quests, its referrers. The sum of these sizes is the work of the file, which
 * is limited.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import type { Badge, Condition, Rule, Unversioned } from "../project/Definition.ts"
import { type Quest, questStatusAt } from "../project/Definition.ts"
import type { ProjectSettings, ProjectState } from "../project/Project.ts"
import type { Fact } from "../record/Record.ts"
import { type Fault, invalidRequest, laurelError } from "../values/Errors.ts"
import { type CriterionParts, createBadge, deleteBadge, replaceBadge } from "./BadgeDefinitions.ts"
import { type Conditional, type Decided, noChange } from "./Decided.ts"
import { createQuest, deleteQuest, replaceQuest } from "./QuestDefinitions.ts"
import { createRule, deleteRule, replaceRule } from "./RuleDefinitions.ts"
import { decideSettings, type SettingsChange } from "./Settings.ts"

/** Without `set` the status stays; a new quest is published. */
export type QuestInput = Omit<Unversioned<Quest>, "set"> & {
  readonly set?: Exclude<Quest["set"], "archived">
}
export type BadgeInput = Omit<Unversioned<Badge>, "archived" | "criteria"> & {
  readonly criteria: CriterionParts
}

/** A kind that is absent does not change. */
export interface DefinitionsInput {
  readonly settings?: SettingsChange
  readonly badges?: ReadonlyArray<BadgeInput>
  readonly quests?: ReadonlyArray<QuestInput>
  readonly rules?: ReadonlyArray<Unversioned<Rule>>
}

/** `ifMatch` are versions of all definitions together (`ProjectState.definitionsVersion`). */
export interface ApplyDefinitions extends Conditional {
  readonly kind: "applyDefinitions"
  readonly definitions: DefinitionsInput
  readonly removes: boolean
}

export const applyDefinitions = (
  state: ProjectState,
  { definitions, removes }: ApplyDefinitions,
  now: number,
): Decided<"invalid_request" | "quota_exceeded"> => {
  const { badges, quests, rules, settings } = definitions
  const plan = new Plan(state, now)
  if (settings !== undefined) plan.settings(withStreaks(plan.state.settings, settings))
  for (const [index, badge] of badges?.entries() ?? [])
    plan.badge(badge, `/definitions/badges/${index}`)
  const places = new Map(quests?.map(({ id }, index) => [id, index]))
  const prerequisitesOf = (id: string) => {
    const place = places.get(id)
    const quest = place === undefined ? plan.state.quests.get(id) : quests![place]
    return quest?.prerequisites ?? []
  }
  for (const id of behind(places.keys(), prerequisitesOf)) {
    const place = places.get(id)
    if (place !== undefined) plan.quest(quests![place]!, `/definitions/quests/${place}`)
  }
  for (const [index, rule] of rules?.entries() ?? []) plan.rule(rule, `/definitions/rules/${index}`)
  if (removes) plan.remove(definitions)
  return plan.result()
}

interface Clause {
  readonly where?: ReadonlyArray<Condition> | null
}

/** The number of references that cost as much as one condition. */
const referencesPerWork = 20

/** The changes of a file so far, and the state after them. */
class Plan {
  state: ProjectState
  readonly #badges: Map<string, Badge>
  readonly #quests: Map<string, Quest>
  readonly #rules: Map<string, Rule>
  readonly #now: number
  readonly #facts: Array<Fact> = []
  readonly #faults: Array<Fault> = []
  #quota: string | undefined
  #work = 0
  /** The number of quests and prerequisites, and of conditions in all definitions. */
  #edges = 0
  #conditions = 0

  constructor(state: ProjectState, now: number) {
    this.#badges = new Map(state.badges)
    this.#quests = new Map(state.quests)
    this.#rules = new Map(state.rules)
    this.state = { ...state, badges: this.#badges, quests: this.#quests, rules: this.#rules }
    this.#now = now
    for (const quest of state.quests.values()) this.#grow(quest.steps, quest.prerequisites)
    for (const rule of state.rules.values()) this.#grow([rule])
    for (const { criteria } of state.badges.values())
      if ("where" in criteria) this.#grow([criteria])
  }

  #grow(clauses: ReadonlyArray<Clause>, prerequisites?: ReadonlyArray<string>): void {
    for (const { where } of clauses) this.#conditions += 1 + (where?.length ?? 0)
    if (prerequisites !== undefined) this.#edges += 1 + prerequisites.length
  }

  /** The work to find the text searches of the actions of `clauses` (`definitionChecks.ts`). */
  #searching(clauses: ReadonlyArray<Clause>): number {
    const searches = clauses.some(({ where }) => where?.some(({ op }) => op === "contains"))
    return searches ? clauses.length * this.#conditions : 0
  }

  settings(change: SettingsChange): void {
    this.#take(
      "/definitions/settings",
      () => 0,
      (state, now) => decideSettings(state, { kind: "updateSettings", change }, now),
    )
  }

  badge({ criteria, ...fields }: BadgeInput, pointer: string): void {
    this.#take(
      pointer,
      () => this.#searching([criteria]),
      (state, now) => {
        const before = state.badges.get(fields.id)
        return before === undefined
          ? createBadge(state, { kind: "createBadge", badge: { ...fields, criteria } }, now)
          : replaceBadge(state, before, { ...fields, criteria }, now)
      },
    )
  }

  quest({ set, ...members }: QuestInput, pointer: string): void {
    const work = () => this.#searching(members.steps) + members.prerequisites.length * this.#edges
    this.#take(pointer, work, (state, now) => {
      const before = state.quests.get(members.id)
      if (before !== undefined) return replaceQuest(state, before, { ...members, set }, now)
      const quest = { ...members, set: set ?? "published" }
      return createQuest(state, { kind: "createQuest", quest }, now)
    })
  }

  rule(rule: Unversioned<Rule>, pointer: string): void {
    this.#take(
      pointer,
      () => this.#searching([rule]),
      (state, now) => {
        const before = state.rules.get(rule.id)
        return before === undefined
          ? createRule(state, { kind: "createRule", rule }, now)
          : replaceRule(state, before, rule, now)
      },
    )
  }

  /**
   * Removes the definitions that the file does not name. A definition is removed before those it
   * refers to.
   */
  remove({ badges, quests, rules, settings }: DefinitionsInput): void {
    for (const ruleId of missing(this.state.rules.keys(), rules)) {
      this.#take(
        "/definitions/rules",
        () => 0,
        (state) => deleteRule(state, { kind: "deleteRule", ruleId }),
      )
    }
    const referring = () => Math.ceil((this.#edges + this.#rules.size) / referencesPerWork)
    const prerequisitesOf = (id: string) => this.state.quests.get(id)?.prerequisites ?? []
    const inOrder = behind(missing(this.state.quests.keys(), quests), prerequisitesOf)
    for (const questId of missing(inOrder.toReversed(), quests)) {
      const quest = this.state.quests.get(questId)
      if (quest === undefined || !isInFile(quest, this.#now)) continue
      this.#take("/definitions/quests", referring, (state, now) =>
        deleteQuest(state, { kind: "deleteQuest", questId }, now),
      )
    }
    for (const badgeId of missing(this.state.badges.keys(), badges)) {
      if (this.state.badges.get(badgeId)!.archived) continue
      this.#take("/definitions/badges", referring, (state, now) =>
        deleteBadge(state, { kind: "deleteBadge", badgeId }, now),
      )
    }
    if (settings?.streaks !== undefined) this.settings({ streaks: settings.streaks })
  }

  #take(
    pointer: string,
    workOf: () => number,
    decide: (state: ProjectState, now: number) => Decided,
  ): void {
    if (this.#facts.length > limits.definitionChangesMax) return
    if (this.#work > limits.definitionWorkMax) return
    const decided = decide(this.state, this.#now)
    if (Result.isFailure(decided)) {
      this.#work += workOf()
      const {
        code,
        detail,
        errors = [{ pointer: "", code: "invalid_value", detail }],
      } = decided.failure
      if (code === "quota_exceeded") this.#quota ??= detail
      const below = errors.map((fault) => ({ ...fault, pointer: `${pointer}${fault.pointer}` }))
      this.#faults.push(...below.slice(0, limits.faultsMax - this.#faults.length))
      return
    }
    const facts = decided.success.filter((fact) => !isSettled(this.state, fact))
    if (facts.length === 0) return
    this.#work += workOf()
    this.#facts.push(...facts)
    for (const fact of facts) this.#follow(fact)
  }

  /** Applies a fact as `applyProject` does, in the maps of the plan. */
  #follow(fact: Fact): void {
    switch (fact.kind) {
      case "project.updated":
        this.state = { ...this.state, settings: fact.settings }
        break
      case "badge.created":
      case "badge.updated":
        this.#badges.set(fact.badge.id, fact.badge)
        break
      case "quest.created":
      case "quest.updated":
        this.#quests.set(fact.quest.id, fact.quest)
        this.#grow(fact.quest.steps, fact.quest.prerequisites)
        break
      case "rule.created":
      case "rule.updated":
        this.#rules.set(fact.rule.id, fact.rule)
        this.#grow([fact.rule])
        break
      case "rule.deleted":
        this.#rules.delete(fact.ruleId)
        break
    }
  }

  result(): Decided<"invalid_request" | "quota_exceeded"> {
    const max = limits.definitionChangesMax
    if (this.#quota !== undefined) return Result.fail(laurelError("quota_exceeded", this.#quota))
    if (this.#facts.length > max) {
      const detail = `changes more than ${max} definitions: apply a part of the file first`
      this.#faults.push({ pointer: "/definitions", code: "too_long", detail })
    }
    if (this.#work > limits.definitionWorkMax) {
      const detail = "takes too much work among so many definitions: apply a part of the file first"
      this.#faults.push({ pointer: "/definitions", code: "too_large", detail })
    }
    return this.#faults.length > 0
      ? Result.fail(invalidRequest(this.#faults))
      : Result.succeed(this.#facts)
  }
}

/** The `ids` that `named` lacks. Empty if `named` is absent. */
const missing = (
  ids: Iterable<string>,
  named: ReadonlyArray<{ readonly id: string }> | undefined,
): ReadonlyArray<string> => {
  if (named === undefined) return []
  const known = new Set(named.map(({ id }) => id))
  return [...ids].filter((id) => !known.has(id))
}

/** Whether an exported file has this quest: it is neither archived nor over. */
export const isInFile = (quest: Quest, now: number): boolean =>
  !["archived", "ended"].includes(questStatusAt(quest, now))

/** Whether the fact sets the settings that `state` already has. */
const isSettled = ({ settings }: ProjectState, fact: Fact): boolean =>
  fact.kind === "project.updated" && noChange(settings, fact.settings)

/** The change, with the present streaks that it does not name. */
const withStreaks = ({ streaks }: ProjectSettings, change: SettingsChange): SettingsChange => {
  if (change.streaks === undefined) return change
  const changed = new Map(change.streaks.map((streak) => [streak.key, streak]))
  const kept = streaks.map((streak) => changed.get(streak.key) ?? streak)
  const known = new Set(streaks.map(({ key }) => key))
  return { ...change, streaks: [...kept, ...change.streaks.filter(({ key }) => !known.has(key))] }
}

/**
 * `ids` and all ids reachable by `nextOf`, in topological order: each id after its successors.
 * Without recursion, since a chain may be long.
 */
const behind = (
  ids: Iterable<string>,
  nextOf: (id: string) => ReadonlyArray<string>,
): ReadonlyArray<string> => {
  const order: Array<string> = []
  const seen = new Set<string>()
  for (const start of ids) {
    const open = [{ id: start, left: false }]
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      if (one.left) order.push(one.id)
      if (one.left || seen.has(one.id)) continue
      seen.add(one.id)
      open.push({ id: one.id, left: true })
      for (const id of nextOf(one.id)) open.push({ id, left: false })
    }
  }
  return order
}
