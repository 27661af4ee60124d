/**
 * Definitions as a file: export, comparison with the present definitions, and application in one
 * record.
 */
import { Effect } from "effect"
import { makeId } from "../../accounts/KeyText.ts"
import {
  applyDefinitions,
  type DefinitionsInput,
  isInFile,
} from "../../domain/decide/Definitions.ts"
import type { NewOf } from "../../domain/decide/Kinds.ts"
import { decideProject } from "../../domain/decide/Project.ts"
import { type Board, defaultWindows, isXpBoard } from "../../domain/project/BoardDefinition.ts"
import type { Boost } from "../../domain/project/Boost.ts"
import { type Currency, type CurrencyLevels, isBuiltIn } from "../../domain/project/Currency.ts"
import type { Badge, Definition, Quest, Rule, Targeted } from "../../domain/project/Definition.ts"
import type { Experiment } from "../../domain/project/Experiment.ts"
import { type Goal, goalDefaults } from "../../domain/project/Goal.ts"
import type { Item } from "../../domain/project/Item.ts"
import {
  type DefinitionByNoun,
  definitionIn,
  definitionsOf,
  type Noun,
  nameOf,
  nouns,
  type Plural,
  plurals,
  prefixes,
} from "../../domain/project/Kinds.ts"
import { type League, leagueDefaults } from "../../domain/project/League.ts"
import type { Metric } from "../../domain/project/Metric.ts"
import type { ProjectSettings, ProjectState } from "../../domain/project/Project.ts"
import type { Segment } from "../../domain/project/Segment.ts"
import type { Source } from "../../domain/project/Source.ts"
import type { Streak } from "../../domain/project/StreakDefinition.ts"
import type { Fact } from "../../domain/record/Record.ts"
import { dateOf } from "../../domain/values/Calendar.ts"
import { isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { limits } from "../../Limits.ts"
import type { DefinitionFiles, DefinitionsFile } from "../api/DefinitionFiles.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { newBadge } from "./badgeHandlers.ts"
import { newBoard } from "./boardHandlers.ts"
import { newBoost } from "./boostHandlers.ts"
import { newCurrency } from "./currencyHandlers.ts"
import { newExperiment } from "./experimentHandlers.ts"
import { newGoal } from "./goalHandlers.ts"
import { newItem } from "./itemHandlers.ts"
import { newLeague, showLeagueReward } from "./leagueHandlers.ts"
import { newMetric } from "./metricHandlers.ts"
import { newQuest } from "./questHandlers.ts"
import { newRule } from "./ruleHandlers.ts"
import { onlyIf, settingsChange, shownVersion, showReminders } from "./Shapes.ts"
import { newSegment } from "./segmentHandlers.ts"
import { newSource, showMapping, showRules } from "./sourceHandlers.ts"
import { newStreak } from "./streakHandlers.ts"

export const definitionFileHandlers = (
  engine: Engine["Service"],
): Handlers<typeof DefinitionFiles> => ({
  export: {
    handle: ({ caller, headers }) =>
      Effect.map(engine.readProject(caller.environment), (state) =>
        shownVersion(
          fileOf(state, engine.timeIn(caller.environment)),
          state.definitionsVersion,
          headers,
        ),
      ),
  },
  diff: {
    handle: ({ caller, payload }) =>
      Effect.gen(function* () {
        const state = yield* engine.readProject(caller.environment)
        const facts = yield* Effect.fromResult(
          applyDefinitions(state, commandOf(payload), engine.timeIn(caller.environment)),
        )
        const changes = facts.map((fact) => ({ ...changeOf(fact), ...diffOf(state, fact) }))
        const { definitionsVersion: version } = state
        return { body: { version, ...countsOf(changes), changes }, version }
      }),
  },
  apply: {
    handle: ({ caller, headers, idempotency, payload }) =>
      Effect.gen(function* () {
        const command = onlyIf(headers, commandOf(payload))
        if (idempotency === undefined) {
          const state = yield* engine.readProject(caller.environment)
          const facts = yield* Effect.fromResult(decideProject(state, command, engine.now()))
          // The file changes nothing, so no record is written.
          if (facts.length === 0) return { body: nothing }
        }
        const asked = yield* engine.askProject(caller.environment, command, idempotency)
        const changes = asked.reply.facts.map(changeOf)
        return { body: { ...countsOf(changes), changes }, replayed: asked.replayed }
      }),
  },
})

type File = typeof DefinitionsFile.Type

const nothing = { created: 0, updated: 0, deleted: 0, changes: [] }

const commandOf = ({
  definitions: { settings, ...file },
  delete: removes = false,
}: {
  readonly definitions: File
  readonly delete?: boolean
}) => {
  const made = nouns.flatMap((noun) => {
    const items = itemsOf(file, noun)
    return items === undefined ? [] : [[plurals[noun], items.map((item) => fromFile(noun, item))]]
  })
  const definitions: DefinitionsInput = {
    ...(settings && { settings: settingsChange(settings) }),
    ...Object.fromEntries(made),
  }
  return { kind: "applyDefinitions", definitions, removes } as const
}

const itemsOf = <N extends Noun>(file: File, noun: N) =>
  file[plurals[noun]] as unknown as ReadonlyArray<AnyItem & ItemOf<N>> | undefined

type ItemOf<N extends Noun> = InFile<(typeof plurals)[N]>

/** How a file has the definitions of a kind. */
interface Form<N extends Noun> {
  readonly made: (item: Omit<ItemOf<N>, "status">, id: string) => NewOf<N>
  readonly shown: (definition: DefinitionByNoun[N]) => ItemOf<N>
}

const forms: { readonly [N in Noun]: Form<N> } = {
  currency: { made: newCurrency, shown: (currency) => fileCurrency(currency) },
  metric: { made: newMetric, shown: (metric) => fileMetric(metric) },
  segment: { made: newSegment, shown: (segment) => fileSegment(segment) },
  streak: { made: newStreak, shown: (streak) => fileStreak(streak) },
  badge: { made: newBadge, shown: (badge) => fileBadge(badge) },
  quest: { made: newQuest, shown: (quest) => fileQuest(quest) },
  rule: { made: newRule, shown: (rule) => fileRule(rule) },
  boost: { made: newBoost, shown: (boost) => fileBoost(boost) },
  leaderboard: { made: newBoard, shown: (board) => fileBoard(board) },
  experiment: { made: newExperiment, shown: (experiment) => fileExperiment(experiment) },
  league: { made: newLeague, shown: (league) => fileLeague(league) },
  item: { made: newItem, shown: (item) => fileItem(item) },
  goal: { made: newGoal, shown: (goal) => fileGoal(goal) },
  source: { made: newSource, shown: (source) => fileSource(source) },
}

/** The members of a definition of every kind in a file. */
interface AnyItem {
  readonly id?: string
  readonly key: string
  readonly status?: "paused" | "draft" | "active"
}

/** The definition of a file, with a new id unless the file has one. */
const fromFile = <N extends Noun>(noun: N, item: AnyItem & ItemOf<N>) => {
  const { status, ...members } = item
  const made = forms[noun].made(members, members.id ?? makeId(prefixes[noun]))
  return { ...made, key: item.key, set: status === "active" ? ("published" as const) : status }
}

const fileOf = (state: ProjectState, now: number): File => {
  const definitions = nouns.map((noun) => {
    const all = [...definitionsOf(state, noun).values()]
    const told = all.filter((definition) => isInFile(definition, now) && isTold(definition))
    return [plurals[noun], told.map((definition) => shownIn(noun, definition))]
  })
  return { settings: fileSettings(state.settings), ...Object.fromEntries(definitions) }
}

/** A definition in the form of a file. */
const shownIn = <N extends Noun>(noun: N, definition: DefinitionByNoun[N]): object =>
  forms[noun].shown(definition)

type InFile<Of extends Plural> = NonNullable<File[Of]>[number]

/**
 * `members` without values that are undefined, null, false or empty: a file leaves out defaults.
 */
const given = <A extends object>(members: A) =>
  Object.fromEntries(
    Object.entries(members).filter(
      ([, value]) =>
        value !== undefined &&
        value !== null &&
        value !== false &&
        (typeof value !== "object" || Object.keys(value).length > 0),
    ),
  )

const fileSettings = (settings: ProjectSettings): NonNullable<File["settings"]> => {
  const {
    clientActions = [],
    levelCurve,
    name,
    reminders,
    timezone,
    version: _,
    ...rest
  } = settings
  const named = name !== null && { name }
  return {
    ...named,
    timezone,
    levelCurve,
    clientActions,
    reminders: showReminders(reminders),
    ...rest,
  }
}

/** The members that definitions of every kind have, those of the kind between them. */
const fileDefinition = (definition: Definition & Partial<Targeted>, own: object) => {
  const { description, endsAt, id, key, metadata, segment, set, startsAt } = definition
  return {
    id,
    key,
    ...own,
    ...given({ description }),
    ...(set !== "published" && { status: set }),
    ...given({
      startsAt: isoTimeOrNull(startsAt),
      endsAt: isoTimeOrNull(endsAt),
      segment,
      metadata,
    }),
  }
}

/** Whether a file has the definition: some always exist, also without it. */
const isTold = (definition: Definition): boolean =>
  !(isBuiltIn(definition) || isXpBoard(definition)) || definition.version > 1

const fileCurrency = (currency: Currency) => {
  const { earnLimit, expiry, key, levels, max, name, pendingDays, refill, spendable } = currency
  const isUsual = spendable === (key !== "xp")
  const own = {
    name,
    ...(!isUsual && { spendable }),
    ...given({ max, earnLimit, refill, pendingDays, expiry }),
    ...(levels !== null && { levels: fileLevels(levels) }),
  }
  return fileDefinition(currency, own) as InFile<"currencies">
}

const fileLevels = ({ curve, of, table }: CurrencyLevels) => ({
  ...(of !== "earned" && { of }),
  ...given({
    table: table?.map(({ icon, reward, ...level }) => ({
      ...level,
      ...given({ icon, reward: fileReward(reward) }),
    })),
    curve,
  }),
})

const fileSegment = (segment: Segment) => {
  const { conditions, match, name } = segment
  const own = { name, ...(match !== "all" && { match }), conditions }
  return fileDefinition(segment, own) as InFile<"segments">
}

const fileMetric = (metric: Metric) => {
  const { actions, aggregate, decimals, name, unit, value, where } = metric
  const own = {
    name,
    aggregate,
    actions,
    ...given({ where, value, decimals: decimals || undefined, unit }),
  }
  return fileDefinition(metric, own) as InFile<"metrics">
}

const fileStreak = (streak: Streak) => {
  const { atRisk, every, freezes, match, milestones, name, needs, pauses, repair, restDays } =
    streak
  const { everyDays, initial, max } = freezes
  const own = {
    name,
    ...(every !== "day" && { every }),
    ...given({
      needs: needs.map(({ target, ...need }) => ({ ...need, ...(target !== 1 && { target }) })),
    }),
    ...(match !== "all" && { match }),
    ...given({
      restDays,
      freezes: given({
        initial: initial || undefined,
        max: max === initial ? undefined : max,
        everyDays,
      }),
      milestones: milestones.map(({ reward, target }) => ({ target, reward: fileReward(reward) })),
      atRisk,
      pauses: pauses.map(({ from, segment, to }) => ({
        from: dateOf(from),
        to: dateOf(to),
        ...given({ segment }),
      })),
      repair: repair === null ? undefined : given({ ...repair }),
    }),
  }
  return fileDefinition(streak, own) as InFile<"streaks">
}

const fileBadge = (badge: Badge) => {
  const { criteria, icon, name, repeatable, reward, secret, tiers } = badge
  const hasTarget = "target" in criteria && tiers.length === 0 && criteria.kind !== "badges"
  const target = hasTarget ? criteria.target : undefined
  const own = {
    name,
    ...given({ icon, secret, repeatable }),
    criteria: given({ ...criteria, target }),
    ...given({
      tiers: tiers.map(({ icon, reward, ...tier }) => ({
        ...tier,
        ...given({ icon, reward: fileReward(reward) }),
      })),
      reward: fileReward(reward),
    }),
  }
  return fileDefinition(badge, own) as InFile<"badges">
}

const fileReward = ({ badgeId, boost, currencies, freezes, points, xp }: Rule["reward"]) =>
  given({ xp: xp || undefined, points: points || undefined, currencies, badgeId, freezes, boost })

const fileQuest = (quest: Quest) => {
  const { claim, optIn, prerequisites, recurrence, reward, steps, title } = quest
  const own = {
    title,
    reward: { xp: reward.xp, ...fileReward(reward) },
    ...given({
      steps: steps.map(({ since: _, where, ...step }) => ({ ...step, ...given({ where }) })),
      recurrence: recurrence === "none" ? null : recurrence,
      prerequisites,
      optIn: optIn || null,
      claim: claim === "auto" ? null : claim,
    }),
  }
  return fileDefinition(quest, own) as InFile<"quests">
}

const fileRule = (rule: Rule) => {
  const { action, cooldownSeconds, limit, multiplier, name, reward, where } = rule
  const own = {
    ...given({ name }),
    action,
    ...given({ where }),
    reward: fileReward(reward),
    ...(multiplier !== null && {
      multiplierPath: multiplier.path,
      ...(multiplier.min !== 0 && { multiplierMin: multiplier.min }),
      ...(multiplier.max !== limits.multiplierMax && { multiplierMax: multiplier.max }),
    }),
    ...given({ limit, cooldownSeconds }),
  }
  return fileDefinition(rule, own) as InFile<"rules">
}

const fileBoost = (boost: Boost) => {
  const { currencies, factor, name, personal, timeZone, weekly } = boost
  const zone = timeZone === "project" ? null : timeZone
  const own = {
    name,
    currencies,
    factor,
    ...given({ weekly, timeZone: zone }),
    ...(personal && { personal }),
  }
  return fileDefinition(boost, own) as InFile<"boosts">
}

const fileBoard = (board: Board) => {
  const { attributes, entrants, graceMinutes, keepWindows, name, order, prizes, score } = board
  const { ties, timeZone, windows } = board
  const usual = defaultWindows(score)
  const isUsual =
    windows.length === usual.length && windows.every((one, place) => one === usual[place])
  const own = {
    name,
    score,
    ...(entrants !== "users" && { entrants }),
    ...(graceMinutes !== 0 && { graceMinutes }),
    ...(!isUsual && { windows }),
    ...(timeZone !== "project" && { timeZone }),
    ...(order !== "desc" && { order }),
    ...(ties !== "shared" && { ties }),
    ...given({
      teamKind: board.teamKind,
      attributes,
      groupBy: board.groupBy,
      prizes: prizes.map(({ reward, ...prize }) => ({ ...prize, reward: fileReward(reward) })),
      keepWindows,
      announceRanks: board.announceRanks,
    }),
  }
  return fileDefinition(board, own) as InFile<"leaderboards">
}

const fileExperiment = (experiment: Experiment) => {
  const { metric, name, variants } = experiment
  const own = { name, variants, ...given({ metric }) }
  return fileDefinition(experiment, own) as InFile<"experiments">
}

const fileLeague = (league: League) => {
  const { cohortSize, divisions, graceMinutes, name, rewards, score, window } = league
  const own = {
    name,
    score,
    divisions: divisions.map(({ icon, ...division }) => ({ ...division, ...given({ icon }) })),
    ...(cohortSize !== leagueDefaults.cohortSize && { cohortSize }),
    ...(window !== leagueDefaults.window && { window }),
    ...(graceMinutes !== leagueDefaults.graceMinutes && { graceMinutes }),
    ...given({ rewards: rewards.map((one) => showLeagueReward(one, fileReward(one.reward))) }),
  }
  return fileDefinition(league, own) as InFile<"leagues">
}

const fileItem = (item: Item) => {
  const { limit, name, price, reward, stock } = item
  const own = {
    name,
    price,
    ...given({ reward: fileReward(reward), limit: limit && fileLimit(limit), stock }),
  }
  return fileDefinition(item, own) as InFile<"items">
}

const fileSource = (source: Source) => {
  const { kind, mappings, name, tracker } = source
  const rules = tracker && showRules(tracker)
  return fileDefinition(source, {
    name,
    kind,
    mappings: mappings.map(showMapping),
    ...(rules !== undefined && Object.keys(rules).length > 0 && { tracker: rules }),
  }) as InFile<"sources">
}

const fileGoal = (goal: Goal) => {
  const { minContribution, name, recurrence, reward, scope, score, target, teamKind } = goal
  const own = {
    name,
    score,
    ...(scope !== goalDefaults.scope && { scope }),
    ...given({ teamKind }),
    target,
    ...(recurrence !== goalDefaults.recurrence && { recurrence }),
    ...given({ reward: fileReward(reward) }),
    ...(minContribution !== goalDefaults.minContribution && { minContribution }),
  }
  return fileDefinition(goal, own) as InFile<"goals">
}

const fileLimit = ({ per, times }: NonNullable<Item["limit"]>) => ({
  times,
  ...(per !== "ever" && { per }),
})

/** The change that a fact of an applied file describes. */
const changeOf = (fact: Fact) => {
  const changed = definitionIn(fact)
  if (changed === undefined) {
    return { op: "update", kind: "settings", id: null, key: null, name: "settings" } as const
  }
  const { definition, noun } = changed
  const { id, key, set } = definition
  const isNew = fact.kind.endsWith(".created")
  return {
    op: isNew ? "create" : set === "archived" ? "delete" : "update",
    kind: noun,
    id,
    key,
    name: nameOf(changed),
  } as const
}

type Change = ReturnType<typeof changeOf>

const countsOf = (changes: ReadonlyArray<Change>) => {
  const count = (wanted: Change["op"]) => changes.filter(({ op }) => op === wanted).length
  return { created: count("create"), updated: count("update"), deleted: count("delete") }
}

/** The members that a fact changes, in the form of the file. */
const diffOf = (state: ProjectState, fact: Fact) => {
  if (fact.kind === "project.updated") {
    return { members: membersOf(fileSettings(state.settings), fileSettings(fact.settings)) }
  }
  const changed = definitionIn(fact)
  if (changed === undefined) return { members: [] }
  const { definition, noun } = changed
  const before = definitionsOf(state, noun).get(definition.id)
  const after = definition.set === "archived" ? {} : shownIn(noun, definition)
  return { members: membersOf(before === undefined ? {} : shownIn(noun, before), after) }
}

const membersOf = (before: object, after: object) => {
  const [was, is] = [before, after].map((each) => new Map(Object.entries(each)))
  const names = new Set(
    [...was!.keys(), ...is!.keys()].filter((name) => name !== "id" && name !== "key"),
  )
  return [...names].flatMap((name) => {
    const [before, after] = [was!, is!].map((each) =>
      each.has(name) ? JSON.stringify(each.get(name)) : null,
    )
    return before === after ? [] : [{ name, before: before!, after: after! }]
  })
}
