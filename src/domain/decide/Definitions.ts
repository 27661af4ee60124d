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
 * currencies, metrics, personal boosts, streaks, segments, badges after those that they list, quests
 * after their prerequisites, rules, other boosts, leaderboards, leagues, experiments, items, goals, sources. A condition of a segment may name a badge of
 * the file, and a level of a currency or a milestone of a streak may pay what comes later. Removals
 * come last, in the opposite order. Definitions that refer to each other are removed together.
 *
 * Cost: a change may look at many definitions: at the text searches of its action, the
 * prerequisites of its quests, the badges that its badges list, its referrers. The sum of these sizes
 * is the work of the file, which is limited.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { isXpBoard } from "../project/BoardDefinition.ts"
import { isBuiltIn } from "../project/Currency.ts"
import {
  type Condition,
  type Definition,
  type Gives,
  listedBadges,
  statusAt,
} from "../project/Definition.ts"
import { definitionOf, definitionWithKey, idsByKey, type Keyed } from "../project/DefinitionKey.ts"
import {
  type DefinitionByNoun,
  type DefinitionMaps,
  definitionIn,
  definitionsOf,
  type Noun,
  nouns,
  plurals,
} from "../project/Kinds.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Fact } from "../record/Record.ts"
import { type Fault, invalidRequest, laurelError } from "../values/Errors.ts"
import { type Conditional, type Decided, noChange } from "./Decided.ts"
import { type Known, knownAs } from "./definitionChecks.ts"
import { kindOf, type NewOf } from "./Kinds.ts"
import { decideSettings, type SettingsChange } from "./Settings.ts"

type Given<N extends Noun> = NewOf<N> & Keyed

/** A kind that is absent does not change. */
export type DefinitionsInput = { readonly settings?: SettingsChange } & {
  readonly [N in Noun as (typeof plurals)[N]]?: ReadonlyArray<Given<N>>
}

/** `ifMatch` are versions of all definitions together (`ProjectState.definitionsVersion`). */
export interface ApplyDefinitions extends Conditional {
  readonly kind: "applyDefinitions"
  readonly definitions: DefinitionsInput
  readonly removes: boolean
}

/** A definition comes after the kinds that it may refer to. */
const order: ReadonlyArray<Noun> = [
  "currency",
  "metric",
  "streak",
  "segment",
  "badge",
  "quest",
  "rule",
  "boost",
  "leaderboard",
  "experiment",
  "league",
  "item",
  "goal",
  "source",
]

/** What the plan of a file asks of a kind. */
interface InFile<N extends Noun> {
  /** The conditions on events. */
  readonly clauses?: (given: NewOf<N>) => ReadonlyArray<Clause>
  /** The keys of definitions of the kind that must come before. */
  readonly after?: (given: NewOf<N>) => ReadonlyArray<string>
  /** The definition with `keyOf` of the ids or keys of `after`. */
  readonly renamed?: (given: Given<N>, keyOf: (idOrKey: string) => string) => Given<N>
  /** The definition with `paid` of its rewards that may give a badge. */
  readonly paying?: (given: Given<N>, paid: (reward: Gives) => Gives) => Given<N>
  /** Whether the definition stays, although a file does not name it. */
  readonly stays?: (definition: DefinitionByNoun[N]) => boolean
}

const inFile: { readonly [N in Noun]: InFile<N> } = {
  currency: {
    stays: isBuiltIn,
    paying: (currency, paid) => {
      const { levels } = currency
      if (levels?.table === undefined) return currency
      const table = levels.table.map((each) => ({ ...each, reward: paid(each.reward) }))
      return { ...currency, levels: { ...levels, table } }
    },
  },
  metric: { clauses: (metric) => [metric] },
  streak: {
    paying: (streak, paid) => ({
      ...streak,
      milestones: streak.milestones.map((each) => ({ ...each, reward: paid(each.reward) })),
    }),
  },
  segment: {},
  badge: {
    clauses: ({ criteria }) => ("where" in criteria ? [criteria] : []),
    after: ({ criteria }) => listedBadges(criteria),
    renamed: (badge, keyOf) => {
      const { badges } = badge.criteria
      return badges === undefined
        ? badge
        : { ...badge, criteria: { ...badge.criteria, badges: badges.map(keyOf) } }
    },
  },
  quest: {
    clauses: ({ steps }) => steps,
    after: ({ prerequisites }) => prerequisites,
    renamed: (quest, keyOf) => ({ ...quest, prerequisites: quest.prerequisites.map(keyOf) }),
    paying: (quest, paid) => ({ ...quest, reward: paid(quest.reward) }),
  },
  rule: {
    clauses: (rule) => [rule],
    paying: (rule, paid) => ({ ...rule, reward: paid(rule.reward) }),
  },
  boost: {},
  leaderboard: {
    stays: isXpBoard,
    paying: (board, paid) => {
      const { prizes } = board
      if (prizes === undefined) return board
      return { ...board, prizes: prizes.map((each) => ({ ...each, reward: paid(each.reward) })) }
    },
  },
  experiment: {},
  league: {
    paying: (league, paid) => {
      const { rewards } = league
      if (rewards === undefined) return league
      return { ...league, rewards: rewards.map((each) => ({ ...each, reward: paid(each.reward) })) }
    },
  },
  item: { paying: (item, paid) => ({ ...item, reward: paid(item.reward) }) },
  source: {},
  goal: { paying: (goal, paid) => ({ ...goal, reward: paid(goal.reward) }) },
}

export const applyDefinitions = (
  state: ProjectState,
  { definitions, removes }: ApplyDefinitions,
  now: number,
): Decided<"invalid_request" | "quota_exceeded"> => {
  const { settings } = definitions
  const plan = new Plan(state, now, {
    ...definitions,
    ...withKeys(state, definitions, "badge"),
    ...withKeys(state, definitions, "quest"),
  })
  if (settings !== undefined) plan.settings(settings)
  for (const noun of order) {
    // A streak may give a personal boost, which refers to nothing but currencies.
    if (noun === "streak") plan.put("boost", ({ personal }) => personal)
    plan.put(noun, (given) => !("personal" in given && given.personal))
  }
  if (removes) plan.remove()
  return plan.result()
}

/** The definitions of a kind in a file. */
const givenOf = <N extends Noun>(
  file: DefinitionsInput,
  noun: N,
): ReadonlyArray<Given<N>> | undefined =>
  file[plurals[noun]] as unknown as ReadonlyArray<Given<N>> | undefined

/** The definitions of a kind, which refer to others of the kind by keys in place of ids. */
const withKeys = <N extends Noun>(
  state: ProjectState,
  file: DefinitionsInput,
  noun: N,
): DefinitionsInput => {
  const all = givenOf(file, noun)
  const { renamed } = inFile[noun]
  if (all === undefined || renamed === undefined) return {}
  const keys = new Map(all.map(({ id, key }) => [id, key]))
  const keyOf = (idOrKey: string): string =>
    keys.get(idOrKey) ?? definitionOf(definitionsOf(state, noun), idOrKey)?.key ?? idOrKey
  return { [plurals[noun]]: all.map((given) => renamed(given, keyOf)) }
}

interface Clause {
  readonly where?: ReadonlyArray<Condition> | null
}

/** The number of references that cost as much as one condition. */
const referencesPerWork = 20

/** The changes of a file so far, and the state after them. */
class Plan {
  state: ProjectState
  readonly #file: DefinitionsInput
  readonly #known: Known
  /** The ids of badges here by their ids in the file, where these differ. */
  readonly #badgeIds = new Map<string, string>()
  readonly #now: number
  readonly #facts: Array<Fact> = []
  readonly #faults: Array<Fault> = []
  #quota: string | undefined
  #work = 0
  /**
   * The number of quests and badges and of what they come after, and of conditions in all
   * definitions.
   */
  #edges = 0
  #conditions = 0

  constructor(state: ProjectState, now: number, file: DefinitionsInput) {
    this.state = { ...state, ...mapsOf((noun) => new Map(definitionsOf(state, noun))) }
    this.#now = now
    this.#file = file
    const { badges = [], boosts = [], currencies = [], experiments = [], streaks = [] } = file
    this.#known = new Set([
      ...badges.flatMap(({ id, key }) => [id, key]),
      ...streaks.map(({ key }) => knownAs("streak", key)),
      ...currencies.map(({ key }) => knownAs("currency", key)),
      ...experiments.flatMap(({ key, variants }) => [
        knownAs("experiment", key),
        ...variants.map((variant) => knownAs("experiment", `${key} ${variant.key}`)),
      ]),
      ...boosts.flatMap(({ key, personal }) => (personal ? [knownAs("boost", key)] : [])),
    ])
    for (const { id, key } of badges) {
      const here = idsByKey(state.badges).get(key)
      if (here !== undefined) this.#badgeIds.set(id, here)
    }
    for (const noun of nouns)
      for (const each of definitionsOf(state, noun).values()) this.#grow(noun, each)
  }

  #grow<N extends Noun>(noun: N, definition: DefinitionByNoun[N]): void {
    const { after, clauses } = inFile[noun]
    const given = definition as unknown as NewOf<N>
    for (const { where } of clauses?.(given) ?? []) this.#conditions += 1 + (where?.length ?? 0)
    if (after !== undefined) this.#edges += 1 + after(given).length
  }

  /** The work to find the text searches of the actions of `clauses` (`textSearches.ts`). */
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

  /** Decides definitions of a kind in the file, each after those of `after`. */
  put<N extends Noun>(noun: N, isPut: (given: Given<N>) => boolean): void {
    const given = givenOf(this.#file, noun) ?? []
    for (const place of this.#placesOf(noun, given)) {
      const each = given[place]!
      if (isPut(each)) this.#put(noun, each, `${pointerTo(noun)}/${place}`)
    }
  }

  #placesOf<N extends Noun>(noun: N, given: ReadonlyArray<Given<N>>): Iterable<number> {
    const { after } = inFile[noun]
    if (after === undefined) return given.keys()
    const places = new Map(given.map(({ key }, index) => [key, index]))
    const keysAfter = (key: string): ReadonlyArray<string> => {
      const place = places.get(key)
      const here = definitionOf(definitionsOf(this.state, noun), key)
      const one = place === undefined ? (here as unknown as NewOf<N> | undefined) : given[place]
      return one === undefined ? [] : after(one)
    }
    return behind(places.keys(), keysAfter).flatMap((key) => places.get(key) ?? [])
  }

  #put<N extends Noun>(noun: N, members: Given<N>, pointer: string): void {
    const kind = kindOf(noun)
    const { after, clauses, paying } = inFile[noun]
    const given = paying?.(members, (reward) => this.#paid(reward)) ?? members
    const work = () =>
      this.#searching(clauses?.(given) ?? []) + (after?.(given).length ?? 0) * this.#edges
    this.#take(pointer, work, (state, now) => {
      const all = definitionsOf(state, noun)
      const before = definitionWithKey(all, given.key)
      if (before !== undefined) return kind.replace(state, before, given, now, this.#known)
      const other = all.get(given.id)
      if (other === undefined) return kind.create(state, given, now, this.#known)
      const detail = `is the id of the definition with the key ${other.key}, which cannot change`
      return Result.fail(invalidRequest([{ pointer: "/id", code: "invalid_value", detail }]))
    })
  }

  #paid(gives: Gives): Gives {
    const here = gives.badgeId === null ? undefined : this.#badgeIds.get(gives.badgeId)
    return here === undefined ? gives : { ...gives, badgeId: here }
  }

  /** Removes the definitions that the file does not name. Only those that stay may use them. */
  remove(): void {
    const going = mapsOf((noun) => this.#unnamed(noun))
    const staying = mapsOf((noun) => {
      const all: ReadonlyMap<string, Definition> = this.state[plurals[noun]]
      return new Map([...all].filter(([id]) => !going[plurals[noun]].has(id)))
    })
    const uses = { ...this.state, ...staying }
    const referring = () => Math.ceil((this.#edges + this.state.rules.size) / referencesPerWork)
    for (const noun of order.toReversed()) {
      const kind = kindOf(noun)
      const work = kind.hasUses ? referring : () => 0
      for (const id of going[plurals[noun]].keys()) {
        this.#take(pointerTo(noun), work, (state, now) => kind.remove(state, id, now, uses))
      }
    }
  }

  /** The definitions of a kind whose keys the file lacks. None if the file lacks the kind. */
  #unnamed<N extends Noun>(noun: N): ReadonlyMap<string, DefinitionByNoun[N]> {
    const { stays } = inFile[noun]
    const named = givenOf(this.#file, noun)
    const keys = new Set(named?.map(({ key }) => key))
    const goes = (definition: DefinitionByNoun[N]) =>
      !keys.has(definition.key) && isInFile(definition, this.#now) && stays?.(definition) !== true
    const all = named === undefined ? [] : [...definitionsOf(this.state, noun)]
    return new Map(all.filter(([, definition]) => goes(definition)))
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
    if (fact.kind === "project.updated") this.state = { ...this.state, settings: fact.settings }
    const changed = definitionIn(fact)
    if (changed === undefined) return
    const { definition, noun } = changed
    const maps: ReadonlyMap<string, Definition> = this.state[plurals[noun]]
    // The plan has made the maps.
    const all = maps as Map<string, Definition>
    all.set(definition.id, definition)
    idsByKey(all).set(definition.key, definition.id)
    this.#grow(noun, definition)
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

const pointerTo = (noun: Noun): string => `/definitions/${plurals[noun]}`

const mapsOf = (mapOf: (noun: Noun) => ReadonlyMap<string, Definition>): DefinitionMaps =>
  Object.fromEntries(nouns.map((noun) => [plurals[noun], mapOf(noun)])) as unknown as DefinitionMaps

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
