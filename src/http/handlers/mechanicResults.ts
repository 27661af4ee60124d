/** What each mechanic did, from the counts of users (`MechanicTally.ts`) and of days (`MechanicDays.ts`). */
import { Effect } from "effect"
import { isOfTeams, isXpBoard } from "../../domain/project/BoardDefinition.ts"
import { type Badge, type Quest, statusAt } from "../../domain/project/Definition.ts"
import { definitionOf } from "../../domain/project/DefinitionKey.ts"
import { type Goal, goalBounds } from "../../domain/project/Goal.ts"
import { type AnyDefinition, definitionsOf, nameOf } from "../../domain/project/Kinds.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import {
  type CameBack,
  isComparable,
  MechanicCount,
  type MechanicNoun,
  type MechanicTally,
  mechanicNouns,
  sinceOf,
} from "../../domain/user/MechanicTally.ts"
import { dateOf, zoneOf } from "../../domain/values/Calendar.ts"
import { laurelError } from "../../domain/values/Errors.ts"
import { isoTimeOrNull } from "../../domain/values/isoTime.ts"
import type { GoalTotals } from "../../engine/actor/GoalTotals.ts"
import { type MechanicDays, mechanicPlace } from "../../engine/actor/MechanicDays.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Counted } from "../../engine/read/CountOfAll.ts"
import { limits } from "../../Limits.ts"
import {
  type Mechanic,
  type MechanicList,
  type MechanicQuery,
  type MechanicsQuery,
  rareFrom,
} from "../api/Mechanics.ts"
import { waitOf } from "./ranges.ts"

type Row = (typeof MechanicList.Type)["mechanics"][number]
type Detail = typeof Mechanic.Type

/** What a request asks about: the definitions, and the counts. */
interface Asked {
  readonly project: ProjectState
  readonly now: number
  readonly count: Counted<MechanicTally>
  /** All users of the environment. */
  readonly allUsers: number
  readonly byDay: Pick<MechanicDays, "hasPlaceFor" | "on">
  readonly goals: Pick<GoalTotals, "durableTotals">
  readonly first: number
  readonly last: number
}

const askedOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  { days = limits.mechanicDaysDefault, format }: typeof MechanicQuery.Type,
) {
  const project = yield* engine.readProject(environment)
  const count = yield* engine.readMechanics(environment, waitOf(format))
  const byDay = yield* engine.readMechanicDays(environment)
  const now = engine.timeIn(environment)
  const last = zoneOf(project.settings.timezone).dayAt(now)
  const goals = engine.goalTotals(environment)
  const { users: allUsers } = count.result ?? (yield* engine.readCounts(environment))
  return {
    project,
    now,
    count,
    allUsers,
    byDay,
    goals,
    first: last - days + 1,
    last,
  } satisfies Asked
})

const countedOf = ({ allUsers, count: { countedAt, counting }, first, last }: Asked) => ({
  from: dateOf(first),
  to: dateOf(last),
  countedAt: isoTimeOrNull(countedAt),
  counting,
  allUsers,
})

const decimals = 10_000

const shareOf = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.round((decimals * part) / whole) / decimals

const rarityOf = (share: number): NonNullable<Row["rarity"]> => {
  if (share === 0) return "none"
  if (share >= rareFrom.common) return "common"
  if (share >= rareFrom.uncommon) return "uncommon"
  return share >= rareFrom.rare ? "rare" : "very_rare"
}

/** What a mechanic did on each day; `undefined`: its days are not counted. */
const daysOf = ({ byDay, first, last }: Asked, mechanic: AnyMechanic) => {
  const { definition, noun } = mechanic
  const place = mechanicPlace(noun, definition)
  if (noun === "leaderboard" && definition.prizes.length === 0) return undefined
  if (!byDay.hasPlaceFor(place)) return undefined
  return Array.from({ length: last - first + 1 }, (_, n) => ({
    date: dateOf(first + n),
    completions: byDay.on(place, first + n).times,
    xp: byDay.on(definition.id, first + n).xp,
  }))
}

/** Whether counts of users have the users whom the mechanic reached. */
const reaches = ({ count: { result } }: Asked, { definition, noun }: AnyMechanic): boolean =>
  noun === "leaderboard" && isOfTeams(definition)
    ? result?.knowsTeamsOn(definition.id) !== false
    : noun !== "boost"

/** Whether it is known who completed the mechanic. */
const completes = ({ definition, noun }: AnyMechanic): boolean =>
  noun === "goal"
    ? definition.recurrence === "none"
    : noun === "quest" || noun === "badge" || noun === "item"

type AnyMechanic = Extract<AnyDefinition, { readonly noun: MechanicNoun }>

const rowOf = (asked: Asked, mechanic: AnyMechanic): Row => {
  const { definition, noun } = mechanic
  const { result } = asked.count
  const found = result?.of(definition.id)
  const users = result !== null && reaches(asked, mechanic) ? (found?.users ?? 0) : null
  const share = users === null ? null : shareOf(users, asked.allUsers)
  const days = daysOf(asked, mechanic)
  const completions = days?.reduce((sum, day) => sum + day.completions, 0) ?? null
  return {
    kind: noun,
    id: definition.id,
    key: definition.key,
    name: nameOf(mechanic),
    status: statusAt(definition, asked.now),
    users,
    share,
    rarity: share === null ? null : rarityOf(share),
    completed: result !== null && completes(mechanic) ? (found?.completed ?? 0) : null,
    completions,
    perDay: completions === null ? null : Math.round((100 * completions) / days!.length) / 100,
    xp: noun === "boost" ? null : (days?.reduce((sum, { xp }) => sum + xp, 0) ?? null),
  }
}

/** The mechanics of a project that did something or may: no drafts, nothing archived. */
const mechanicsOf = (project: ProjectState, nouns: ReadonlyArray<MechanicNoun>) =>
  nouns.flatMap((noun) =>
    Array.from(
      definitionsOf(project, noun).values(),
      (definition) => ({ noun, definition }) as AnyMechanic,
    ).filter(({ definition: { set } }) => set === "published" || set === "paused"),
  )

const sorts: Readonly<
  Record<NonNullable<(typeof MechanicsQuery.Type)["sort"]>, (one: Row, other: Row) => number>
> = {
  users: (one, other) => (other.users ?? -1) - (one.users ?? -1),
  completions: (one, other) => (other.completions ?? -1) - (one.completions ?? -1),
  xp: (one, other) => (other.xp ?? -1) - (one.xp ?? -1),
  name: () => 0,
}

const byName = new Intl.Collator("en").compare

/** What each mechanic did. */
export const mechanicsListOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  query: typeof MechanicsQuery.Type,
) {
  const { kind, limit, sort = "users" } = query
  const asked = yield* askedOf(engine, environment, query)
  const nouns = kind === undefined ? mechanicNouns : [kind]
  const rows = mechanicsOf(asked.project, nouns).map((one) => rowOf(asked, one))
  rows.sort(
    (one, other) =>
      sorts[sort](one, other) ||
      mechanicNouns.indexOf(one.kind) - mechanicNouns.indexOf(other.kind) ||
      byName(one.name, other.name),
  )
  return {
    ...countedOf(asked),
    total: rows.length,
    mechanics: rows.slice(0, limit ?? limits.mechanicRowsDefault),
  } satisfies typeof MechanicList.Type
})

const returned = (rows: ReadonlyArray<CameBack>) =>
  rows.map((row) => ({ ...row, share: shareOf(row.users, row.of) }))

export const noCause =
  "This shows no cause: users who complete more may come back more for other reasons. An experiment shows causes."

/** One mechanic. */
export const mechanicOf = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  environment: string,
  noun: MechanicNoun,
  idOrKey: string,
  query: typeof MechanicQuery.Type,
) {
  const asked = yield* askedOf(engine, environment, query)
  const definition = definitionOf(definitionsOf(asked.project, noun), idOrKey)
  if (definition === undefined) {
    const detail = "No definition of this kind has this id or key."
    return yield* Effect.fail(laurelError("mechanic_not_found", detail))
  }
  return detailOf(asked, { noun, definition } as AnyMechanic)
})

const detailOf = (asked: Asked, mechanic: AnyMechanic): Detail => {
  const { definition, noun } = mechanic
  const days = daysOf(asked, mechanic)
  const isCompared =
    noun === "badge" || noun === "rule" || (noun === "quest" && isComparable(definition))
  return {
    ...rowOf(asked, mechanic),
    ...countedOf(asked),
    ...(asked.count.result === null
      ? uncounted
      : usersOf(asked, asked.count.result, mechanic, isCompared)),
    days: days ?? [],
    leftOut: leftOutOf(asked, mechanic, days !== undefined, isCompared),
  }
}

const uncounted = { parts: [], steps: [], funnel: [], timeToComplete: null, firstWeek: null }

/** The results from the states of users. */
const usersOf = (
  asked: Asked,
  tally: MechanicTally,
  mechanic: AnyMechanic,
  isCompared: boolean,
): Pick<Detail, keyof typeof uncounted> => {
  const { definition, noun } = mechanic
  const count = tally.of(definition.id) ?? new MechanicCount(sinceOf(definition))
  const { early, others } = tally.comparison(count)
  return {
    parts: partsOf(mechanic).map(({ key, name }) => {
      const users = count.parts.get(key) ?? 0
      return { key, name, users, share: shareOf(users, count.users) }
    }),
    ...(noun === "quest" ? stepsOf(definition, count) : { steps: [], funnel: [] }),
    timeToComplete: timesOf(noun === "goal" ? goalTimes(asked, definition) : count),
    firstWeek: isCompared
      ? {
          since: dateOf(count.since),
          reached: returned(early),
          others: returned(others),
          note: noCause,
        }
      : null,
  }
}

const partsOf = (mechanic: AnyMechanic): ReadonlyArray<Pick<Badge, "key" | "name">> => {
  switch (mechanic.noun) {
    case "badge":
      return mechanic.definition.tiers
    case "league":
      return mechanic.definition.divisions
    case "streak":
      return mechanic.definition.milestones.map(({ target }) => ({
        key: `${target}`,
        name: `${target} in a row`,
      }))
    default:
      return []
  }
}

const stepsOf = ({ steps }: Quest, count: MechanicCount): Pick<Detail, "steps" | "funnel"> => {
  let users = count.users
  const funnel = Array.from(
    { length: steps.length === 0 ? 0 : steps.length + 1 },
    (_, finished) => {
      if (finished > 0) users -= count.byFinished[finished - 1] ?? 0
      return { finished, users, share: shareOf(users, count.users) }
    },
  )
  return {
    funnel,
    steps: steps.map(({ key, target }) => {
      const finished = count.finished.get(key) ?? 0
      const begun = count.begun.get(key) ?? 0
      return { key, target, begun, finished, waiting: count.users - finished }
    }),
  }
}

const timesOf = (count: MechanicCount): Detail["timeToComplete"] =>
  count.timed === 0
    ? null
    : {
        users: count.timed,
        p10: count.percentile(0.1)!,
        p25: count.percentile(0.25)!,
        median: count.percentile(0.5)!,
        p75: count.percentile(0.75)!,
        p90: count.percentile(0.9)!,
      }

/** From the beginning of the goal, or of its latest period, to its completion: of everyone, or of each team. */
const goalTimes = ({ goals, project }: Asked, goal: Goal): MechanicCount => {
  const count = new MechanicCount(sinceOf(goal))
  const zone = zoneOf(project.settings.timezone)
  for (const { completedAt, period } of goals.durableTotals(goal.id).values()) {
    const { startsAt } = goalBounds(goal, zone, period)
    if (completedAt !== null) count.addTime(completedAt - Math.max(startsAt ?? 0, goal.createdAt))
  }
  return count
}

/** The figures that are not known, and why. */
const leftOutOf = (
  asked: Asked,
  mechanic: AnyMechanic,
  hasDays: boolean,
  isCompared: boolean,
): Detail["leftOut"] => {
  const { definition, noun } = mechanic
  const leftOut: Array<Detail["leftOut"][number]> = []
  const add = (figure: string, reason: string) => leftOut.push({ figure, reason })
  if (asked.count.result === null) add("users", "The users are being counted: read again soon.")
  if (!reaches(asked, mechanic)) {
    add(
      "users",
      noun === "boost"
        ? "The states of users do not have whom a boost reached."
        : "Only a leaderboard of teams that has the window all_time, and has not ended, tells whom it reached.",
    )
  }
  if (noun === "goal" && !completes(mechanic)) {
    add("completed", "A goal that recurs keeps only the latest contributions of a user.")
  }
  if (!hasDays) {
    const reason =
      noun === "leaderboard" && definition.prizes.length === 0
        ? "A leaderboard without prizes completes nothing."
        : `Only the first ${limits.mechanicsCountedMax} definitions that did something are counted by day.`
    add("completions", reason)
    if (noun !== "boost") add("xp", reason)
  }
  if (noun === "boost") add("xp", "A boost multiplies the xp that other definitions give.")
  if (noun !== "quest" && noun !== "badge" && noun !== "goal") {
    add("timeToComplete", "The states of users do not have when it began.")
  }
  if (!isCompared) add("firstWeek", notCompared(mechanic))
  return leftOut
}

const notCompared = ({ definition, noun }: AnyMechanic): string => {
  if (noun === "quest") return "A quest that recurs keeps only its latest completion."
  if (noun === "goal") return "Users reach a shared goal together."
  return noun === "leaderboard" && isXpBoard(definition)
    ? "Every user with xp is on this leaderboard."
    : "The states of users do not have when it reached them first."
}
