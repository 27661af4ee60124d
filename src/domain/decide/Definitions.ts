/**
 * Applies a file of definitions as one decision: either all definitions, or none and all faults.
 *
 * A definition is identified by its key. An existing definition is replaced and keeps its id, and a
 * new one is created with the id of the file. A `badgeId` of the file that is the id of a badge of
 * the file refers to the badge with its key. A definition that does not change causes no fact.
 * Definitions that the file does not name stay. With `removes` they are archived, if the file has
 * their kind.
 *
 * Each change is decided on the state after the changes before it, in this order: settings with
 * currencies, metrics, streaks, segments, badges, quests after their prerequisites, rules, boosts. A
 * condition of a segment may name a badge of the file. Removals come last, in the opposite order. A
 * badge and a segment that refer to each other are removed together.
 *
 * Cost: a change may look at many definitions: at the text searches of its action, the
 * prerequisites of its quests, its referrers. The sum of these sizes is the work of the file, which
 * is limited.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import type { Boost } from "../project/Boost.ts"
import { type Currency, isBuiltIn } from "../project/Currency.ts"
import {
  type Badge,
  type Condition,
  type Definition,
  type Gives,
  type Quest,
  type Replacement,
  type Rule,
  statusAt,
} from "../project/Definition.ts"
import { definitionOf, definitionWithKey, idsByKey, type Keyed } from "../project/DefinitionKey.ts"
import type { Metric } from "../project/Metric.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Segment } from "../project/Segment.ts"
import type { Streak } from "../project/StreakDefinition.ts"
import type { Fact } from "../record/Record.ts"
import { type Fault, invalidRequest, laurelError } from "../values/Errors.ts"
import {
  type BadgeReplacement,
  createBadge,
  deleteBadge,
  replaceBadge,
} from "./BadgeDefinitions.ts"
import {
  type BoostReplacement,
  createBoost,
  deleteBoost,
  replaceBoost,
} from "./BoostDefinitions.ts"
import {
  type CurrencyReplacement,
  createCurrency,
  deleteCurrency,
  replaceCurrency,
} from "./CurrencyDefinitions.ts"
import { type Conditional, type Decided, noChange } from "./Decided.ts"
import {
  createMetric,
  deleteMetric,
  type MetricReplacement,
  replaceMetric,
} from "./MetricDefinitions.ts"
import { createQuest, deleteQuest, replaceQuest } from "./QuestDefinitions.ts"
import { createRule, deleteRule, type RuleReplacement, replaceRule } from "./RuleDefinitions.ts"
import {
  createSegment,
  deleteSegment,
  replaceSegment,
  type SegmentReplacement,
} from "./SegmentDefinitions.ts"
import { decideSettings, type SettingsChange } from "./Settings.ts"
import { createStreak, deleteStreak, replaceStreak } from "./StreakDefinitions.ts"

type BadgeOfFile = BadgeReplacement & Keyed
type BoostOfFile = BoostReplacement & Keyed
type MetricOfFile = MetricReplacement & Keyed
type SegmentOfFile = SegmentReplacement & Keyed
type QuestOfFile = Replacement<Quest> & Keyed
type RuleOfFile = RuleReplacement & Keyed
type CurrencyOfFile = CurrencyReplacement & Keyed
type StreakOfFile = Replacement<Streak> & Keyed

/** A kind that is absent does not change. */
export interface DefinitionsInput {
  readonly settings?: SettingsChange
  readonly currencies?: ReadonlyArray<CurrencyOfFile>
  readonly streaks?: ReadonlyArray<StreakOfFile>
  readonly segments?: ReadonlyArray<SegmentOfFile>
  readonly metrics?: ReadonlyArray<MetricOfFile>
  readonly badges?: ReadonlyArray<BadgeOfFile>
  readonly boosts?: ReadonlyArray<BoostOfFile>
  readonly quests?: ReadonlyArray<QuestOfFile>
  readonly rules?: ReadonlyArray<RuleOfFile>
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
  const { badges, boosts, metrics, rules, segments, settings } = definitions
  const plan = new Plan(state, now, badges)
  if (settings !== undefined) plan.settings(settings)
  for (const [index, currency] of definitions.currencies?.entries() ?? [])
    plan.currency(currency, `/definitions/currencies/${index}`)
  for (const [index, metric] of metrics?.entries() ?? [])
    plan.metric(metric, `/definitions/metrics/${index}`)
  const badgeIds = new Set(badges?.map(({ id }) => id))
  for (const [index, streak] of definitions.streaks?.entries() ?? [])
    plan.streak(streak, badgeIds, `/definitions/streaks/${index}`)
  const badgeKeys = new Set(badges?.map(({ key }) => key))
  for (const [index, segment] of segments?.entries() ?? [])
    plan.segment(segment, badgeKeys, `/definitions/segments/${index}`)
  for (const [index, badge] of badges?.entries() ?? [])
    plan.badge(badge, `/definitions/badges/${index}`)
  const quests = withKeys(state, definitions.quests ?? [])
  const places = new Map(quests.map(({ key }, index) => [key, index]))
  const prerequisitesOf = (key: string) => {
    const place = places.get(key)
    const quest = place === undefined ? definitionOf(plan.state.quests, key) : quests[place]
    return quest?.prerequisites ?? []
  }
  for (const key of behind(places.keys(), prerequisitesOf)) {
    const place = places.get(key)
    if (place !== undefined) plan.quest(quests[place]!, `/definitions/quests/${place}`)
  }
  for (const [index, rule] of rules?.entries() ?? []) plan.rule(rule, `/definitions/rules/${index}`)
  for (const [index, boost] of boosts?.entries() ?? [])
    plan.boost(boost, `/definitions/boosts/${index}`)
  if (removes) plan.remove(definitions)
  return plan.result()
}

/** The quests with the keys of their prerequisites in place of ids. */
const withKeys = (
  state: ProjectState,
  quests: ReadonlyArray<QuestOfFile>,
): ReadonlyArray<QuestOfFile> => {
  const keys = new Map(quests.map(({ id, key }) => [id, key]))
  const keyOf = (idOrKey: string): string =>
    keys.get(idOrKey) ?? definitionOf(state.quests, idOrKey)?.key ?? idOrKey
  return quests.map((quest) => ({ ...quest, prerequisites: quest.prerequisites.map(keyOf) }))
}

interface Clause {
  readonly where?: ReadonlyArray<Condition> | null
}

/** The number of references that cost as much as one condition. */
const referencesPerWork = 20

/** The changes of a file so far, and the state after them. */
class Plan {
  state: ProjectState
  readonly #currencies: Map<string, Currency>
  readonly #streaks: Map<string, Streak>
  readonly #segments: Map<string, Segment>
  readonly #badges: Map<string, Badge>
  readonly #boosts: Map<string, Boost>
  readonly #quests: Map<string, Quest>
  readonly #rules: Map<string, Rule>
  readonly #metrics: Map<string, Metric>
  /** The ids of badges here by their ids in the file, where these differ. */
  readonly #badgeIds = new Map<string, string>()
  readonly #now: number
  readonly #facts: Array<Fact> = []
  readonly #faults: Array<Fault> = []
  #quota: string | undefined
  #work = 0
  /** The number of quests and prerequisites, and of conditions in all definitions. */
  #edges = 0
  #conditions = 0

  constructor(state: ProjectState, now: number, badges: ReadonlyArray<Keyed> = []) {
    this.#currencies = new Map(state.currencies)
    this.#streaks = new Map(state.streaks)
    this.#segments = new Map(state.segments)
    this.#badges = new Map(state.badges)
    this.#boosts = new Map(state.boosts)
    this.#quests = new Map(state.quests)
    this.#rules = new Map(state.rules)
    this.#metrics = new Map(state.metrics)
    const kinds = {
      currencies: this.#currencies,
      streaks: this.#streaks,
      segments: this.#segments,
      badges: this.#badges,
      boosts: this.#boosts,
      metrics: this.#metrics,
      quests: this.#quests,
      rules: this.#rules,
    }
    this.state = { ...state, ...kinds }
    this.#now = now
    for (const { id, key } of badges) {
      const here = idsByKey(state.badges).get(key)
      if (here !== undefined) this.#badgeIds.set(id, here)
    }
    for (const quest of state.quests.values()) this.#grow(quest.steps, quest.prerequisites)
    for (const rule of state.rules.values()) this.#grow([rule])
    for (const metric of state.metrics.values()) this.#grow([metric])
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
      (state) => decideSettings(state, { kind: "updateSettings", change }),
    )
  }

  currency(currency: CurrencyOfFile, pointer: string): void {
    const created = { kind: "createCurrency", currency: published(currency) } as const
    this.#put(
      pointer,
      () => 0,
      this.#currencies,
      currency,
      (before, state, now) =>
        before === undefined
          ? createCurrency(state, created, now)
          : replaceCurrency(before, currency, now),
    )
  }

  /** `known`: the keys of the badges of the file, which come after the segments. */
  segment(segment: SegmentOfFile, known: ReadonlySet<string>, pointer: string): void {
    const created = { kind: "createSegment", segment: published(segment) } as const
    this.#put(
      pointer,
      () => 0,
      this.#segments,
      segment,
      (before, state, now) =>
        before === undefined
          ? createSegment(state, created, now, known)
          : replaceSegment(state, before, segment, now, known),
    )
  }
  metric(metric: MetricOfFile, pointer: string): void {
    const work = () => this.#searching([metric])
    const created = { kind: "createMetric", metric } as const
    this.#put(pointer, work, this.#metrics, metric, (before, state, now) =>
      before === undefined
        ? createMetric(state, created, now)
        : replaceMetric(state, before, metric, now),
    )
  }

  /** `known`: the ids of the badges of the file, which come after the streaks. */
  streak(members: StreakOfFile, known: ReadonlySet<string>, pointer: string): void {
    const milestones = members.milestones.map((milestone) => ({
      ...milestone,
      reward: this.#reward(milestone.reward),
    }))
    const streak = { ...members, milestones }
    const created = { kind: "createStreak", streak: published(streak) } as const
    this.#put(
      pointer,
      () => 0,
      this.#streaks,
      streak,
      (before, state, now) =>
        before === undefined
          ? createStreak(state, created, now, known)
          : replaceStreak(state, before, streak, now, known),
    )
  }

  badge(badge: BadgeOfFile, pointer: string): void {
    const work = () => this.#searching([badge.criteria])
    const created = { kind: "createBadge", badge: published(badge) } as const
    this.#put(pointer, work, this.#badges, badge, (before, state, now) =>
      before === undefined
        ? createBadge(state, created, now)
        : replaceBadge(state, before, badge, now),
    )
  }

  quest(members: QuestOfFile, pointer: string): void {
    const work = () => this.#searching(members.steps) + members.prerequisites.length * this.#edges
    const quest = { ...members, reward: this.#reward(members.reward) }
    const created = { kind: "createQuest", quest: published(quest) } as const
    this.#put(pointer, work, this.#quests, quest, (before, state, now) =>
      before === undefined
        ? createQuest(state, created, now)
        : replaceQuest(state, before, quest, now),
    )
  }

  rule(members: RuleOfFile, pointer: string): void {
    const rule = { ...members, reward: this.#reward(members.reward) }
    const work = () => this.#searching([rule])
    const created = { kind: "createRule", rule: published(rule) } as const
    this.#put(pointer, work, this.#rules, rule, (before, state, now) =>
      before === undefined
        ? createRule(state, created, now)
        : replaceRule(state, before, rule, now),
    )
  }

  boost(boost: BoostOfFile, pointer: string): void {
    const created = { kind: "createBoost", boost: published(boost) } as const
    this.#put(
      pointer,
      () => 0,
      this.#boosts,
      boost,
      (before, state, now) =>
        before === undefined
          ? createBoost(state, created, now)
          : replaceBoost(state, before, boost, now),
    )
  }

  /** Decides a definition of the file. `before` has its key; `undefined`: it is new. */
  #put<A extends Keyed>(
    pointer: string,
    workOf: () => number,
    definitions: ReadonlyMap<string, A>,
    { id, key }: Keyed,
    decide: (before: A | undefined, state: ProjectState, now: number) => Decided,
  ): void {
    this.#take(pointer, workOf, (state, now) => {
      const before = definitionWithKey(definitions, key)
      const other = before === undefined ? definitions.get(id) : undefined
      if (other === undefined) return decide(before, state, now)
      const detail = `is the id of the definition with the key ${other.key}, which cannot change`
      return Result.fail(invalidRequest([{ pointer: "/id", code: "invalid_value", detail }]))
    })
  }

  #reward(gives: Gives): Gives {
    const here = gives.badgeId === null ? undefined : this.#badgeIds.get(gives.badgeId)
    return here === undefined ? gives : { ...gives, badgeId: here }
  }

  /**
   * Removes the definitions that the file does not name. A definition is removed before those it
   * refers to.
   */
  remove(definitions: DefinitionsInput): void {
    const { badges, boosts, currencies, metrics, quests, rules, segments, streaks } = definitions
    for (const boost of missing(this.#boosts, boosts)) {
      if (!isInFile(boost, this.#now)) continue
      this.#take(
        "/definitions/boosts",
        () => 0,
        (state, now) => deleteBoost(state, { kind: "deleteBoost", boostId: boost.id }, now),
      )
    }
    for (const rule of missing(this.#rules, rules)) {
      if (!isInFile(rule, this.#now)) continue
      this.#take(
        "/definitions/rules",
        () => 0,
        (state, now) => deleteRule(state, { kind: "deleteRule", ruleId: rule.id }, now),
      )
    }
    const referring = () => Math.ceil((this.#edges + this.#rules.size) / referencesPerWork)
    const keys = missing(this.#quests, quests).map(({ key }) => key)
    const going = new Set(keys)
    const inOrder = behind(keys, (key) => definitionOf(this.#quests, key)?.prerequisites ?? [])
    for (const questId of inOrder.toReversed()) {
      const quest = definitionOf(this.#quests, questId)
      if (quest === undefined || !going.has(questId) || !isInFile(quest, this.#now)) continue
      this.#take("/definitions/quests", referring, (state, now) =>
        deleteQuest(state, { kind: "deleteQuest", questId }, now),
      )
    }
    const ending = missing(this.#streaks, streaks).filter((streak) => isInFile(streak, this.#now))
    const lasting = new Map(this.#streaks)
    for (const { id } of ending) lasting.delete(id)
    const leaving = missing(this.#segments, segments).filter(({ set }) => set !== "archived")
    const staying = new Map(this.#segments)
    for (const { id } of leaving) staying.delete(id)
    for (const badge of missing(this.#badges, badges)) {
      if (!isInFile(badge, this.#now)) continue
      this.#take("/definitions/badges", referring, (state, now) =>
        deleteBadge(
          { ...state, segments: staying, streaks: lasting },
          { kind: "deleteBadge", badgeId: badge.id },
          now,
        ),
      )
    }
    for (const { id: segmentId } of leaving) {
      this.#take("/definitions/segments", referring, (state, now) =>
        deleteSegment(state, { kind: "deleteSegment", segmentId }, now),
      )
    }
    for (const { id: streakId } of ending) {
      this.#take("/definitions/streaks", referring, (state, now) =>
        deleteStreak(state, { kind: "deleteStreak", streakId }, now),
      )
    }
    for (const currency of missing(this.#currencies, currencies)) {
      if (!isInFile(currency, this.#now) || isBuiltIn(currency)) continue
      this.#take("/definitions/currencies", referring, (state, now) =>
        deleteCurrency(state, { kind: "deleteCurrency", currencyId: currency.id }, now),
      )
    }
    for (const metric of missing(this.#metrics, metrics)) {
      if (!isInFile(metric, this.#now)) continue
      this.#take("/definitions/metrics", referring, (state, now) =>
        deleteMetric(state, { kind: "deleteMetric", metricId: metric.id }, now),
      )
    }
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
      case "streak.created":
      case "streak.updated":
        this.#set(this.#streaks, fact.streak)
        break
      case "currency.created":
      case "currency.updated":
        this.#set(this.#currencies, fact.currency)
        break
      case "segment.created":
      case "segment.updated":
        this.#set(this.#segments, fact.segment)
        break
      case "badge.created":
      case "badge.updated":
        this.#set(this.#badges, fact.badge)
        break
      case "boost.created":
      case "boost.updated":
        this.#set(this.#boosts, fact.boost)
        break
      case "metric.created":
      case "metric.updated":
        this.#set(this.#metrics, fact.metric)
        this.#grow([fact.metric])
        break
      case "quest.created":
      case "quest.updated":
        this.#set(this.#quests, fact.quest)
        this.#grow(fact.quest.steps, fact.quest.prerequisites)
        break
      case "rule.created":
      case "rule.updated":
        this.#set(this.#rules, fact.rule)
        this.#grow([fact.rule])
        break
    }
  }

  #set<A extends Keyed>(definitions: Map<string, A>, definition: A): void {
    definitions.set(definition.id, definition)
    idsByKey(definitions).set(definition.key, definition.id)
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

/** The definitions whose keys `named` lacks. Empty if `named` is absent. */
const missing = <A extends Keyed>(
  definitions: ReadonlyMap<string, A>,
  named: ReadonlyArray<Keyed> | undefined,
): ReadonlyArray<A> => {
  if (named === undefined) return []
  const keys = new Set(named.map(({ key }) => key))
  return [...definitions.values()].filter(({ key }) => !keys.has(key))
}

/** A new definition of a file: published, unless the file has another status. */
const published = <A extends { readonly set?: Definition["set"] | undefined }>(given: A) => ({
  ...given,
  set: given.set ?? ("published" as const),
})

/** Whether an exported file has this definition: it is neither archived nor over. */
export const isInFile = (definition: Definition, now: number): boolean =>
  !["archived", "ended"].includes(statusAt(definition, now))

/** Whether the fact sets the settings that `state` already has. */
const isSettled = ({ settings }: ProjectState, fact: Fact): boolean =>
  fact.kind === "project.updated" && noChange(settings, fact.settings)

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
