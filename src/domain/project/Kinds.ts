/**
 * The kinds of definitions. The noun of a kind names it in commands, facts and error codes, its plural
 * in the state, in paths and in files.
 */
import type { IdPrefix } from "../values/Ids.ts"
import type { Board } from "./BoardDefinition.ts"
import type { Boost } from "./Boost.ts"
import type { Currency } from "./Currency.ts"
import type { Badge, Quest, Rule } from "./Definition.ts"
import type { Experiment } from "./Experiment.ts"
import type { Goal } from "./Goal.ts"
import type { Item } from "./Item.ts"
import type { League } from "./League.ts"
import type { Metric } from "./Metric.ts"
import type { Segment } from "./Segment.ts"
import type { Source } from "./Source.ts"
import type { Streak } from "./StreakDefinition.ts"

/** The definition of each kind, by the noun of the kind. */
export interface DefinitionByNoun {
  readonly quest: Quest
  readonly rule: Rule
  readonly badge: Badge
  readonly boost: Boost
  readonly currency: Currency
  readonly segment: Segment
  readonly metric: Metric
  readonly streak: Streak
  readonly leaderboard: Board
  readonly experiment: Experiment
  readonly league: League
  readonly item: Item
  readonly goal: Goal
  readonly source: Source
}

export type Noun = keyof DefinitionByNoun

export const plurals = {
  currency: "currencies",
  metric: "metrics",
  segment: "segments",
  streak: "streaks",
  badge: "badges",
  quest: "quests",
  rule: "rules",
  boost: "boosts",
  leaderboard: "leaderboards",
  experiment: "experiments",
  league: "leagues",
  item: "items",
  goal: "goals",
  source: "sources",
} as const satisfies Readonly<Record<Noun, string>>

export type Plural = (typeof plurals)[Noun]

/** The prefix of the ids of each kind. */
export const prefixes = {
  quest: "qst",
  rule: "rul",
  badge: "bdg",
  boost: "bst",
  currency: "cur",
  segment: "seg",
  metric: "mtr",
  streak: "stk",
  leaderboard: "ldb",
  experiment: "exp",
  league: "lga",
  item: "itm",
  goal: "gol",
  source: "src",
} as const satisfies Readonly<Record<Noun, IdPrefix>>

export const nouns = Object.keys(plurals) as ReadonlyArray<Noun>

/** All definitions, by their plurals and ids. */
export type DefinitionMaps = {
  readonly [N in Noun as (typeof plurals)[N]]: ReadonlyMap<string, DefinitionByNoun[N]>
}

/** The definitions of a kind, by id. */
export const definitionsOf = <N extends Noun>(
  maps: DefinitionMaps,
  noun: N,
): ReadonlyMap<string, DefinitionByNoun[N]> =>
  // TypeScript does not see that the plural of N has the definitions of N.
  maps[plurals[noun]] as unknown as ReadonlyMap<string, DefinitionByNoun[N]>

/** Facts that make or change a definition have it under the noun of its kind. */
export type DefinitionFact = {
  readonly [N in Noun]: { readonly kind: `${N}.created` | `${N}.updated` } & {
    readonly [Name in N]: DefinitionByNoun[N]
  }
}[Noun]

/** A definition with the noun of its kind. */
export type AnyDefinition = {
  readonly [N in Noun]: { readonly noun: N; readonly definition: DefinitionByNoun[N] }
}[Noun]

/** The name of a definition for people. */
export const nameOf = ({ definition, noun }: AnyDefinition): string => {
  if (noun === "quest") return definition.title
  return noun === "rule" ? (definition.name ?? definition.action) : definition.name
}

const isNoun = (text: string): text is Noun => Object.hasOwn(plurals, text)

/** The definition that a fact makes or changes; `undefined`: it is another fact. */
export const definitionIn = (fact: { readonly kind: string }): AnyDefinition | undefined => {
  const [noun = "", change] = fact.kind.split(".")
  if (!isNoun(noun) || (change !== "created" && change !== "updated")) return undefined
  const definition = (fact as Readonly<Partial<Record<Noun, unknown>>>)[noun]
  return { noun, definition } as AnyDefinition
}
