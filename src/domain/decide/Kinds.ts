/** The commands on all kinds of definitions: which decision decides each, and its refusals. */
import { definitionOf } from "../project/DefinitionKey.ts"
import { definitionsOf, type Noun, nouns } from "../project/Kinds.ts"
import type { ProjectState } from "../project/Project.ts"
import { badges } from "./BadgeDefinitions.ts"
import { boards } from "./BoardDefinitions.ts"
import { boosts } from "./BoostDefinitions.ts"
import { currencies } from "./CurrencyDefinitions.ts"
import type { Decided } from "./Decided.ts"
import { experiments } from "./ExperimentDefinitions.ts"
import { goals } from "./GoalDefinitions.ts"
import { items } from "./ItemDefinitions.ts"
import type { Decisions, DefinitionCommand } from "./Kind.ts"
import { leagues } from "./LeagueDefinitions.ts"
import { metrics } from "./MetricDefinitions.ts"
import { quests } from "./QuestDefinitions.ts"
import { rules } from "./RuleDefinitions.ts"
import { segments } from "./SegmentDefinitions.ts"
import { sources } from "./SourceDefinitions.ts"
import { streaks } from "./StreakDefinitions.ts"

const kinds = {
  quest: quests,
  rule: rules,
  badge: badges,
  boost: boosts,
  currency: currencies,
  segment: segments,
  metric: metrics,
  streak: streaks,
  leaderboard: boards,
  experiment: experiments,
  league: leagues,
  item: items,
  goal: goals,
  source: sources,
} as const

type Kinds = typeof kinds

/** A definition of the kind as a caller gives it. */
export type NewOf<N extends Noun> = Parameters<Kinds[N]["create"]>[1]

/** A merge patch of a definition of the kind. */
export type ChangeOf<N extends Noun> = Parameters<Kinds[N]["update"]>[2]

/** The decisions on the kind. */
export const kindOf = <N extends Noun>(noun: N) =>
  kinds[noun] as unknown as Decisions<N, NewOf<N>, ChangeOf<N>, "in_use", "quota_exceeded">

export type AnyDefinitionCommand = {
  readonly [N in Noun]: DefinitionCommand<N, NewOf<N>, ChangeOf<N>>
}[Noun]

type CodeOf<Decide extends (...given: never) => Decided> =
  ReturnType<Decide> extends Decided<infer Code> ? Code : never

/** The codes with which each command may be refused. */
export type DefinitionRefusals = {
  readonly [N in Noun as `create${Capitalize<N>}`]: CodeOf<Kinds[N]["create"]>
} & {
  readonly [N in Noun as `update${Capitalize<N>}`]: CodeOf<Kinds[N]["update"]> | "version_conflict"
} & {
  readonly [N in Noun as `delete${Capitalize<N>}`]: CodeOf<Kinds[N]["remove"]> | "version_conflict"
}

type CommandOf<Kind> = Extract<AnyDefinitionCommand, { readonly kind: Kind }>

/** How each command is decided, and the version of the definition that it changes. */
type DefinitionHandlings = {
  readonly [Kind in AnyDefinitionCommand["kind"]]: {
    readonly decide: (
      state: ProjectState,
      command: CommandOf<Kind>,
      now: number,
    ) => Decided<DefinitionRefusals[Kind]>
  } & ("ifMatch" extends keyof CommandOf<Kind>
    ? {
        readonly version: (state: ProjectState, command: CommandOf<Kind>) => number | undefined
      }
    : { readonly version?: never })
}

/** The noun as it stands in the names of commands. */
const capitalized = (noun: Noun): string => `${noun[0]!.toUpperCase()}${noun.slice(1)}`

// TypeScript does not see that these have the kind and the members of the command of N.

export const createCommand = <N extends Noun>(noun: N, given: NewOf<N>) =>
  ({
    kind: `create${capitalized(noun)}`,
    [noun]: given,
  }) as unknown as CommandOf<`create${Capitalize<N>}`>

export const updateCommand = <N extends Noun>(noun: N, id: string, change: ChangeOf<N>) =>
  ({
    kind: `update${capitalized(noun)}`,
    [`${noun}Id`]: id,
    change,
  }) as unknown as CommandOf<`update${Capitalize<N>}`>

export const deleteCommand = <N extends Noun>(noun: N, id: string) =>
  ({
    kind: `delete${capitalized(noun)}`,
    [`${noun}Id`]: id,
  }) as unknown as CommandOf<`delete${Capitalize<N>}`>

const handlingsOf = <N extends Noun>(noun: N) => {
  const kind = kindOf(noun)
  const name = capitalized(noun)
  const idName = `${noun}Id` as const
  type ById = { readonly [Name in typeof idName]: string }
  const version = (state: ProjectState, command: ById) =>
    definitionOf(definitionsOf(state, noun), command[idName])?.version
  return {
    [`create${name}`]: {
      decide: (state: ProjectState, command: { readonly [Name in N]: NewOf<N> }, now: number) =>
        kind.create(state, command[noun], now),
    },
    [`update${name}`]: {
      decide: (
        state: ProjectState,
        command: ById & { readonly change: ChangeOf<N> },
        now: number,
      ) => kind.update(state, command[idName], command.change, now),
      version,
    },
    [`delete${name}`]: {
      decide: (state: ProjectState, command: ById, now: number) =>
        kind.remove(state, command[idName], now),
      version,
    },
  }
}

export const definitionHandlings = Object.assign(
  {},
  ...nouns.map(handlingsOf),
) as DefinitionHandlings
