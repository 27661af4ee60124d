/**
 * Checks between definitions: a key belongs to one definition; a reference must match a definition,
 * and protects the definition from removal.
 */

import { Result } from "effect"
import { limits } from "../../Limits.ts"
import {
  type Board,
  type BoardScore,
  isXpBoard,
  rankedBy,
  ranksBy,
} from "../project/BoardDefinition.ts"
import type { Boost } from "../project/Boost.ts"
import {
  type Amounts,
  activeCurrency,
  type Currency,
  type NamedLevel,
} from "../project/Currency.ts"
import type { Badge, Definition, Gives, Quest, Rule } from "../project/Definition.ts"
import { isSum, listedBadges } from "../project/Definition.ts"
import {
  definitionOf,
  definitionWithKey,
  freeKey,
  idsByKey,
  type Keyed,
  keyFrom,
} from "../project/DefinitionKey.ts"
import type { Experiment } from "../project/Experiment.ts"
import type { Goal } from "../project/Goal.ts"
import type { Item } from "../project/Item.ts"
import type { League } from "../project/League.ts"
import type { ProjectState } from "../project/Project.ts"
import type { SegmentCondition } from "../project/Segment.ts"
import type { Streak } from "../project/StreakDefinition.ts"
import { type Fault, type LaurelError, laurelError } from "../values/Errors.ts"
import { type Metadata, metadataFault } from "../values/Metadata.ts"

const noFaults: ReadonlyArray<Fault> = []

/** The key of a new definition: the `given` one if it is free, or a free one made from `name`. */
export const claimedKey = (
  definitions: ReadonlyMap<string, Keyed>,
  noun: string,
  given: string | undefined,
  name: string,
): Result.Result<string, LaurelError<"key_taken">> => {
  if (given === undefined) return Result.succeed(freeKey(definitions, keyFrom(name, noun)))
  const id = idsByKey(definitions).get(given)
  if (id === undefined) return Result.succeed(given)
  const detail = `The key is that of the ${noun} ${id}. The keys of archived definitions stay taken.`
  return Result.fail(laurelError("key_taken", detail))
}

/** The keys of the definitions with these ids or keys, each once. */
export const keysOf = (
  definitions: ReadonlyMap<string, Keyed>,
  idsOrKeys: ReadonlyArray<string>,
): ReadonlyArray<string> => [
  ...new Set(idsOrKeys.map((name) => definitionOf(definitions, name)?.key ?? name)),
]

/** The fault of the metadata of a definition. */
export const metadataFaults = (metadata: Metadata): ReadonlyArray<Fault> => {
  const fault = metadataFault(metadata)
  return fault === undefined ? noFaults : [{ pointer: "/metadata", ...fault }]
}

/**
 * A part of a definition after a merge patch of its members, all of which (`names`) it needs. A null
 * removes the part. A member that is missing is a fault.
 */
export const mergedPart = <Part extends object>(
  before: Part | null,
  change: Partial<Part> | null | undefined,
  names: ReadonlyArray<keyof Part & string>,
  pointer: string,
  faults: Array<Fault>,
): Part | null => {
  if (change === undefined) return before
  if (change === null) return null
  const merged: Partial<Part> = { ...before, ...change }
  const missing = names.filter((name) => merged[name] === undefined)
  for (const name of missing) {
    faults.push({ pointer: `${pointer}/${name}`, code: "missing", detail: "is required" })
  }
  return missing.length > 0 ? before : (merged as Part)
}

const unknownReference = (pointer: string, detail: string): ReadonlyArray<Fault> => [
  { pointer, code: "unknown_reference", detail },
]

/** The fault of a `badgeId` in the reward of a rule or a quest. */
export const badgeReferenceFaults = (
  { badges }: ProjectState,
  badgeId: string | null,
  pointer: string,
): ReadonlyArray<Fault> => {
  if (badgeId === null) return noFaults
  const badge = badges.get(badgeId)
  if (badge === undefined) return unknownReference(pointer, "matches no badge of this project")
  if (badge.set === "archived") return unknownReference(pointer, "matches an archived badge")
  const detail = "matches a repeatable badge, which only its criteria award"
  return badge.repeatable ? [{ pointer, code: "invalid_value", detail }] : noFaults
}

/** The faults of the keys of currencies; `place` is where a key stands below `pointer`. */
const unknownCurrencies = (
  { currencies }: ProjectState,
  keys: ReadonlyArray<string>,
  pointer: string,
  place: (key: string, index: number) => string | number,
): ReadonlyArray<Fault> =>
  keys.flatMap((key, index) =>
    activeCurrency(currencies, key) === undefined
      ? unknownReference(
          `${pointer}/${place(key, index)}`,
          "matches no active currency of this project",
        )
      : noFaults,
  )

/** The faults of the currencies that a boost multiplies. */
export const currencyFaults = (
  state: ProjectState,
  keys: ReadonlyArray<string>,
  pointer: string,
): ReadonlyArray<Fault> => unknownCurrencies(state, keys, pointer, (_, index) => index)

/** The faults of the currency, the metric or the streak that a leaderboard or a league ranks by. */
export const rankedFaults = (state: ProjectState, score: BoardScore): ReadonlyArray<Fault> => {
  const [kind, key] = rankedBy(score)
  const pointer = `/score/${kind}`
  if (kind === "currency") return unknownCurrencies(state, [key], "/score", () => kind)
  if (kind === "streak") return streakReferenceFaults(state, key, pointer)
  return metricReferenceFaults(state, key, pointer)
}

/** The faults of the currencies in a reward. */
export const currencyReferenceFaults = (
  state: ProjectState,
  amounts: Amounts | undefined,
  pointer: string,
): ReadonlyArray<Fault> =>
  unknownCurrencies(state, Object.keys(amounts ?? {}), pointer, (key) => key)

/**
 * The refusal to archive a currency that definitions pay or take, items cost, boosts multiply,
 * leaderboards or leagues rank by, goals count, or a segment asks for.
 */
export const currencyInUse = (state: ProjectState, key: string): InUse | undefined => {
  const pays = ({ reward }: { readonly reward: Gives }) =>
    Object.hasOwn(reward.currencies ?? {}, key)
  return inUse("currency", [
    ...liveRules(state, pays),
    ...liveQuests(state, pays),
    ...liveBoosts(state, ({ currencies }) => currencies.includes(key)),
    ...liveBadges(state, (badge) => pays(badge) || badge.tiers.some(pays)),
    ...liveStreaks(
      state,
      ({ milestones, repair }) => milestones.some(pays) || Object.hasOwn(repair?.price ?? {}, key),
    ),
    // A currency may pay itself.
    ...liveCurrencies(state, (currency) => currency.key !== key && levelsOf(currency).some(pays)),
    ...liveSegments(state, ({ currency }) => currency === key),
    ...liveBoards(state, (board) => ranksBy(board, "currency", key) && !board.prizes.some(pays)),
    ...prizedBoards(state, pays),
    ...liveLeagues(
      state,
      (league) => ranksBy(league, "currency", key) || league.rewards.some(pays),
    ),
    ...liveItems(state, (item) => pays(item) || Object.hasOwn(item.price, key)),
    ...liveGoals(state, (goal) => pays(goal) || ranksBy(goal, "currency", key)),
  ])
}

/** Whether a leaderboard or a league ranks by the currency with this key, or a goal counts it. */
export const isRanked = (state: ProjectState, key: string): boolean =>
  liveBoards(state, (board) => ranksBy(board, "currency", key)).length > 0 ||
  liveLeagues(state, (league) => ranksBy(league, "currency", key)).length > 0 ||
  liveGoals(state, (goal) => ranksBy(goal, "currency", key)).length > 0

/** The faults of the prerequisites of `quest`. */
export const prerequisiteFaults = (
  state: ProjectState,
  { key, prerequisites }: Pick<Quest, "key" | "prerequisites">,
): ReadonlyArray<Fault> =>
  orderedFaults(
    "quest",
    state.quests,
    key,
    prerequisites,
    "/prerequisites",
    (quest) => quest.prerequisites,
  )

/** The faults of the badges that a badge lists. */
export const listedBadgeFaults = (
  state: ProjectState,
  key: string,
  badges: ReadonlyArray<string>,
): ReadonlyArray<Fault> =>
  orderedFaults("badge", state.badges, key, badges, "/criteria/badges", ({ criteria }) =>
    listedBadges(criteria),
  )

/** The faults of the definitions that the one with `key` comes after: none leads back to it. */
const orderedFaults = <A extends Definition>(
  noun: string,
  all: ReadonlyMap<string, A>,
  key: string,
  names: ReadonlyArray<string>,
  pointer: string,
  nextOf: (definition: A) => ReadonlyArray<string>,
): ReadonlyArray<Fault> =>
  names.flatMap((name, index) => {
    const place = `${pointer}/${index}`
    const named = definitionOf(all, name)
    if (named === undefined) return unknownReference(place, `matches no ${noun} of this project`)
    if (named.set === "archived") return unknownReference(place, `matches an archived ${noun}`)
    return leadsTo(all, named.key, key, nextOf)
      ? [{ pointer: place, code: "cycle", detail: `leads back to this ${noun}` }]
      : noFaults
  })

/** Whether `nextOf` leads from one key to another; visits each definition once. */
const leadsTo = <A extends Definition>(
  all: ReadonlyMap<string, A>,
  from: string,
  to: string,
  nextOf: (definition: A) => ReadonlyArray<string>,
): boolean => {
  const seen = new Set([from])
  for (const key of seen) {
    if (key === to) return true
    const definition = definitionOf(all, key)
    for (const next of definition === undefined ? [] : nextOf(definition)) seen.add(next)
  }
  return false
}

const shownMax = 5

type InUse = LaurelError<"in_use">

/** The refusal to remove a definition that `referrers` use. */
const inUse = (thing: string, referrers: ReadonlyArray<string>): InUse | undefined => {
  if (referrers.length === 0) return undefined
  const more = referrers.length - shownMax
  const shown = referrers.slice(0, shownMax).join(", ")
  const names = more > 0 ? `${shown} and ${more} more` : shown
  return laurelError("in_use", `The ${thing} is used by ${names}. Change or archive these first.`)
}

const nameQuest = ({ id, title }: Quest): string => `quest ${id} (${title})`

const liveQuests = ({ quests }: ProjectState, refers: (quest: Quest) => boolean) =>
  [...quests.values()].filter((quest) => quest.set !== "archived" && refers(quest)).map(nameQuest)

const liveRules = ({ rules }: ProjectState, refers: (rule: Rule) => boolean) =>
  [...rules.values()]
    .filter((rule) => rule.set !== "archived" && refers(rule))
    .map(({ action, id }) => `rule ${id} (${action})`)

const liveBadges = ({ badges }: ProjectState, refers: (badge: Badge) => boolean) =>
  [...badges.values()]
    .filter((badge) => badge.set !== "archived" && refers(badge))
    .map(({ id, name }) => `badge ${id} (${name})`)

const liveBoosts = ({ boosts }: ProjectState, refers: (boost: Boost) => boolean) =>
  [...boosts.values()]
    .filter((boost) => boost.set !== "archived" && refers(boost))
    .map(({ id, name }) => `boost ${id} (${name})`)

const liveItems = ({ items }: ProjectState, refers: (item: Item) => boolean) =>
  [...items.values()]
    .filter((item) => item.set !== "archived" && refers(item))
    .map(({ id, name }) => `item ${id} (${name})`)

const liveGoals = ({ goals }: ProjectState, refers: (goal: Goal) => boolean) =>
  [...goals.values()]
    .filter((goal) => goal.set !== "archived" && refers(goal))
    .map(({ id, name }) => `goal ${id} (${name})`)

const liveStreaks = ({ streaks }: ProjectState, refers: (streak: Streak) => boolean) =>
  [...streaks.values()]
    .filter((streak) => streak.set !== "archived" && refers(streak))
    .map(({ id, name }) => `streak ${id} (${name})`)

const liveCurrencies = (
  { currencies }: ProjectState,
  refers: (currency: Currency) => boolean,
): ReadonlyArray<string> =>
  [...currencies.values()]
    .filter((currency) => currency.set !== "archived" && refers(currency))
    .map(({ id, name }) => `currency ${id} (${name})`)

const levelsOf = ({ levels }: Currency): ReadonlyArray<NamedLevel> => levels?.table ?? []

/** The leaderboards, also `xp`, with such a prize. */
const prizedBoards = (
  { leaderboards }: ProjectState,
  gives: (prize: { readonly reward: Gives }) => boolean,
) =>
  [...leaderboards.values()]
    .filter(({ prizes, set }) => set !== "archived" && prizes.some(gives))
    .map(({ id, name }) => `leaderboard ${id} (${name})`)

const liveBoards = ({ leaderboards }: ProjectState, refers: (board: Board) => boolean) =>
  [...leaderboards.values()]
    .filter((board) => board.set !== "archived" && !isXpBoard(board) && refers(board))
    .map(({ id, name }) => `leaderboard ${id} (${name})`)

const liveExperiments = (
  { experiments }: ProjectState,
  refers: (experiment: Experiment) => boolean,
) =>
  [...experiments.values()]
    .filter((experiment) => experiment.set !== "archived" && refers(experiment))
    .map(({ id, name }) => `experiment ${id} (${name})`)

/** The refusal to archive an experiment for whose variants segments ask. */
export const experimentInUse = (state: ProjectState, { key }: Keyed): InUse | undefined =>
  inUse(
    "experiment",
    liveSegments(state, ({ experiment }) => experiment === key),
  )
const liveLeagues = ({ leagues }: ProjectState, refers: (league: League) => boolean) =>
  [...leagues.values()]
    .filter((league) => league.set !== "archived" && refers(league))
    .map(({ id, name }) => `league ${id} (${name})`)

/** The segments with such a condition. */
const liveSegments = (
  { segments }: ProjectState,
  refers: (condition: SegmentCondition) => boolean,
) =>
  [...segments.values()]
    .filter(({ conditions, set }) => set !== "archived" && conditions.some(refers))
    .map(({ id, name }) => `segment ${id} (${name})`)

/** The refusal to archive a badge that definitions give, or that a badge or a segment asks for. */
export const badgeInUse = (state: ProjectState, { id, key }: Keyed): InUse | undefined =>
  inUse("badge", [
    ...liveRules(state, ({ reward }) => reward.badgeId === id),
    ...liveQuests(state, ({ reward }) => reward.badgeId === id),
    ...liveStreaks(state, ({ milestones }) =>
      milestones.some(({ reward }) => reward.badgeId === id),
    ),
    ...liveBadges(state, ({ criteria }) => listedBadges(criteria).includes(key)),
    ...liveCurrencies(state, (currency) =>
      levelsOf(currency).some(({ reward }) => reward.badgeId === id),
    ),
    ...prizedBoards(state, ({ reward }) => reward.badgeId === id),
    ...liveLeagues(state, ({ rewards }) => rewards.some(({ reward }) => reward.badgeId === id)),
    ...liveSegments(state, ({ badge }) => badge === key),
    ...liveItems(state, ({ reward }) => reward.badgeId === id),
    ...liveGoals(state, ({ reward }) => reward.badgeId === id),
  ])

/** The refusal to archive a segment that definitions are for. */
export const segmentInUse = (state: ProjectState, key: string): InUse | undefined =>
  inUse("segment", [
    ...liveRules(state, ({ segment }) => segment === key),
    ...liveQuests(state, ({ segment }) => segment === key),
    ...liveBadges(state, ({ segment }) => segment === key),
    ...liveBoosts(state, ({ segment }) => segment === key),
    ...liveBoards(state, ({ segment }) => segment === key),
    ...liveLeagues(state, ({ segment }) => segment === key),
    ...liveStreaks(state, ({ pauses }) => pauses.some(({ segment }) => segment === key)),
    ...liveExperiments(state, ({ segment }) => segment === key),
    ...liveItems(state, ({ segment }) => segment === key),
    ...liveGoals(state, ({ segment }) => segment === key),
  ])

/** The fault of the `segment` of a definition. */
export const segmentReferenceFaults = (
  { segments }: ProjectState,
  key: string | null,
  pointer = "/segment",
): ReadonlyArray<Fault> => {
  if (key === null) return noFaults
  const segment = definitionWithKey(segments, key)
  if (segment === undefined) return unknownReference(pointer, "matches no segment of this project")
  return segment.set === "archived"
    ? unknownReference(pointer, "matches an archived segment")
    : noFaults
}

/**
 * The refusal to archive a metric that quests, badges or streaks need, a segment asks for,
 * leaderboards rank by, or goals count.
 */
export const metricInUse = (state: ProjectState, { key }: Keyed): InUse | undefined =>
  inUse("metric", [
    ...liveQuests(state, ({ steps }) => steps.some(({ metric }) => metric === key)),
    ...liveStreaks(state, ({ needs }) => needs.some(({ metric }) => metric === key)),
    ...liveBadges(state, ({ criteria }) => criteria.kind === "metric" && criteria.metric === key),
    ...liveSegments(state, ({ metric }) => metric === key),
    ...liveBoards(state, (board) => ranksBy(board, "metric", key)),
    ...liveLeagues(state, (league) => ranksBy(league, "metric", key)),
    ...liveExperiments(state, ({ metric }) => metric === key),
    ...liveGoals(state, (goal) => ranksBy(goal, "metric", key)),
  ])

/** The refusal to archive a prerequisite: the quests that need it could never be completed. */
export const questInUse = (state: ProjectState, key: string): InUse | undefined =>
  inUse(
    "quest",
    liveQuests(state, ({ prerequisites }) => prerequisites.includes(key)),
  )

/**
 * The refusal to archive a streak that badges or segments ask for, or for which other definitions
 * give freezes.
 */
export const streakInUse = (state: ProjectState, { id, key }: Keyed): InUse | undefined => {
  const gives = ({ reward }: Pick<Quest, "reward">) => Object.hasOwn(reward.freezes ?? {}, key)
  const asks = ({ criteria }: Badge) => criteria.kind === "streak" && criteria.streak === key
  return inUse("streak", [
    ...liveRules(state, gives),
    ...liveQuests(state, gives),
    ...liveBadges(state, (badge) => asks(badge) || gives(badge) || badge.tiers.some(gives)),
    // A streak may give freezes to itself.
    ...liveStreaks(state, (streak) => streak.id !== id && streak.milestones.some(gives)),
    ...liveCurrencies(state, (currency) => levelsOf(currency).some(gives)),
    ...prizedBoards(state, gives),
    ...liveLeagues(state, ({ rewards }) => rewards.some(gives)),
    ...liveSegments(state, ({ streak }) => streak === key),
    ...liveBoards(state, (board) => ranksBy(board, "streak", key)),
    ...liveItems(state, gives),
    ...liveGoals(state, gives),
  ])
}

/** The faults of the streaks in a reward, other than known ones. */
export const freezeReferenceFaults = (
  state: ProjectState,
  freezes: Amounts | undefined,
  pointer: string,
  isKnown: (key: string) => boolean = () => false,
): ReadonlyArray<Fault> =>
  Object.keys(freezes ?? {}).flatMap((key) =>
    isKnown(key) ? noFaults : streakReferenceFaults(state, key, `${pointer}/${key}`),
  )

/**
 * What a file of definitions makes later, and definitions that come first may name already: the ids
 * and keys of badges; streaks, currencies and personal boosts by `knownAs`.
 */
export type Known = ReadonlySet<string>

/** A definition in `Known`. No id and no key has a space. */
export const knownAs = (
  noun: "boost" | "currency" | "experiment" | "streak",
  key: string,
): string => `${noun} ${key}`

/** The faults of the currencies, the streaks and the boost in a reward, other than known ones. */
export const rewardReferenceFaults = (
  state: ProjectState,
  { boost, currencies, freezes }: Pick<Gives, "boost" | "currencies" | "freezes">,
  pointer: string,
  isKnown: (name: string) => boolean = () => false,
): ReadonlyArray<Fault> => {
  const others = Object.entries(currencies ?? {}).filter(
    ([key]) => !isKnown(knownAs("currency", key)),
  )
  const isKnownStreak = (key: string) => isKnown(knownAs("streak", key))
  const isKnownBoost = boost !== undefined && isKnown(knownAs("boost", boost.key))
  return [
    ...currencyReferenceFaults(state, Object.fromEntries(others), `${pointer}/currencies`),
    ...freezeReferenceFaults(state, freezes, `${pointer}/freezes`, isKnownStreak),
    ...(isKnownBoost ? noFaults : boostReferenceFaults(state, boost, `${pointer}/boost/key`)),
  ]
}

/** The faults of all references of a reward, other than known ones. */
export const givenReferenceFaults = (
  state: ProjectState,
  reward: Gives,
  pointer: string,
  isKnown: (name: string) => boolean,
): ReadonlyArray<Fault> => {
  const { badgeId } = reward
  const asked = badgeId !== null && isKnown(badgeId) ? null : badgeId
  return [
    ...badgeReferenceFaults(state, asked, `${pointer}/badgeId`),
    ...rewardReferenceFaults(state, reward, pointer, isKnown),
  ]
}

/** The fault of the boost in a reward. */
export const boostReferenceFaults = (
  { boosts }: ProjectState,
  gift: Gives["boost"],
  pointer: string,
): ReadonlyArray<Fault> => {
  if (gift === undefined) return noFaults
  const boost = definitionWithKey(boosts, gift.key)
  if (boost === undefined) return unknownReference(pointer, "matches no boost of this project")
  if (boost.set === "archived") return unknownReference(pointer, "matches an archived boost")
  return boost.personal
    ? noFaults
    : unknownReference(pointer, "matches a boost that is not personal")
}

/** The refusal to archive a boost that rewards give. */
export const boostInUse = (state: ProjectState, { key }: Keyed): InUse | undefined => {
  const gives = ({ reward }: Pick<Quest, "reward">) => reward.boost?.key === key
  return inUse("boost", [
    ...liveRules(state, gives),
    ...liveQuests(state, gives),
    ...liveBadges(state, (badge) => gives(badge) || badge.tiers.some(gives)),
    ...liveStreaks(state, ({ milestones }) => milestones.some(gives)),
    ...liveCurrencies(state, (currency) => levelsOf(currency).some(gives)),
    ...prizedBoards(state, gives),
    ...liveLeagues(state, ({ rewards }) => rewards.some(gives)),
    ...liveItems(state, gives),
    ...liveGoals(state, gives),
  ])
}

/** The fault of a reference to a streak. */
export const streakReferenceFaults = (
  { streaks }: ProjectState,
  key: string | null,
  pointer: string,
): ReadonlyArray<Fault> => {
  if (key === null) return noFaults
  const streak = definitionWithKey(streaks, key)
  if (streak === undefined) return unknownReference(pointer, "matches no streak of this project")
  return streak.set === "archived"
    ? unknownReference(pointer, "matches an archived streak")
    : noFaults
}

/** The fault of the metric of a step, of a need, or of the criteria of a badge. */
export const metricReferenceFaults = (
  { metrics }: ProjectState,
  key: string | undefined,
  pointer: string,
): ReadonlyArray<Fault> => {
  if (key === undefined) return noFaults
  const metric = definitionWithKey(metrics, key)
  if (metric === undefined) return unknownReference(pointer, "matches no metric of this project")
  return metric.set === "archived"
    ? unknownReference(pointer, "matches an archived metric")
    : noFaults
}

/** The fault of the metric of a badge's criteria. A minimum only falls, so it reaches no target. */
export const badgeMetricFaults = (
  state: ProjectState,
  key: string | undefined,
  pointer: string,
): ReadonlyArray<Fault> => {
  const faults = metricReferenceFaults(state, key, pointer)
  if (faults.length > 0 || key === undefined) return faults
  const detail = "must not be a minimum, which only falls"
  return definitionWithKey(state.metrics, key)?.aggregate === "min"
    ? [{ pointer, code: "invalid_value", detail }]
    : noFaults
}

/** The fault of a target that is too large for an exact sum. */
export const sumTargetFaults = (
  {
    target = 0,
    ...of
  }: { readonly sumPath?: string; readonly metric?: string; readonly target?: number },
  pointer: string,
): ReadonlyArray<Fault> => {
  if (!isSum(of) || target <= limits.sumTargetMax) return []
  const detail = `must be at most ${limits.sumTargetMax} where numbers are summed`
  return [{ pointer, code: "out_of_range", detail }]
}
