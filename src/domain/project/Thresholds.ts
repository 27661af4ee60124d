/**
 * The targets of badges by numbers of a user: balances, levels, quests, streaks and metrics. A number
 * that grows finds the targets that it crosses by binary search, whatever the number of badges. A
 * badge that the user gets finds the badges that list it.
 */
import { countUpTo } from "../values/countUpTo.ts"
import { type Award, awardsOf, type Badge, type Criterion, listedBadges } from "./Definition.ts"
import { definitionOf, definitionWithKey } from "./DefinitionKey.ts"
import type { ProjectState } from "./Project.ts"

/** The awards of one kind of criterion, lowest target first. */
export interface Thresholds {
  readonly targets: ReadonlyArray<number>
  readonly awards: ReadonlyArray<Award>
}

export interface MetricThresholds {
  readonly decimals: number
  readonly repeatable: ReadonlyArray<Badge>
  readonly thresholds: Thresholds
}

export interface AllThresholds {
  readonly thresholds: Readonly<Record<"xp" | "level" | "points" | "quest_count", Thresholds>>
  /** By the id of the metric. */
  readonly metricThresholds: ReadonlyMap<string, MetricThresholds>
  /** By the key of the streak; `""` has the badges for any streak. */
  readonly streakThresholds: ReadonlyMap<string, Thresholds>
  /** The badges that list a badge, by its id. */
  readonly dependents: ReadonlyMap<string, ReadonlyArray<Dependent>>
}

/** A badge that is earned by badges, and the ids of these. */
export interface Dependent {
  readonly award: Award
  readonly badgeIds: ReadonlyArray<string>
}

/** The targets of the badges that a number crosses. `crossed`: by `crossedName`. */
export const allThresholds = (
  { badges, metrics }: ProjectState,
  crossed: ReadonlyMap<string, ReadonlyArray<Badge>>,
): AllThresholds => {
  const streakThresholds = new Map<string, Thresholds>()
  const metricThresholds = new Map<string, MetricThresholds>()
  for (const [name, badges] of crossed) {
    if (name.startsWith("streak ")) streakThresholds.set(name.slice(7), thresholds(badges))
    if (!name.startsWith("metric ")) continue
    const metric = definitionOf(metrics, name.slice(7))
    if (metric === undefined) continue
    const { decimals, id } = metric
    const repeatable = badges.filter((badge) => badge.repeatable)
    const once = badges.filter((badge) => !badge.repeatable)
    metricThresholds.set(id, { decimals, repeatable, thresholds: thresholds(once) })
  }
  return {
    thresholds: {
      xp: thresholds(crossed.get("xp")),
      level: thresholds(crossed.get("level")),
      points: thresholds(crossed.get("points")),
      quest_count: thresholds(crossed.get("quest_count")),
    },
    streakThresholds,
    metricThresholds,
    dependents: dependentsOf(badges, crossed.get("badges")),
  }
}

const dependentsOf = (
  all: ProjectState["badges"],
  dependents: ReadonlyArray<Badge> = [],
): AllThresholds["dependents"] => {
  const byListed = new Map<string, Array<Dependent>>()
  for (const badge of dependents) {
    const badgeIds = listedBadges(badge.criteria).map(
      (key) => definitionWithKey(all, key)?.id ?? "",
    )
    const dependent = { award: awardsOf(badge)[0], badgeIds }
    for (const id of badgeIds) {
      const others = byListed.get(id)
      if (others === undefined) byListed.set(id, [dependent])
      else others.push(dependent)
    }
  }
  return byListed
}

/** The name of the number that the criterion compares with its target. */
export const crossedName = (criteria: Criterion): string => {
  if (criteria.kind === "streak") return `streak ${criteria.streak ?? ""}`
  return criteria.kind === "metric" ? `metric ${criteria.metric}` : criteria.kind
}

const thresholds = (badges: ReadonlyArray<Badge> = []): Thresholds => {
  const awards = badges.flatMap(awardsOf).sort((one, other) => one.target - other.target)
  return { targets: awards.map(({ target }) => target), awards }
}

/**
 * The awards with a target in (`before`, `after`], lowest first. O(log n) plus the size of the
 * result.
 */
export const crossedBy = (
  { awards, targets }: Thresholds,
  before: number,
  after: number,
): ReadonlyArray<Award> => {
  if (after <= before || targets.length === 0 || targets.at(-1)! <= before) return noAwards
  const start = countUpTo(targets, before)
  let end = start
  // Few targets are between two balances, so a scan is faster than a second search.
  while (end < targets.length && targets[end]! <= after) end++
  return end === start ? noAwards : awards.slice(start, end)
}

const noAwards: ReadonlyArray<Award> = []
