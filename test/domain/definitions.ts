/** Definitions with everything that a test does not care about. */
import { type Board, namedWindows } from "../../src/domain/project/BoardDefinition.ts"
import type { Boost } from "../../src/domain/project/Boost.ts"
import type { Currency, NamedLevel } from "../../src/domain/project/Currency.ts"
import type { Badge, Gives, Quest, Rule } from "../../src/domain/project/Definition.ts"
import type { Experiment } from "../../src/domain/project/Experiment.ts"
import type { Goal } from "../../src/domain/project/Goal.ts"
import type { Item } from "../../src/domain/project/Item.ts"
import type { League } from "../../src/domain/project/League.ts"
import type { Metric } from "../../src/domain/project/Metric.ts"
import type { ProjectState } from "../../src/domain/project/Project.ts"
import type { Segment } from "../../src/domain/project/Segment.ts"
import type { Streak } from "../../src/domain/project/StreakDefinition.ts"
import { applyProject } from "../../src/domain/record/applyProject.ts"
import type { Payment } from "../../src/domain/record/Payment.ts"
import type { Fact } from "../../src/domain/record/Record.ts"

type Partly<A extends { readonly reward: unknown }> = Partial<Omit<A, "reward">> & {
  readonly reward?: Partial<A["reward"]>
}

const gives = { xp: 0, points: 0, badgeId: null }

const shared = {
  description: null,
  metadata: {},
  set: "published",
  startsAt: null,
  endsAt: null,
  segment: null,
  version: 1,
  createdAt: 0,
  updatedAt: 0,
} as const

/** The key of a definition by its id: `rul_a` has the key `a`. */
const keyOf = (id: string): string => id.replace(/^[a-z]{3}_/, "").replace(/^(?=[^a-z])/, "k")

export const ruleWith = ({ id = "rul_1", reward, ...rest }: Partly<Rule>): Rule => ({
  ...shared,
  id,
  key: keyOf(id),
  name: null,
  action: "TAP",
  where: [],
  reward: { ...gives, ...(reward ?? { xp: 1 }) },
  multiplier: null,
  limit: null,
  cooldownSeconds: null,
  ...rest,
})

export const questWith = ({ id = "qst_1", reward, ...rest }: Partly<Quest>): Quest => ({
  ...shared,
  id,
  key: keyOf(id),
  title: "A quest",
  reward: { ...gives, ...reward },
  steps: [],
  recurrence: "none",
  prerequisites: [],
  optIn: false,
  claim: "auto",
  ...rest,
})

export const currencyWith = ({ id = "cur_gems", ...currency }: Partial<Currency>): Currency => ({
  ...shared,
  id,
  key: keyOf(id),
  name: "Gems",
  spendable: true,
  max: null,
  earnLimit: null,
  refill: null,
  pendingDays: null,
  expiry: null,
  levels: null,
  ...currency,
})

/** A level of a currency. */
export const levelWith = (
  key: string,
  from: number,
  { reward, ...level }: Partial<Omit<NamedLevel, "reward">> & { reward?: Partial<Gives> } = {},
): NamedLevel => ({
  key,
  name: `${key[0]!.toUpperCase()}${key.slice(1)}`,
  from,
  icon: null,
  reward: { ...gives, ...reward },
  ...level,
})

export const badgeWith = ({ id = "bdg_1", ...badge }: Partial<Badge>): Badge => ({
  ...shared,
  id,
  key: keyOf(id),
  name: "A badge",
  icon: null,
  criteria: { kind: "manual" },
  tiers: [],
  reward: gives,
  repeatable: false,
  secret: false,
  ...badge,
})

const { segment: _, ...untargeted } = shared

export const boostWith = ({ id = "bst_1", ...boost }: Partial<Boost>): Boost => ({
  ...shared,
  id,
  key: keyOf(id),
  name: "A boost",
  currencies: ["xp", "points"],
  factor: 2,
  weekly: [],
  timeZone: "project",
  personal: false,
  ...boost,
})

export const boardWith = ({ id = "ldb_1", ...board }: Partial<Board>): Board => ({
  ...shared,
  id,
  key: keyOf(id),
  name: "A leaderboard",
  score: { currency: "points" },
  entrants: "users",
  teamKind: null,
  windows: namedWindows,
  timeZone: "project",
  order: "desc",
  ties: "shared",
  attributes: [],
  groupBy: null,
  prizes: [],
  keepWindows: null,
  graceMinutes: 0,
  announceRanks: null,
  ...board,
})

export const leagueWith = ({ id = "lga_1", ...league }: Partial<League>): League => ({
  ...shared,
  id,
  key: keyOf(id),
  name: "A league",
  score: { currency: "xp" },
  divisions: [
    { key: "bronze", name: "Bronze", icon: null, promote: 1, demote: 0 },
    { key: "silver", name: "Silver", icon: null, promote: 1, demote: 1 },
    { key: "gold", name: "Gold", icon: null, promote: 0, demote: 1 },
  ],
  cohortSize: 3,
  window: "daily",
  graceMinutes: 0,
  rewards: [],
  ...league,
})

export const goalWith = ({ id = "gol_1", ...goal }: Partial<Goal>): Goal => ({
  ...shared,
  id,
  key: keyOf(id),
  name: "A goal",
  score: { currency: "xp" },
  scope: "everyone",
  teamKind: null,
  target: 100,
  recurrence: "none",
  reward: { xp: 0, points: 10, badgeId: null },
  minContribution: 1,
  ...goal,
})

export const itemWith = ({ id = "itm_1", ...item }: Partial<Item>): Item => ({
  ...shared,
  id,
  key: keyOf(id),
  name: "An item",
  price: { points: 5 },
  reward: { xp: 0, points: 0, badgeId: null },
  limit: null,
  stock: null,
  ...item,
})

export const segmentWith = ({ id = "seg_1", ...segment }: Partial<Segment>): Segment => ({
  ...untargeted,
  id,
  key: keyOf(id),
  name: "A segment",
  match: "all",
  conditions: [{ kind: "attribute", attribute: "plan", op: "eq", value: "pro" }],
  ...segment,
})

export const metricWith = ({ id = "mtr_1", ...metric }: Partial<Metric>): Metric => ({
  ...shared,
  id,
  key: keyOf(id),
  name: "A metric",
  aggregate: "count",
  actions: ["TAP"],
  where: [],
  value: null,
  decimals: 0,
  unit: null,
  ...metric,
})

export const streakWith = ({ id = "stk_daily", ...streak }: Partial<Streak>): Streak => ({
  ...untargeted,
  id,
  key: keyOf(id),
  name: "A streak",
  every: "day",
  needs: [],
  match: "all",
  restDays: [],
  freezes: { initial: 0, max: 0, everyDays: null },
  milestones: [],
  atRisk: null,
  pauses: [],
  repair: null,
  ...streak,
})

export const experimentWith = ({
  id = "exp_1",
  ...experiment
}: Partial<Experiment>): Experiment => ({
  ...shared,
  id,
  key: keyOf(id),
  name: "An experiment",
  variants: [
    { key: "control", weight: 1 },
    { key: "goal", weight: 1 },
  ],
  metric: null,
  ...experiment,
})

/** `facts` with the versions that follow those of the project. */
export const versioned = (
  {
    badges,
    boosts,
    currencies,
    experiments,
    items,
    goals,
    leaderboards,
    leagues,
    metrics,
    quests,
    rules,
    segments,
    settings,
    streaks,
  }: ProjectState,
  facts: ReadonlyArray<Fact>,
): ReadonlyArray<Fact> => {
  const versions = new Map<string, number>([["settings", settings.version]])
  const kinds = {
    rule: rules,
    quest: quests,
    badge: badges,
    boost: boosts,
    currency: currencies,
    metric: metrics,
    segment: segments,
    streak: streaks,
    leaderboard: leaderboards,
    experiment: experiments,
    league: leagues,
    item: items,
    goal: goals,
  }
  for (const [kind, all] of Object.entries(kinds)) {
    for (const { id, version } of all.values()) versions.set(`${kind} ${id}`, version)
  }
  const next = (name: string): number => {
    const version = (versions.get(name) ?? 0) + 1
    versions.set(name, version)
    return version
  }
  return facts.map((fact) => {
    switch (fact.kind) {
      case "rule.created":
      case "rule.updated":
        return { ...fact, rule: { ...fact.rule, version: next(`rule ${fact.rule.id}`) } }
      case "quest.created":
      case "quest.updated":
        return { ...fact, quest: { ...fact.quest, version: next(`quest ${fact.quest.id}`) } }
      case "badge.created":
      case "badge.updated":
        return { ...fact, badge: { ...fact.badge, version: next(`badge ${fact.badge.id}`) } }
      case "boost.created":
      case "boost.updated":
        return { ...fact, boost: { ...fact.boost, version: next(`boost ${fact.boost.id}`) } }
      case "leaderboard.created":
      case "leaderboard.updated": {
        const version = next(`leaderboard ${fact.leaderboard.id}`)
        return { ...fact, leaderboard: { ...fact.leaderboard, version } }
      }
      case "experiment.created":
      case "experiment.updated": {
        const version = next(`experiment ${fact.experiment.id}`)
        return { ...fact, experiment: { ...fact.experiment, version } }
      }
      case "league.created":
      case "league.updated":
        return { ...fact, league: { ...fact.league, version: next(`league ${fact.league.id}`) } }
      case "goal.created":
      case "goal.updated":
        return { ...fact, goal: { ...fact.goal, version: next(`goal ${fact.goal.id}`) } }
      case "item.created":
      case "item.updated":
        return { ...fact, item: { ...fact.item, version: next(`item ${fact.item.id}`) } }
      case "currency.created":
      case "currency.updated": {
        const version = next(`currency ${fact.currency.id}`)
        return { ...fact, currency: { ...fact.currency, version } }
      }
      case "segment.created":
      case "segment.updated":
        return {
          ...fact,
          segment: { ...fact.segment, version: next(`segment ${fact.segment.id}`) },
        }
      case "metric.created":
      case "metric.updated":
        return { ...fact, metric: { ...fact.metric, version: next(`metric ${fact.metric.id}`) } }
      case "streak.created":
      case "streak.updated":
        return { ...fact, streak: { ...fact.streak, version: next(`streak ${fact.streak.id}`) } }
      case "project.updated":
        return { ...fact, settings: { ...fact.settings, version: next("settings") } }
      default:
        return fact
    }
  })
}

/** The state of a project after one more record, of these facts. */
export const withFacts = (
  project: ProjectState,
  facts: ReadonlyArray<Fact>,
  sequence = project.sequence + 1,
  at = 0,
): ProjectState =>
  applyProject(project, {
    sequence,
    at,
    subject: { actor: "project", environment: "p:sandbox" },
    cause: { kind: "request" },
    facts: versioned(project, facts),
  })

/** The payment of a prize to the user `to`. */
export const prizePayment = (to: string, madeAt: number): Payment => ({
  kind: "payment",
  payout: "ldb_prized daily 20761",
  to,
  prize: {
    boardId: "ldb_prized",
    key: "prized",
    window: "daily",
    index: 20_761,
    startsAt: 0,
    endsAt: 86_400_000,
    rank: 1,
  },
  rewards: [{ xp: 1, points: 0, badgeId: null }],
  madeAt,
})
