/** Random definitions, edits and commands, in proportions at which they concern each other. */

import { recounted } from "../../src/domain/decide/RuleDefinitions.ts"
import {
  type Board,
  type BoardScore,
  boardOrders,
  boardTies,
  isOfPresent,
  isXpBoard,
  namedWindows,
  type RankedKind,
  ranksBy,
  xpBoard,
} from "../../src/domain/project/BoardDefinition.ts"
import { type Boost, boostTimeZones, type Spell, weekdays } from "../../src/domain/project/Boost.ts"
import {
  type Amounts,
  type Currency,
  earnPeriods,
  isBuiltIn,
} from "../../src/domain/project/Currency.ts"
import {
  type Badge,
  type BoostGift,
  type Condition,
  type Criterion,
  type Definition,
  firstVersion,
  type Gives,
  givesNothing,
  isCounting,
  listedBadges,
  nextVersion,
  type Quest,
  type Rule,
  statusAt,
  type Targeted,
} from "../../src/domain/project/Definition.ts"
import type { Experiment } from "../../src/domain/project/Experiment.ts"
import type { Item } from "../../src/domain/project/Item.ts"
import { hasValue, type Metric, metricAggregates } from "../../src/domain/project/Metric.ts"
import type { ProjectSettings, ProjectState } from "../../src/domain/project/Project.ts"
import type { Segment, SegmentCondition } from "../../src/domain/project/Segment.ts"
import type { Streak } from "../../src/domain/project/StreakDefinition.ts"
import { teamsAfter, teamWithId } from "../../src/domain/project/Team.ts"
import type {
  JournalRecord,
  ProjectFact,
  TrackedEvent,
  UserCommand,
} from "../../src/domain/record/Record.ts"
import { isRefilling, withRefillBefore } from "../../src/domain/user/Refill.ts"
import type { Profile } from "../../src/domain/user/User.ts"
import type { Metadata } from "../../src/domain/values/Metadata.ts"
import { limitPeriods } from "../../src/domain/values/Periods.ts"
import { countInHistory } from "./model/badges.ts"
import type { Model } from "./model/Model.ts"
import { isNamed } from "./model/repeats.ts"
import { isNew, randomOpening } from "./openings.ts"
import type { Random } from "./random.ts"

/** The state of a run for which a random command is made. */
export interface Surroundings {
  readonly random: Random
  readonly now: number
  /** The sequence of the latest record, from which ids are made. */
  readonly sequence: number
  readonly project: ProjectState
  readonly model: Model
  /** The decisions for users who are not erased. */
  readonly records: ReadonlyArray<JournalRecord>
  /** The sequence of a user's latest record. */
  readonly sequenceOf: (userId: string) => number
  /**
   * Whether the project stays in its time zone. A move to the west brings back days that were over.
   * Periods of quests must not come back with them, so quests recur only in projects that stay.
   */
  readonly settled: boolean
  /** Quests whose recurrence was changed. It is not changed back, for the same reason. */
  readonly recurAnew: Set<string>
}

export const actions = ["TAP", "SWIPE", "BUY"] as const
/** Days before a change of clocks in some zone, and before the end of a year. */
export const beginnings = [
  "2026-10-20T12:00:00Z",
  "2026-03-04T12:00:00Z",
  "2026-03-25T12:00:00Z",
  "2026-12-27T12:00:00Z",
]

export const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/Havana",
  "Asia/Kolkata",
  "Pacific/Apia",
  "Pacific/Pago_Pago",
  "Australia/Lord_Howe",
]
/** Names that every object inherits, which callers may choose. */
export const inheritedNames = [
  "constructor",
  "__proto__",
  "toString",
  "hasOwnProperty",
  "valueOf",
] as const
const streakKeys = ["daily", "constructor", "weekly", "monthly"]
const day = 86_400_000

const conditions: ReadonlyArray<Condition> = [
  { path: "amount", op: "gte", value: 3 },
  { path: "cart.total", op: "exists" },
  { path: "tags", op: "contains", value: "new" },
  { path: "kind", op: "in", value: ["a", "b"] },
  { path: "constructor.name", op: "exists" },
  { path: "__proto__.amount", op: "gte", value: 2 },
]

const where = (random: Random): ReadonlyArray<Condition> =>
  random.chance(0.6) ? [] : [random.pick(conditions)]

const furtherKeys = ({ currencies }: ProjectState): ReadonlyArray<string> =>
  [...currencies.values()]
    .filter((currency) => currency.set === "published" && !isBuiltIn(currency))
    .map(({ key }) => key)

/** Amounts of up to two further currencies. */
const someCurrencies = (
  project: ProjectState,
  random: Random,
): { readonly currencies?: Amounts } => {
  const keys = furtherKeys(project)
  if (keys.length === 0 || random.chance(0.6)) return {}
  const chosen = [random.pick(keys), random.pick(keys)]
  return {
    currencies: Object.fromEntries(chosen.map((key) => [key, random.pick([1, 3, 10])])),
  }
}

/** Freezes for up to two streaks. */
const someFreezes = ({ streaks }: ProjectState, random: Random): { readonly freezes?: Amounts } => {
  const keys = [...streaks.values()].filter(({ set }) => set !== "archived").map(({ key }) => key)
  if (keys.length === 0 || random.chance(0.7)) return {}
  const chosen = [random.pick(keys), random.pick(keys)]
  return { freezes: Object.fromEntries(chosen.map((key) => [key, random.pick([1, 2])])) }
}

/** A personal boost, if there is one: most rewards give it. */
const someBoost = ({ boosts }: ProjectState, random: Random): { readonly boost?: BoostGift } => {
  const keys = [...boosts.values()]
    .filter(({ personal, set }) => personal && set !== "archived")
    .map(({ key }) => key)
  if (keys.length === 0 || random.chance(0.3)) return {}
  return {
    boost: { key: random.pick(keys), minutes: random.pick([1, 30, 90, 600, 3_000, 40_000]) },
  }
}

const earnLimit = (random: Random): Currency["earnLimit"] =>
  random.chance(0.5) ? null : { amount: random.pick([2, 15, 60]), per: random.pick(earnPeriods) }

/** A maximum, and for some, a refill up to it. */
const refilling = (random: Random): Pick<Currency, "max" | "refill"> =>
  random.chance(0.5)
    ? { max: random.pick([null, 5, 30]), refill: null }
    : {
        max: random.pick([4, 20]),
        refill: { amount: random.pick([1, 3]), everyMinutes: random.pick([7, 240, 1500]) },
      }

/** An expiry of a currency that does not refill: never before its credits can be spent. */
const expiring = (random: Random, pendingDays: number | null): Currency["expiry"] => {
  const days = (pendingDays ?? 0) + random.pick([1, 2, 6, 20])
  return random.pick([
    null,
    { afterDays: days },
    { afterDays: days },
    { inactivityDays: days },
    { yearlyOn: random.pick(["12-31", "03-28", "10-24", "02-29"]) },
  ])
}

/** Levels of a currency that does not refill, by a table or a curve. Some levels pay. */
const levels = (run: Surroundings, currency: Currency): Currency["levels"] => {
  const { random } = run
  if (isRefilling(currency) || currency.key === "xp" || random.chance(0.4)) return null
  const of = random.pick(["earned", "balance"] as const)
  if (random.chance(0.3)) return { of, curve: { kind: "linear", xpPerLevel: random.pick([4, 25]) } }
  const from = random.pick([0, 5])
  const named = [from, from + 10, 100].map((from, index) => {
    const pays = from > 0 && random.chance(0.6)
    const reward = pays ? gives(run) : { xp: 0, points: 0, badgeId: null }
    return { key: `level-${index}`, name: `Level ${index}`, from, icon: null, reward }
  })
  return { of, table: named.slice(random.pick([0, 0, 1])) }
}

/** A currency that has or had an expiry never refills, and the reverse. */
const expiryOf = (random: Random, currency: Currency): Pick<Currency, "expiry" | "hadExpiry"> => {
  if (isRefilling(currency) || currency.key === "xp") return { expiry: null }
  const expiry = expiring(random, currency.pendingDays)
  return expiry === null ? { expiry } : { expiry, hadExpiry: true }
}

const currencyKeys = ["gems", "constructor", "hearts"]

/** A currency whose key is free, or nothing. */
export const randomCurrency = (run: Surroundings): ReadonlyArray<ProjectFact> => {
  const { now, project, random } = run
  const taken = [...project.currencies.values()].map(({ key }) => key)
  const key = currencyKeys.find((each) => !taken.includes(each))
  if (key === undefined) return []
  const spendable = random.chance(0.8)
  const currency: Currency = {
    id: `cur_${key}`,
    key,
    name: key,
    description: null,
    metadata: {},
    set: "published",
    startsAt: null,
    endsAt: null,
    spendable,
    earnLimit: earnLimit(random),
    ...refilling(random),
    pendingDays: spendable ? random.pick([null, null, 1, 3, 14]) : null,
    expiry: null,
    levels: null,
    ...firstVersion(now),
  }
  const more = { ...expiryOf(random, currency), levels: levels(run, currency) }
  return [{ kind: "currency.created", currency: { ...currency, ...more } }]
}

/** Milestones that pay xp, points or a further currency. */
const milestones = (run: Surroundings): Streak["milestones"] => {
  const { project, random } = run
  const targets = [1, 2, 3, 5].filter(() => random.chance(0.4))
  return targets.map((target) => ({
    target,
    reward: {
      xp: random.pick([0, 7]),
      points: random.integer(1, 6),
      badgeId: null,
      ...someCurrencies(project, random),
      ...someFreezes(project, random),
      ...someBoost(project, random),
    },
  }))
}

/** What keeps a period of each streak. Periods of several events are long, so that few are open. */
const needsOf = (
  key: string,
  { project, random }: Surroundings,
): Pick<Streak, "match" | "needs"> => {
  switch (key) {
    case "daily":
      return { match: "all", needs: [] }
    case "constructor":
      return {
        match: "any",
        needs: ["BUY", "QUEST_COMPLETE"].map((action) => ({ action, target: 1 })),
      }
    default:
      return {
        match: random.pick(["all", "any"]),
        needs: [
          { action: "TAP", target: random.integer(1, 4) },
          ...(random.chance(0.5) ? [{ action: "SWIPE", target: random.integer(1, 3) }] : []),
          ...liveMetrics(project)
            .slice(0, random.integer(0, 2))
            .map(({ key: metric }) => ({ metric, target: random.integer(1, 6) })),
        ],
      }
  }
}

/** Some of the pauses, and seldom a new one, around now. */
const somePauses = (
  { now, project, random }: Surroundings,
  before: Streak["pauses"],
  made: number,
): Pick<Streak, "pauses" | "pausesMade"> => {
  const kept = before.filter(() => random.chance(0.7))
  const segments = [...project.segments.values()].filter(({ set }) => set !== "archived")
  const segment = segments.length > 0 && random.chance(0.5) ? random.pick(segments).key : null
  const added = random.chance(0.6) ? [{ ...daysNear(now, random), segment, number: made + 1 }] : []
  const pauses = [...kept, ...added]
  const most = made + added.length
  return most === 0 ? { pauses } : { pauses, pausesMade: most }
}

const daysNear = (now: number, random: Random) => {
  const from = Math.floor(now / day) + random.integer(-9, 4)
  return { from, to: from + random.integer(0, 4) }
}

const atRisk = (every: Streak["every"], random: Random): Streak["atRisk"] =>
  random.pick([null, { hoursBefore: random.pick([1, 4, 23, every === "day" ? 12 : 100]) }])

const repairOf = (
  every: Streak["every"],
  { project: { currencies }, random }: Surroundings,
): Streak["repair"] => {
  if (random.chance(0.2)) return null
  const spendable = [...currencies.values()].filter(
    (currency) => currency.set === "published" && currency.spendable,
  )
  const price = random.pick([
    null,
    { points: random.integer(1, 9) },
    Object.fromEntries(spendable.slice(-2).map(({ key }) => [key, random.integer(1, 3)])),
  ])
  return { withinDays: random.integer(1, every === "day" ? 6 : 20), price }
}

/** A streak whose key is free, or nothing. */
export const randomStreak = (run: Surroundings): ReadonlyArray<ProjectFact> => {
  const { now, project, random } = run
  const taken = [...project.streaks.values()].map(({ key }) => key)
  const key = streakKeys.find((each) => !taken.includes(each))
  if (key === undefined) return []
  const every = key === "weekly" ? "week" : key === "monthly" ? "month" : "day"
  const streak: Streak = {
    id: `stk_${key}`,
    key,
    name: key,
    description: null,
    metadata: {},
    set: "published",
    startsAt: null,
    endsAt: random.chance(0.2) ? now + random.integer(1, 40) * day : null,
    every,
    ...needsOf(key, run),
    restDays: every === "day" && random.chance(0.5) ? ["wednesday", "sunday"] : [],
    freezes: random.pick([
      { initial: 0, max: 0, everyDays: null },
      { initial: 1, max: 2, everyDays: 3 },
      { initial: 2, max: 3, everyDays: random.pick([null, 2, 7]) },
    ]),
    milestones: milestones(run),
    atRisk: atRisk(every, random),
    repair: repairOf(every, run),
    ...somePauses(run, [], 0),
    ...firstVersion(now),
  }
  return [{ kind: "streak.created", streak }]
}

/** An edit of a streak: needs, milestones, a pause, or seldom its archive. */
const editedStreak = (run: Surroundings): ReadonlyArray<ProjectFact> => {
  const { now, project, random } = run
  if (project.streaks.size === 0) return []
  const streak = random.pick([...project.streaks.values()])
  if (streak.set === "archived" || statusAt(streak, now) === "ended") return []
  const isArchived = random.chance(0.1) && !isRanked(project, streak.key, "streak")
  const set = isArchived ? ("archived" as const) : random.pick(["published", "paused"] as const)
  const { termsBefore: _, ...kept } = streak
  const changes = {
    ...needsOf(streak.key, run),
    milestones: milestones(run),
    atRisk: atRisk(streak.every, random),
    repair: repairOf(streak.every, run),
    ...somePauses(run, streak.pauses, streak.pausesMade ?? 0),
    set,
  }
  return [{ kind: "streak.updated", streak: { ...kept, ...changes, updatedAt: now } }]
}

/** An edit of a currency: of its limits, or seldom its archive. */
export const randomCurrencyEdit = (run: Surroundings): ReadonlyArray<ProjectFact> => {
  const { now, project, random } = run
  const currency = random.pick([...project.currencies.values()])
  if (currency.set === "archived") return []
  const set = !isBuiltIn(currency) && random.chance(0.1) ? "archived" : "published"
  const { refill } = currency
  const max = random.pick([...(refill === null ? [null, null] : []), 4, 20, 500])
  const limit = random.chance(0.4) ? earnLimit(random) : currency.earnLimit
  const keepsRefill =
    isBuiltIn(currency) ||
    currency.hadExpiry === true ||
    isRanked(project, currency.key) ||
    random.chance(0.6)
  const refills = keepsRefill ? { max, refill } : refilling(random)
  const canPend = currency.spendable && random.chance(0.3)
  const pendingDays = canPend ? random.pick([null, 1, 14]) : currency.pendingDays
  const changed = { ...refills, earnLimit: limit, pendingDays, set, updatedAt: now } as const
  const edited = withRefillBefore(currency, { ...currency, ...changed }, now)
  const isKept = random.chance(0.5) && endsLate(edited)
  const expiry = isKept ? undefined : expiryOf(random, edited)
  const isSame = !isRefilling(edited) && random.chance(0.6)
  const more = { ...expiry, levels: isSame ? currency.levels : levels(run, edited) }
  return [{ kind: "currency.updated", currency: { ...edited, ...more } }]
}

/** Whether credits can be spent before they end. */
const endsLate = ({ expiry, pendingDays }: Currency): boolean =>
  Object.values(expiry ?? {}).every((days) => typeof days !== "number" || days > (pendingDays ?? 0))

const gives = ({ project, random }: Surroundings): Gives => {
  const given = [...project.badges.values()].filter(({ repeatable }) => !repeatable)
  return {
    xp: random.pick([0, 0, 5, 20, 50]),
    points: random.pick([0, 0, 1, 10]),
    ...someCurrencies(project, random),
    ...someFreezes(project, random),
    ...someBoost(project, random),
    badgeId: random.chance(0.15) && given.length > 0 ? random.pick(given).id : null,
  }
}

/** The reward of a rule, which must not be empty. */
const ruleGives = (run: Surroundings): Gives => {
  const some = gives(run)
  return givesNothing(some) ? { ...some, xp: 5 } : some
}

/** The segment of a definition: for most, none. */
const targeted = ({ project, random }: Surroundings): string | null =>
  random.chance(0.35) && project.segments.size > 0
    ? random.pick([...project.segments.values()]).key
    : null

const segmentCondition = (run: Surroundings): SegmentCondition => {
  const { project, random } = run
  switch (random.integer(0, 11)) {
    case 10: {
      if (project.experiments.size === 0) return { kind: "level", op: "gt", value: 1 }
      const { key: experiment, variants } = random.pick([...project.experiments.values()])
      const value = random.pick(variants).key
      return {
        kind: "experiment",
        experiment,
        ...random.pick([
          { op: "eq", value },
          { op: "eq", value },
          { op: "ne", value },
          { op: "in", value: [value] },
          { op: "exists" },
        ] as const),
      }
    }
    case 11:
      return {
        kind: "team",
        team: random.pick(teamKinds),
        ...random.pick([
          { op: "eq", value: "a" },
          { op: "ne", value: "B" },
          { op: "in", value: teamIds.slice(1) },
          { op: "exists" },
        ] as const),
      }
    case 7: {
      const live = liveMetrics(project)
      return live.length === 0
        ? { kind: "inactive_days", op: "exists" }
        : {
            kind: "metric",
            metric: random.pick(live).key,
            ...random.pick([
              { op: "gte", value: 2 },
              { op: "lt", value: 0 },
              { op: "exists" },
            ] as const),
          }
    }
    case 0:
      return { kind: "level", op: random.pick(["gte", "lt"]), value: random.integer(1, 4) }
    case 1:
      return {
        kind: "balance",
        currency: random.pick(["xp", "points", "gems"]),
        op: random.pick(["gt", "lte", "ne"]),
        value: random.pick([0, 20, 100]),
      }
    case 2:
      return project.badges.size === 0
        ? { kind: "inactive_days", op: "exists", value: random.chance(0.5) }
        : {
            kind: "badge",
            badge: random.pick([...project.badges.values()]).key,
            op: "exists",
            value: random.chance(0.6),
          }
    case 3:
      return project.streaks.size === 0
        ? { kind: "level", op: "eq", value: 1 }
        : { kind: "streak", streak: random.pick(streakKeys), op: "gte", value: 1 }
    case 4:
      return { kind: "account_age_days", op: random.pick(["gte", "lt"]), value: 3 }
    case 5:
      return { kind: "inactive_days", op: random.pick(["gte", "lt"]), value: random.integer(0, 3) }
    case 6:
      return {
        kind: "percent",
        salt: random.pick(["a", "ü"]),
        op: random.pick(["lt", "gte"]),
        value: random.pick([0, 30, 50, 70, 100]),
      }
    case 8: {
      const ranked = [...project.currencies.values()].filter(
        ({ levels, set }) => levels !== null && set === "published",
      )
      if (ranked.length === 0) return { kind: "level", op: "lte", value: 2 }
      const { key: currency, levels } = random.pick(ranked)
      const named = levels?.table?.map(({ key }) => key) ?? []
      const value = random.pick([1, 2, ...named])
      return { kind: "currency_level", currency, op: random.pick(["gte", "lt", "ne"]), value }
    }
    default:
      return {
        kind: "attribute",
        attribute: random.pick(["plan", ...inheritedNames]),
        ...random.pick([
          { op: "eq", value: "pro" },
          { op: "exists" },
          { op: "ne", value: true },
          { op: "in", value: ["free", 3] },
          { op: "contains", value: "r" },
        ] as const),
      }
  }
}

export const randomSegment = (run: Surroundings): Segment => {
  const { now, random, sequence } = run
  return {
    id: `seg_${sequence}`,
    key: `segment-${sequence}`,
    name: `Segment ${sequence}`,
    description: null,
    metadata: {},
    set: "published",
    startsAt: null,
    endsAt: null,
    match: random.pick(["all", "any"]),
    conditions: Array.from({ length: random.integer(1, 3) }, () => segmentCondition(run)),
    ...firstVersion(now),
  }
}

const attributes = (random: Random): Profile["attributes"] =>
  Object.fromEntries(
    ["plan", ...inheritedNames]
      .filter(() => random.chance(0.4))
      .map((name) => [name, random.pick(["pro", "free", 3, true])]),
  )

export const randomRule = (run: Surroundings): Rule => {
  const { random, sequence } = run
  return {
    id: `rul_${sequence}`,
    action: random.pick(actions),
    where: where(random),
    reward: ruleGives(run),
    multiplier: random.chance(0.25)
      ? { path: "amount", min: 0, max: random.pick([3, 1000]) }
      : null,
    limit: random.chance(0.4)
      ? { times: random.integer(1, 3), per: random.pick(["hour", "day", "week", "month", "ever"]) }
      : null,
    cooldownSeconds: random.chance(0.2) ? random.pick([1, 60, 86_400]) : null,
    key: `rule-${sequence}`,
    name: null,
    ...shared(run),
  }
}

/** The members that definitions of every kind have. */
const shared = (run: Surroundings): Omit<Targeted, "id" | "key"> => {
  const { now, random } = run
  const startsAt = random.chance(0.2) ? now + random.integer(-50, 10) * day : null
  return {
    description: null,
    metadata: {},
    set: random.chance(0.8) ? "published" : random.pick(["draft", "paused"] as const),
    startsAt,
    endsAt: random.chance(0.2)
      ? Math.max(now, startsAt ?? now) + random.integer(1, 30) * day
      : null,
    segment: targeted(run),
    ...firstVersion(now),
  }
}

const liveMetrics = ({ metrics }: ProjectState): ReadonlyArray<Metric> =>
  [...metrics.values()].filter(({ set }) => set !== "archived")

export const randomMetric = ({ now, random, sequence }: Surroundings): Metric => {
  const aggregate = random.pick(metricAggregates)
  const isCounted = hasValue(aggregate)
  return {
    id: `mtr_${sequence}`,
    key: `metric-${sequence}`,
    name: `Metric ${sequence}`,
    description: null,
    metadata: {},
    set: "published",
    startsAt: null,
    endsAt: null,
    aggregate,
    actions: random.chance(0.5) ? [random.pick(actions)] : ["TAP", "BUY"],
    where: where(random),
    value: isCounted ? "amount" : null,
    decimals: isCounted ? random.integer(0, 4) : 0,
    unit: random.pick([null, "km"]),
    ...firstVersion(now),
  }
}

/** Some live badges, none of which leads to the badge `of`; `undefined`: there are none. */
const badgeList = (
  { project, random }: Surroundings,
  of: string,
): Extract<Criterion, { readonly kind: "badges" }> | undefined => {
  const badges = [...project.badges.values()]
  const leads = ({ criteria, key }: Badge): boolean =>
    key === of || badges.some((one) => listedBadges(criteria).includes(one.key) && leads(one))
  const free = badges.filter((badge) => badge.set !== "archived" && !leads(badge))
  if (free.length === 0) return undefined
  const keys = Array.from({ length: random.pick([1, 1, 2, 3]) }, () => random.pick(free).key)
  const list = [...new Set(keys)]
  return { kind: "badges", target: list.length, badges: list }
}

/** Whether a live badge lists the badge. */
const isListed = ({ project }: Surroundings, { key }: Badge): boolean =>
  [...project.badges.values()].some(
    ({ criteria, set }) => set !== "archived" && listedBadges(criteria).includes(key),
  )

const criterion = (run: Surroundings): Criterion => {
  const { project, random } = run
  const list = random.chance(0.4) ? badgeList(run, "") : undefined
  if (list !== undefined) return list
  switch (random.integer(0, 8)) {
    case 0:
      return { kind: "xp", target: random.pick([1, 50, 200, 500]) }
    case 1:
      return { kind: "level", target: random.integer(1, 5) }
    case 2:
      return { kind: "points", target: random.pick([1, 20, 100]) }
    case 3:
      return { kind: "quest_count", target: random.integer(1, 4) }
    case 4:
      return {
        kind: "action_count",
        target: random.integer(1, 6),
        action: random.pick(actions),
        where: where(random),
      }
    case 5:
      return {
        kind: "action_sum",
        target: random.integer(1, 15),
        action: random.pick(actions),
        where: where(random),
        sumPath: "amount",
      }
    case 6:
      return {
        kind: "streak",
        target: random.integer(1, 6),
        streak: random.chance(0.5) ? null : random.pick(streakKeys),
      }
    case 7: {
      const metrics = liveMetrics(project).filter(({ aggregate }) => aggregate !== "min")
      if (metrics.length === 0) return { kind: "manual" }
      return { kind: "metric", target: random.integer(1, 8), metric: random.pick(metrics).key }
    }
    default:
      return { kind: "manual" }
  }
}

/** What a badge or a tier pays: for most, nothing. */
const payment = ({ project, random }: Surroundings): Gives =>
  random.chance(0.5)
    ? nothing
    : {
        xp: random.pick([0, 20, 60]),
        points: random.pick([0, 5, 30]),
        ...someCurrencies(project, random),
        ...someFreezes(project, random),
        ...someBoost(project, random),
        badgeId: null,
      }

const nothing: Gives = { xp: 0, points: 0, badgeId: null }

/** The criteria of a badge, its tiers and what it pays. */
const earning = (
  run: Surroundings,
  criteria: Criterion,
): Pick<Badge, "criteria" | "tiers" | "reward"> => {
  const { random } = run
  if (criteria.kind === "manual" || criteria.kind === "badges" || random.chance(0.6)) {
    return { criteria, tiers: [], reward: payment(run) }
  }
  let { target } = criteria
  const keys = ["gold", "constructor", "valueof"].slice(0, random.integer(1, 4))
  const tiers = keys.map((key) => {
    const tier = { key, name: key, target, icon: null, reward: payment(run) }
    target += random.pick([1, 2, 30])
    return tier
  })
  return { criteria, tiers, reward: nothing }
}

export const randomBadge = (run: Surroundings): Badge => {
  const { project, random, sequence } = run
  const earned = earning(run, criterion(run))
  const { criteria } = earned
  const metric =
    criteria.kind === "metric" &&
    [...project.metrics.values()].find(({ key }) => key === criteria.metric)
  const grows = metric && ["count", "sum", "distinct_days"].includes(metric.aggregate)
  const canRepeat = earned.tiers.length === 0 && (isCounting(criteria) || grows === true)
  return {
    id: `bdg_${sequence}`,
    key: `badge-${sequence}`,
    name: `Badge ${sequence}`,
    icon: null,
    ...earned,
    repeatable: canRepeat && random.chance(0.5),
    secret: random.chance(0.3),
    ...shared(run),
  }
}

const stepKeys = ["one", "constructor", "__proto__"]

const steps = ({ now, project, random }: Surroundings): Quest["steps"] =>
  stepKeys.slice(0, random.integer(0, 3)).map((key) => {
    const shared = {
      key,
      target: random.integer(1, 4),
      ...(random.chance(0.2) && { since: now - random.integer(-2, 5) * day }),
    }
    const metrics = liveMetrics(project)
    if (metrics.length > 0 && random.chance(0.3)) {
      return { ...shared, metric: random.pick(metrics).key }
    }
    const counted = { action: random.pick(actions), where: where(random) }
    return { ...shared, ...counted, ...(random.chance(0.3) && { sumPath: "amount" }) }
  })

export const randomQuest = (run: Surroundings): Quest => {
  const { now, project, random, sequence, settled } = run
  return {
    id: `qst_${sequence}`,
    key: `quest-${sequence}`,
    title: `Quest ${sequence}`,
    description: null,
    set: random.pick(["draft", "published", "published", "published", "paused"]),
    reward: gives(run),
    steps: steps(run),
    startsAt: random.chance(0.4) ? now + random.integer(-50, 10) * day : null,
    ...(random.chance(0.2) && { publishedAt: now - random.integer(0, 40) * day }),
    endsAt: random.chance(0.3) ? now + random.integer(1, 40) * day : null,
    recurrence: settled ? random.pick(["none", "none", "daily", "weekly", "monthly"]) : "none",
    prerequisites:
      random.chance(0.2) && project.quests.size > 0
        ? [random.pick([...project.quests.values()]).key]
        : [],
    optIn: random.chance(0.3),
    claim: random.pick(["auto", "auto", "manual"]),
    metadata: {},
    segment: targeted(run),
    ...firstVersion(now),
  }
}

/** Edges of spells: those of daylight saving, of days, and an hour of no import. */
const edges = ["00:00", "01:30", "02:00", "02:30", "03:00", "12:00", "23:30"] as const

const randomSpell = (random: Random): Spell => {
  const from = random.pick(edges)
  const to = random.pick([...edges.filter((edge) => edge !== from), "24:00"])
  const days = weekdays.filter(() => random.chance(0.6))
  return { days: days.length > 0 ? days : ["sunday"], from, to }
}

export const randomBoost = (run: Surroundings, personal = run.random.chance(0.4)): Boost => {
  const { random, sequence } = run
  return {
    id: `bst_${sequence}`,
    key: `boost-${sequence}`,
    name: `Boost ${sequence}`,
    currencies: [random.pick(["xp", "points"]), ...random.pick([[], furtherKeys(run.project)])],
    factor: random.pick([0.1, 0.3, 0.5, 1, 1.15, 1.5, 2, 3, 10]),
    weekly: random.chance(0.3)
      ? []
      : Array.from({ length: random.integer(1, 3) }, () => randomSpell(random)),
    timeZone: random.pick(boostTimeZones),
    personal: false,
    ...shared(run),
    ...(personal && {
      personal,
      weekly: [],
      timeZone: "project",
      startsAt: null,
      endsAt: null,
      segment: null,
    }),
  }
}

/** The active currencies that never refilled. */
const rankable = ({ currencies }: ProjectState): ReadonlyArray<string> =>
  [...currencies.values()]
    .filter((currency) => currency.set === "published" && !isRefilling(currency))
    .map(({ key }) => key)

const isRanked = (
  { leaderboards }: ProjectState,
  key: string,
  kind: RankedKind = "currency",
): boolean => [...leaderboards.values()].some((board) => ranksBy(board, kind, key))

/** What boards can rank by. */
const randomScore = ({ project, random }: Surroundings): BoardScore => {
  const metrics = liveMetrics(project)
  const streaks = [...project.streaks.values()].filter(({ set }) => set !== "archived")
  if (metrics.length > 0 && random.chance(0.4)) return { metric: random.pick(metrics).key }
  if (streaks.length > 0 && random.chance(0.2)) return { streak: random.pick(streaks).key }
  return { currency: random.pick(rankable(project)) }
}

/** Users, or the teams of a kind, also of one that has no team. */
const randomEntrants = ({ project, random }: Surroundings) => {
  const kinds = [...project.teams.kinds.keys(), "club"]
  const groupBy = random.chance(0.5) ? random.pick(["plan", ...inheritedNames]) : null
  return random.chance(0.3)
    ? ({ entrants: "teams", teamKind: random.pick(kinds), groupBy: null } as const)
    : ({ entrants: "users", teamKind: null, groupBy } as const)
}

export const randomBoard = (run: Surroundings): Board => {
  const { random, sequence } = run
  const score = randomScore(run)
  const windows = namedWindows.filter(() => random.chance(0.7))
  const board = {
    id: `ldb_${sequence}`,
    key: `board-${sequence}`,
    name: `Board ${sequence}`,
    score,
    ...randomEntrants(run),
    windows: windows.length > 0 ? windows : (["all_time"] as const),
    timeZone: "project" as const,
    order: random.pick(boardOrders),
    ties: random.pick(boardTies),
    attributes: [],
    prizes: [],
    keepWindows: null,
    graceMinutes: 0,
    // Not drawn, so that a seed of earlier versions does the same; `ranks.test.ts` has them.
    announceRanks: null,
    ...shared(run),
    ...(random.chance(0.5) && { segment: null, startsAt: null }),
  }
  if (!isOfPresent(run.project.metrics, board)) return board
  const set = board.set === "paused" ? "published" : board.set
  const ties = "metric" in score ? "shared" : board.ties
  const all = {
    entrants: "users",
    teamKind: null,
    segment: null,
    startsAt: null,
    endsAt: null,
    windows: ["all_time"],
  } as const
  return { ...board, ...all, set, ties }
}

/** Pauses, publishes or archives a board. */
const editedBoard = (run: Surroundings): ReadonlyArray<ProjectFact> => {
  const { now, project, random } = run
  const all = [...project.leaderboards.values()].filter(
    (board) => !isXpBoard(board) && board.set !== "archived",
  )
  if (all.length === 0) return []
  const leaderboard = random.pick(all)
  const set = editedSet(run, leaderboard)
  if (set === "paused" && isOfPresent(project.metrics, leaderboard)) return []
  return [{ kind: "leaderboard.updated", leaderboard: { ...leaderboard, set, updatedAt: now } }]
}

const variantKeys = ["control", "constructor", "__proto__"]

export const randomExperiment = (run: Surroundings): Experiment => {
  const { project, random, sequence } = run
  const live = liveMetrics(project)
  const variants = variantKeys.slice(0, random.integer(2, 4)).map((key) => {
    return { key, weight: random.pick([1, 1, 2, 7]) }
  })
  return {
    id: `exp_${sequence}`,
    key: `experiment-${sequence}`,
    name: `Experiment ${sequence}`,
    variants,
    metric: live.length > 0 && random.chance(0.6) ? random.pick(live).key : null,
    ...shared(run),
  }
}

/** Changes the weights of an experiment; pauses, publishes or archives it. */
const editedExperiment = (run: Surroundings): ReadonlyArray<ProjectFact> => {
  const { now, project, random } = run
  const all = [...project.experiments.values()].filter(({ set }) => set !== "archived")
  if (all.length === 0) return []
  const before = random.pick(all)
  const variants = before.variants.map(({ key }) => ({ key, weight: random.pick([1, 3, 5]) }))
  const set = editedSet(run, before)
  const isAsked = [...project.segments.values()].some(({ conditions }) =>
    conditions.some(({ experiment }) => experiment === before.key),
  )
  const edited = { ...before, variants, set: isAsked && set === "archived" ? before.set : set }
  return [{ kind: "experiment.updated", experiment: { ...edited, updatedAt: now } }]
}

const withoutReminders = ({ reminders: _, ...settings }: ProjectSettings) => settings

/** `plan` is one of the attributes that users have. */
const randomReminders = (random: Random): Pick<ProjectSettings, "reminders"> =>
  random.chance(0.3)
    ? {}
    : {
        reminders: {
          hour: random.pick([0, 2, 10, 23]),
          inactiveDays: random.pick([[1], [1, 2, 7], [3]]),
          unless: random.pick([null, "plan"]),
          ...(random.chance(0.6) && { questDays: random.pick([1, 2, 9]) }),
          ...(random.chance(0.6) && { expiryDays: random.pick([1, 2, 5]) }),
        },
      }

const teamKinds = ["club", "constructor"] as const
const teamIds = ["a", "B", "constructor", "ü/1", "z"]

/** A team that is created, changed or deleted. */
export const randomTeam = ({ now, project, random }: Surroundings): ReadonlyArray<ProjectFact> => {
  const id = random.pick(teamIds)
  const before = teamWithId(project.teams, id)
  const name = `Team ${random.integer(0, 3)}`
  if (before === undefined) {
    const kind = random.pick(teamKinds)
    const { next: number } = project.teams
    const team = { id, number, kind, name, attributes: {}, ...firstVersion(now) }
    return [{ kind: "team.created", team }]
  }
  if (random.chance(0.4)) {
    return [{ kind: "team.deleted", teamId: id, teamKind: before.kind, name: before.name }]
  }
  return [{ kind: "team.updated", team: { ...before, name, ...nextVersion(before, now) } }]
}

export const randomSettings = ({
  project: { settings },
  random,
  settled,
}: Surroundings): ProjectSettings => ({
  ...withoutReminders(settings),
  timezone: !settled && random.chance(0.3) ? random.pick(zones) : settings.timezone,
  ...randomReminders(random),
  levelCurve: random.pick([
    { kind: "quadratic", base: 10 },
    { kind: "quadratic", base: 50 },
    { kind: "linear", xpPerLevel: 30 },
    { kind: "geometric", base: 20, factor: 1.3 },
    { kind: "table", thresholds: [0, 10, 55, 200, 500] },
  ]),
})

/** The stored status after an edit: the moves that are allowed. */
const editedSet = (
  { now, random }: Surroundings,
  edited: Rule | Badge | Boost | Board | Experiment | Item,
): Definition["set"] => {
  if (random.chance(0.3)) return "archived"
  if (random.chance(0.5)) return edited.set
  switch (statusAt(edited, now)) {
    case "active":
      return "paused"
    case "draft":
    case "paused":
      return "published"
    default:
      return edited.set
  }
}

const editedMetric = ({ now, project, random }: Surroundings): ReadonlyArray<ProjectFact> => {
  const live = liveMetrics(project)
  if (live.length === 0) return []
  const metric = { ...random.pick(live), updatedAt: now }
  const isNeeded =
    isRanked(project, metric.key, "metric") ||
    [...project.badges.values()].some(
      ({ criteria, set }) =>
        set !== "archived" && criteria.kind === "metric" && criteria.metric === metric.key,
    ) ||
    [...project.segments.values()].some(({ conditions }) =>
      conditions.some((condition) => condition.metric === metric.key),
    ) ||
    [...project.experiments.values()].some(
      (experiment) => experiment.set !== "archived" && experiment.metric === metric.key,
    ) ||
    [...project.quests.values(), ...project.streaks.values()].some(
      (definition) =>
        definition.set !== "archived" &&
        ("steps" in definition ? definition.steps : definition.needs).some(
          (counting) => counting.metric === metric.key,
        ),
    )
  return isNeeded || random.chance(0.5)
    ? [{ kind: "metric.updated", metric: { ...metric, name: `${metric.name}!` } }]
    : [{ kind: "metric.updated", metric: { ...metric, set: "archived" } }]
}

/** An amount of points, or of a further currency that can be spent. */
const randomPrice = ({ project, random }: Surroundings): Amounts => {
  const spendable = [...project.currencies.values()].filter(
    (currency) => currency.set === "published" && currency.spendable,
  )
  const { key } = random.pick(spendable)
  return random.chance(0.5)
    ? { points: random.integer(1, 6) }
    : { points: random.integer(1, 3), [key]: random.integer(1, 4) }
}

const randomStock = (random: Random): Item["stock"] => random.pick([null, null, 0, 1, 3, 6])

const randomLimit = (random: Random): Item["limit"] =>
  random.chance(0.5) ? null : { times: random.integer(1, 3), per: random.pick(limitPeriods) }

export const randomItem = (run: Surroundings): Item => {
  const { random, sequence } = run
  return {
    id: `itm_${sequence}`,
    key: `item-${sequence}`,
    name: `Item ${sequence}`,
    price: randomPrice(run),
    reward: gives(run),
    limit: randomLimit(random),
    stock: randomStock(random),
    ...shared(run),
  }
}

/** Another price of the same currencies, stock, limit or status. */
const editedItem = (run: Surroundings): ReadonlyArray<ProjectFact> => {
  const { now, project, random } = run
  const items = [...project.items.values()].filter(({ set }) => set !== "archived")
  if (items.length === 0) return []
  const item = random.pick(items)
  const prices = Object.keys(item.price).map((key) => [key, random.integer(1, 6)] as const)
  const changed = {
    price: Object.fromEntries(prices),
    stock: randomStock(random),
    limit: randomLimit(random),
    set: random.chance(0.7) ? item.set : editedSet(run, item),
  }
  return [{ kind: "item.updated", item: { ...item, ...changed, updatedAt: now } }]
}

export const randomEdit = (run: Surroundings): ReadonlyArray<ProjectFact> => {
  const { now, project, random } = run
  const badge = [...project.badges.values()]
  const rule = [...project.rules.values()]
  const quest = [...project.quests.values()]
  const boost = [...project.boosts.values()]
  const segment = [...project.segments.values()]
  if (segment.length > 0 && random.chance(0.15)) {
    const { createdAt, id, key } = random.pick(segment)
    return [{ kind: "segment.updated", segment: { ...randomSegment(run), createdAt, id, key } }]
  }
  switch (random.integer(0, 10)) {
    case 10:
      return editedItem(run)
    case 9:
      return editedExperiment(run)
    case 8:
      return editedBoard(run)
    case 7:
      return editedStreak(run)
    case 6:
      return editedMetric(run)
    case 5:
      return randomCurrencyEdit(run)
    case 0: {
      if (rule.length === 0) return []
      const edited = random.pick(rule)
      if (edited.set === "archived") return []
      const { countedSince, createdAt, id, key } = edited
      const fresh = { ...randomRule(run), id, key, createdAt, set: editedSet(run, edited) }
      const counted = countedSince === undefined ? fresh : { ...fresh, countedSince }
      return [{ kind: "rule.updated", rule: recounted(edited, counted, now) }]
    }
    case 1: {
      if (badge.length === 0) return []
      const chosen = random.pick(badge)
      if (chosen.set === "archived") return []
      if (random.chance(0.5) && chosen.criteria.kind !== "manual") {
        const criteria =
          chosen.criteria.kind === "badges"
            ? (badgeList(run, chosen.key) ?? chosen.criteria)
            : { ...chosen.criteria, target: random.integer(1, 60) }
        const edited = chosen.repeatable
          ? { criteria: { ...criteria, target: random.integer(1, 9) }, reward: payment(run) }
          : earning(run, criteria)
        return [
          { kind: "badge.updated", badge: { ...chosen, ...edited, ...nextVersion(chosen, now) } },
        ]
      }
      return [
        {
          kind: "badge.updated",
          badge: {
            ...chosen,
            set: isListed(run, chosen) ? chosen.set : editedSet(run, chosen),
            updatedAt: now,
          },
        },
      ]
    }
    case 2: {
      if (boost.length === 0) return []
      const edited = random.pick(boost)
      if (edited.set === "archived") return []
      const { createdAt, id, key } = edited
      // Rewards may give a personal boost, which then cannot be archived.
      const next = editedSet(run, edited)
      const set = edited.personal && next === "archived" ? edited.set : next
      const changed = { ...randomBoost(run, edited.personal), id, key, createdAt, set }
      return [{ kind: "boost.updated", boost: changed }]
    }
    default: {
      if (quest.length === 0) return []
      const edited = random.pick(quest)
      // A quest that has ended cannot be opened again.
      if (statusAt(edited, now) === "ended" || edited.set === "archived") return []
      const { createdAt, id, key, recurrence, prerequisites } = edited
      const fresh = randomQuest(run)
      const anew = random.chance(0.3) && !run.recurAnew.has(id)
      if (anew) run.recurAnew.add(id)
      const set = random.pick(["published", "published", "paused", "archived"] as const)
      return [
        {
          kind: "quest.updated",
          quest: {
            ...fresh,
            id,
            key,
            createdAt,
            set,
            recurrence: anew ? fresh.recurrence : recurrence,
            prerequisites,
            steps: random.chance(0.5) ? fresh.steps : edited.steps,
          },
        },
      ]
    }
  }
}

const metadata = (random: Random): Metadata | undefined =>
  random.chance(0.3)
    ? undefined
    : {
        amount: random.pick([0, 0.1, 0.2, 1, 1.5, 2.3, 3, 7, "3", -4, 1e-9, 1e300]),
        kind: random.pick(["a", "c"]),
        ...(random.chance(0.5) && { cart: { total: 3 } }),
        ...(random.chance(0.3) && { constructor: { name: "x" } }),
        ...(random.chance(0.3) && Object.fromEntries([["__proto__", { amount: 2 }]])),
        tags: random.chance(0.5) ? ["new"] : [],
      }

const occurredAt = ({
  now,
  random,
}: Surroundings): Pick<TrackedEvent, "occurredAt" | "imported"> => {
  const kind = random.next()
  if (kind < 0.6) return {}
  if (kind < 0.65) return { occurredAt: now + random.integer(0, 300_001) }
  if (kind < 0.8) return { occurredAt: now - random.integer(0, 2 * 3_600_000) }
  if (kind < 0.95) return { occurredAt: now - random.integer(0, 30 * day + 1) }
  return { occurredAt: now - random.integer(0, 100 * day), imported: true }
}

/**
 * A backfill as the engine asks for it: with the count of the history if the badge counts actions.
 */
const backfill = (
  { model, project, random, sequenceOf }: Surroundings,
  userId: string,
): UserCommand => {
  const badge = random.pick([...project.badges.values()])
  const { criteria, id } = badge
  const bare = { kind: "backfill", badgeId: id, notify: false } as const
  if (!isCounting(criteria)) return bare
  const counted = countInHistory(model.log(userId), badge)
  return { ...bare, counted, countedUpTo: sequenceOf(userId) }
}

export const randomCommand = (run: Surroundings, userId: string): UserCommand => {
  const { project, random, records } = run
  if (random.chance(isNew(run, userId) ? 0.6 : 0.005)) return randomOpening(run, userId)
  const kind = random.next()
  const questIds = [...project.quests.keys(), "qst_none"]
  if (kind < 0.04) return { kind: "start", questId: random.pick(questIds) }
  if (kind < 0.6) {
    const asks = random.chance(0.15)
    return {
      kind: "event",
      action: asks ? "QUEST_COMPLETE" : random.pick(actions),
      metadata: asks ? { questId: random.pick(questIds) } : metadata(random),
      ...occurredAt(run),
    }
  }
  if (kind < 0.68) {
    if (random.chance(0.45)) {
      const names = [...project.items.values()].map(({ id, key }) => random.pick([id, key]))
      return { kind: "purchase", item: random.pick([...names, ...names, "none"]) }
    }
    if (random.chance(0.4)) {
      return { kind: "spend", currencies: {}, repair: random.pick([...streakKeys, "none"]) }
    }
    if (random.chance(0.3)) return { kind: "spend", amount: random.integer(1, 40) }
    const keys = [...furtherKeys(project), "points", random.pick(["gems", "none", "xp"])]
    const chosen = [random.pick(keys), random.pick(keys)]
    return {
      kind: "spend",
      currencies: Object.fromEntries(chosen.map((key) => [key, random.pick([1, 2, 3, 12])])),
    }
  }
  if (kind < 0.77) {
    const badgeIds = [...project.badges.keys()]
    const own = someBoost(project, random)
    if (own.boost !== undefined && random.chance(0.2)) return { kind: "reward", reward: own }
    if (random.chance(0.3)) {
      const reward = {
        ...(random.chance(0.7) && { xp: random.integer(1, 60) }),
        ...(random.chance(0.5) && badgeIds.length > 0 && { badgeId: random.pick(badgeIds) }),
      }
      const currencies = random.chance(0.03)
        ? { currencies: { none: 1 } }
        : someCurrencies(project, random)
      return {
        kind: "reward",
        reward: {
          ...reward,
          ...currencies,
          ...(random.chance(0.03) ? { freezes: { none: 1 } } : someFreezes(project, random)),
          ...(random.chance(0.03)
            ? { boost: { key: "none", minutes: 1 } }
            : someBoost(project, random)),
          points: random.integer(1, 40),
        },
      }
    }
    if (random.chance(0.3) && badgeIds.length > 0)
      return { kind: "reward", type: "badge", badgeId: random.pick(badgeIds) }
    return { kind: "reward", type: random.pick(["xp", "points"]), amount: random.integer(1, 60) }
  }
  if (kind < 0.9 && records.length > 0) {
    const own = records.filter(
      ({ subject }) => subject.actor === "user" && subject.userId === userId,
    )
    const known = own.length > 0 && random.chance(0.9) ? own : records
    const recent = known.slice(-random.pick([5, 30, 200]))
    const { at, cause, sequence } = random.pick(recent)
    const of = isNamed(cause) ? cause.kind : "reward"
    return { kind: "revocation", of, sequence, at }
  }
  if (kind < 0.915) {
    return {
      kind: "profile",
      change: random.pick([
        { timezone: random.pick(zones) },
        { hidden: random.chance(0.5) },
        { displayName: random.pick([null, "Ada", 'ü "🦊"']) },
        { attributes: attributes(random) },
        { attributes: attributes(random) },
      ]),
    }
  }
  if (kind < 0.92) return { kind: "erasure" }
  if (kind < 0.955) {
    const there = [...teamsAfter(project.teams, undefined)].map(({ id }) => id)
    const teamId = random.pick(random.chance(0.1) ? [...teamIds, "none"] : ["a", ...there])
    return { kind: random.chance(0.75) ? "join" : "leave", teamId }
  }
  if (kind < 0.965) {
    return { kind: "pause", streak: random.pick(streakKeys), ...daysNear(run.now, random) }
  }
  if (kind < 0.973) {
    const leaderboard = random.pick([xpBoard.id, ...project.leaderboards.keys()])
    return { kind: "disqualify", leaderboard, disqualified: random.chance(0.6) }
  }
  if (kind < 0.985 && project.badges.size > 0) return backfill(run, userId)
  return { kind: "tick" }
}
