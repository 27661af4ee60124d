/**
 * Whether a user is in a segment. Pure: the answer follows from the user's state, the definitions
 * and the time.
 *
 * A decision asks on the state before its command, once for each segment that a matching definition
 * names (`Draft`), so a segment that no such definition names costs nothing. A user without a state
 * is as a new one: level 1, no balance, no attribute.
 *
 * The table `conditionKinds` has everything about a kind of condition except its words in the
 * contract (`http/api/Segments.ts`). A new kind needs a name in `segmentConditionKinds` and an entry
 * here.
 */
import { activeCurrency, hasLevels } from "../project/Currency.ts"
import {
  type ConditionOperator,
  conditionOperators,
  type Test,
  testOf,
} from "../project/Definition.ts"
import { definitionWithKey, idsByKey } from "../project/DefinitionKey.ts"
import { levelAt } from "../project/Level.ts"
import type { ProjectState } from "../project/Project.ts"
import type {
  Segment,
  SegmentCondition,
  SegmentConditionKind,
  SegmentConditionName,
} from "../project/Segment.ts"
import { murmur3 } from "../values/murmur3.ts"
import { levelAmount, levelNumber } from "./CurrencyLevel.ts"
import { metricNumber } from "./MetricState.ts"
import { balanceAt } from "./Refill.ts"
import { streakNow } from "./Streak.ts"
import { teamIn } from "./TeamMembership.ts"
import { type UserState, userZones } from "./User.ts"

/** A user as of a moment. `user`: `undefined` for a user without a state. */
export interface Person {
  readonly userId: string
  readonly user: UserState | undefined
  readonly project: ProjectState
  /** The time of the environment, epoch milliseconds. */
  readonly now: number
  /** The variants to which the command exposes the user, by the id of the experiment. */
  readonly exposed?: ReadonlyMap<string, string>
}

interface ConditionKind {
  /** The member that says which one, such as the key of a badge; absent: there is only one. */
  readonly name?: SegmentConditionName
  readonly operators: ReadonlyArray<ConditionOperator>
  /** The bounds of a number to compare with; absent: any value that the operator takes. */
  readonly numbers?: { readonly min: number; readonly max: number }
  /** The number that a text stands for; absent: none does. */
  readonly numberOf?: (project: ProjectState, name: string, text: string) => number | undefined
  /** What the condition compares; `undefined`: the user has none. */
  readonly read: (person: Person, name: string) => unknown
  /** Why the name refers to nothing; absent: every name does. */
  readonly unknown?: (project: ProjectState, name: string) => string | undefined
  /** Why the value, of an operator that takes one, can never be equal; absent: any may be. */
  readonly unknownValue?: (
    project: ProjectState,
    name: string,
    value: SegmentCondition["value"],
  ) => string | undefined
}

const order = ["eq", "ne", "gt", "gte", "lt", "lte"] as const
const numbers = { min: 0, max: Number.MAX_SAFE_INTEGER }

export const conditionKinds: Readonly<Record<SegmentConditionKind, ConditionKind>> = {
  attribute: {
    name: "attribute",
    operators: conditionOperators,
    read: ({ user }, name) => {
      const attributes = user?.profile.attributes
      return attributes !== undefined && Object.hasOwn(attributes, name)
        ? attributes[name]
        : undefined
    },
  },
  level: {
    operators: order,
    numbers,
    read: ({ project, user }) => levelAt(project.settings.levelCurve, user?.xp ?? 0),
  },
  balance: {
    name: "currency",
    operators: order,
    numbers,
    read: ({ now, project, user }, key) => balanceAt(user, project, key, now).amount,
    unknown: ({ currencies }, key) =>
      activeCurrency(currencies, key) === undefined
        ? "matches no active currency of this project"
        : undefined,
  },
  currency_level: {
    name: "currency",
    operators: order,
    numbers,
    read: ({ now, project, user }, key) => {
      const currency = activeCurrency(project.currencies, key)
      if (currency === undefined || !hasLevels(currency)) return 0
      return levelNumber(currency.levels, levelAmount(user, project, currency, now))
    },
    numberOf: ({ currencies }, key, level) => {
      const table = activeCurrency(currencies, key)?.levels?.table ?? []
      const number = table.findIndex((one) => one.key === level) + 1
      return number === 0 ? undefined : number
    },
    unknown: ({ currencies }, key) => {
      const currency = activeCurrency(currencies, key)
      if (currency === undefined) return "matches no active currency of this project"
      return currency.levels === null ? "matches a currency without levels" : undefined
    },
  },
  badge: {
    name: "badge",
    operators: ["exists"],
    read: ({ project, user }, key) =>
      user?.badges.get(idsByKey(project.badges).get(key) ?? "")?.[0]?.earnedAt,
    unknown: ({ badges }, key) => {
      const badge = definitionWithKey(badges, key)
      if (badge === undefined) return "matches no badge of this project"
      return badge.set === "archived" ? "matches an archived badge" : undefined
    },
  },
  streak: {
    name: "streak",
    operators: order,
    numbers,
    read: ({ now, project, user }, key) => {
      const streak = user?.streaks.get(key)
      const definition = definitionWithKey(project.streaks, key)
      if (streak === undefined || definition === undefined) return 0
      return streakNow(streak, definition, userZones(user, project), now).current
    },
    unknown: ({ streaks }, key) => {
      const streak = definitionWithKey(streaks, key)
      if (streak === undefined) return "matches no streak of this project"
      return streak.set === "archived" ? "matches an archived streak" : undefined
    },
  },
  metric: {
    name: "metric",
    operators: [...order, "exists"],
    numbers: { min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER },
    read: ({ project: { metrics }, user }, key) => {
      const metric = definitionWithKey(metrics, key)
      return (metric && metricNumber(metric, user?.metrics.get(metric.id))) ?? undefined
    },
    unknown: ({ metrics }, key) => {
      const metric = definitionWithKey(metrics, key)
      if (metric === undefined) return "matches no metric of this project"
      return metric.set === "archived" ? "matches an archived metric" : undefined
    },
  },
  // A team may be created and deleted at any time, so its id may refer to nothing.
  team: {
    name: "team",
    operators: ["eq", "ne", "in", "exists"],
    read: ({ project, user }, kind) => teamIn(user, project, kind)?.id,
  },
  account_age_days: {
    operators: order,
    numbers,
    read: ({ now, user }) => (user === undefined ? 0 : wholeDays(now - user.createdAt)),
  },
  inactive_days: {
    operators: [...order, "exists"],
    numbers,
    read: ({ now, user }) =>
      user === undefined || user.lastEventAt === 0 ? undefined : wholeDays(now - user.lastEventAt),
  },
  percent: {
    name: "salt",
    operators: ["lt", "gte"],
    numbers: { min: 0, max: 100 },
    read: ({ userId }, salt) => percentOf(salt, userId),
  },
  experiment: {
    name: "experiment",
    operators: ["eq", "ne", "in", "exists"],
    read: ({ exposed, project: { experiments }, user }, key) => {
      const id = idsByKey(experiments).get(key) ?? ""
      return exposed?.get(id) ?? user?.experiments.get(id)?.variant
    },
    unknown: ({ experiments }, key) => {
      const experiment = definitionWithKey(experiments, key)
      if (experiment === undefined) return "matches no experiment of this project"
      return experiment.set === "archived" ? "matches an archived experiment" : undefined
    },
    unknownValue: ({ experiments }, key, value) => {
      const { variants = [] } = definitionWithKey(experiments, key) ?? {}
      const unknown = [value].flat().find((one) => variants.every((other) => other.key !== one))
      return unknown === undefined || variants.length === 0
        ? undefined
        : `must be a variant of the experiment: ${variants.map((one) => one.key).join(", ")}`
    },
  },
}

const dayMs = 86_400_000

const wholeDays = (ms: number): number => Math.max(0, Math.floor(ms / dayMs))

/**
 * The place of a user in a percentage, from 0 to below 100: the hash of `<salt>:<user id>`, divided
 * by 2^32, times 100. It never changes. Two segments with one salt order the users alike; with
 * different salts, one says nothing about the other.
 */
export const percentOf = (salt: string, userId: string): number =>
  (murmur3(`${salt}:${userId}`) / 2 ** 32) * 100

/** What a condition compares, for people who look for the reason of an answer. */
export const comparedBy = (person: Person, condition: SegmentCondition): unknown => {
  const { read } = conditionKinds[condition.kind]
  return read(person, nameIn(condition))
}

const nameIn = (condition: SegmentCondition): string => {
  const { name } = conditionKinds[condition.kind]
  return (name && condition[name]) ?? ""
}

/** Whether the condition holds. */
export const holdsFor = (person: Person, condition: SegmentCondition): boolean => {
  const { numberOf } = conditionKinds[condition.kind]
  if (numberOf !== undefined && typeof condition.value === "string") {
    // An edit of the currency may give the level another number, or remove it.
    const value = numberOf(person.project, nameIn(condition), condition.value)
    return value !== undefined && holdsFor(person, { ...condition, value })
  }
  let test = tests.get(condition)
  if (test === undefined) {
    test = testOf({ ...condition, path: "" })
    tests.set(condition, test)
  }
  return test(comparedBy(person, condition))
}

const tests = new WeakMap<SegmentCondition, Test>()

export const isMember = (
  person: Person,
  { conditions, match }: Pick<Segment, "conditions" | "match">,
): boolean =>
  match === "all"
    ? conditions.every((condition) => holdsFor(person, condition))
    : conditions.some((condition) => holdsFor(person, condition))

/** The active segments that the person is in, in the order of their creation. */
export const segmentsOf = (person: Person): ReadonlyArray<Segment> =>
  [...person.project.segments.values()].filter(
    (segment) => segment.set === "published" && isMember(person, segment),
  )

/** The segments of one person, each evaluated when it is first asked for, and only once. */
export class Membership {
  readonly person: Person
  #answers: Map<string, boolean> | undefined
  /** How many conditions were evaluated at most. */
  conditions = 0

  constructor(person: Person) {
    this.person = person
  }

  /** Whether the person is in the segment with this key; null: everyone is. */
  has(key: string | null): boolean {
    if (key === null) return true
    this.#answers ??= new Map()
    let answer = this.#answers.get(key)
    if (answer === undefined) {
      const { segments } = this.person.project
      const segment = definitionWithKey(segments, key)
      // No definition refers to an archived segment, unless the definition is archived itself.
      answer =
        segment !== undefined && segment.set === "published" && isMember(this.person, segment)
      this.conditions += segment?.conditions.length ?? 0
      this.#answers.set(key, answer)
    }
    return answer
  }

  /** The keys of the segments that were asked for and hold; `undefined`: none. */
  get held(): ReadonlyArray<string> | undefined {
    if (this.#answers === undefined) return undefined
    const held: Array<string> = []
    for (const [key, answer] of this.#answers) if (answer) held.push(key)
    return held.length === 0 ? undefined : held
  }
}
