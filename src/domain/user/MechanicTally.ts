/**
 * What each mechanic did, added up user by user from their states: whom it reached, how often it was
 * completed, how long that took, where people stop, and who came back.
 *
 * - What was undone is in no state, so it is in no number. A merged user counts as the one who stays.
 * - The time to completion of a quest is that from its start to its completion, in the latest period
 *   in which the user is; that of a badge from the creation of the user to the first award, unless the award is older: of a
 *   merged user, or of imported history. Imported events date both (`record/EventDay.ts`). Times are
 *   rounded down by less than 1 % (`roundedSeconds`), so that a percentile needs no list of them.
 * - A rule reached a user if it rewarded an event that stands. Its first day moves with an undo only if no
 *   such event is left (`RuleReach`).
 * - Retention compares the users who had completed a quest, earned a badge, or been rewarded by a rule, by
 *   the end of their first week, which is their first active day and the 6 days after it, with those who had not. Users
 *   count who began on the day of UTC on which the definition began, or later, at most
 *   `analyticsDaysMax` days ago, and for whom the day has ended in every time zone.
 * - A leaderboard of teams reached the members of the teams that have a score on it, a shared goal those whose
 *   contribution stands.
 *
 * Cost: a step for each mechanic that a user has; memory for each mechanic, and for each of its rounded
 * times.
 */
import { limits } from "../../Limits.ts"
import {
  type Board,
  isOfPresent,
  isOfTeams,
  isWhole,
  isXpBoard,
  metricOf,
} from "../project/BoardDefinition.ts"
import type { Definition, Quest } from "../project/Definition.ts"
import { definitionWithKey } from "../project/DefinitionKey.ts"
import type { Noun } from "../project/Kinds.ts"
import type { ProjectState } from "../project/Project.ts"
import { type ActiveDays, isActiveOn } from "./ActiveDays.ts"
import { latestWindowOf } from "./LeagueState.ts"
import { metricTotal } from "./MetricState.ts"
import { userDayAt } from "./StreakPeriods.ts"
import { teamIn } from "./TeamMembership.ts"
import { earnedOf, stepCountOf, type UserState, userZones } from "./User.ts"

/** The kinds of definitions that do something for users, in the order of the list. */
export const mechanicNouns = [
  "rule",
  "quest",
  "badge",
  "streak",
  "leaderboard",
  "league",
  "boost",
  "item",
  "goal",
] as const satisfies ReadonlyArray<Noun>
export type MechanicNoun = (typeof mechanicNouns)[number]

/** The days after the first one on which it is asked who came back. */
export const comparedDays = [7, 14, 30, 60, 90] as const
const weekDays = 7
const dayMs = 86_400_000
const slots = 2 * comparedDays.length

/** Seconds without their low bits: 8 bits are left, so the result is less than 1 % lower. */
export const roundedSeconds = (ms: number): number => {
  const seconds = Math.floor(ms / 1_000)
  const step = 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, seconds))) - 7)
  return Math.floor(seconds / step) * step
}

/** How many users there are on a day, and how many of them were active on it. */
export interface CameBack {
  readonly day: number
  readonly of: number
  readonly users: number
}

/** What a mechanic did. */
export class MechanicCount {
  /** The users whom it reached; those who completed it; completions of all of them. */
  users = 0
  completed = 0
  times = 0
  /** Users by tier, milestone or division, by its key. */
  readonly parts = new Map<string, number>()
  /** Users by step of a quest: who began the step, and who finished it. */
  readonly begun = new Map<string, number>()
  readonly finished = new Map<string, number>()
  /** Users by the number of the steps that they finished. */
  readonly byFinished: Array<number> = []
  readonly #seconds = new Map<number, number>()
  #timed = 0
  /** The first day on which a user may have begun to be compared. */
  readonly since: number
  /** Users who reached it in their first week and count for the day, and those who were active on it. */
  readonly early = new Int32Array(slots)

  constructor(since: number) {
    this.since = since
  }

  /** How many times to completion there are. */
  get timed(): number {
    return this.#timed
  }

  addTime(ms: number): void {
    if (ms < 0) return
    const seconds = roundedSeconds(ms)
    this.#timed++
    plus(this.#seconds, seconds)
  }

  /** The least time that this share of all times does not exceed; `undefined`: there are none. */
  percentile(share: number): number | undefined {
    let left = Math.max(1, Math.ceil(share * this.#timed))
    for (const seconds of [...this.#seconds.keys()].sort((one, other) => one - other)) {
      left -= this.#seconds.get(seconds)!
      if (left <= 0) return seconds
    }
    return undefined
  }
}

const plus = (counts: Map<string, number> | Map<number, number>, key: string | number): void => {
  const all = counts as Map<string | number, number>
  all.set(key, (all.get(key) ?? 0) + 1)
}

/** The active days of a user who is compared. */
interface Compared {
  readonly activity: ActiveDays
  /** The places of `comparedDays` that have ended. */
  readonly ended: number
}

/** By the id of a leaderboard of teams with scores of all time: whether a team has a score on it. */
export type TeamBoards = ReadonlyMap<string, (teamId: string) => boolean>

/** The last day of the first week has this many days after the first. */
const weekEnd = weekDays - 1

export class MechanicTally {
  /** All users, without the former ids of merged ones. */
  users = 0
  readonly #counts = new Map<string, MechanicCount>()
  readonly #lastWhole: number
  readonly #earliest: number
  readonly #teamBoards: TeamBoards
  /** By first active day: the users who count for each day, and those who were active on it. */
  readonly #all = new Map<number, Int32Array>()

  /** `lastWhole`: the last day that has ended in every time zone. */
  constructor(lastWhole: number, teamBoards: TeamBoards = new Map()) {
    this.#lastWhole = lastWhole
    this.#teamBoards = teamBoards
    this.#earliest = lastWhole - limits.analyticsDaysMax
  }

  /** What the definition did; `undefined`: nothing. */
  of(id: string): MechanicCount | undefined {
    return this.#counts.get(id)
  }

  add(user: UserState, project: ProjectState): void {
    this.users++
    const compared = this.#comparedOf(user)
    this.#addQuests(user, project, compared)
    this.#addBadges(user, project, compared)
    for (const [id, { firstDay, times }] of user.rulesReached) {
      const rule = project.rules.get(id)
      if (rule === undefined) continue
      const count = this.#of(rule)
      count.users++
      count.times += times
      this.#compareDay(count, compared, firstDay)
    }
    for (const [key, { best }] of user.streaks) {
      const streak = definitionWithKey(project.streaks, key)
      if (streak === undefined || best === 0) continue
      const count = this.#of(streak)
      count.users++
      for (const { target } of streak.milestones) {
        if (best >= target) plus(count.parts, `${target}`)
      }
    }
    for (const board of project.leaderboards.values()) {
      const isReached = isOfTeams(board)
        ? this.#isInTeamOn(user, project, board)
        : hasScored(user, project, board)
      if (isReached) this.#of(board).users++
    }
    this.#addGoals(user, project)
    for (const [id, league] of user.leagues) {
      const definition = project.leagues.get(id)
      if (definition === undefined || latestWindowOf(league) < 0) continue
      const count = this.#of(definition)
      count.users++
      const division = definition.divisions[league.division]
      if (division !== undefined) plus(count.parts, division.key)
    }
    for (const [id, { times }] of user.purchases) {
      const item = project.items.get(id)
      if (item === undefined || times === 0) continue
      const count = this.#of(item)
      count.users++
      count.completed++
      count.times += times
    }
  }

  /** Whether the scores of the teams of a leaderboard are known. */
  knowsTeamsOn(boardId: string): boolean {
    return this.#teamBoards.has(boardId)
  }

  #isInTeamOn(user: UserState, project: ProjectState, { id, teamKind }: Board): boolean {
    const team = teamKind === null ? undefined : teamIn(user, project, teamKind)
    return team !== undefined && this.#teamBoards.get(id)?.(team.id) === true
  }

  #addGoals(user: UserState, project: ProjectState): void {
    for (const [id, parts] of user.goals) {
      const goal = project.goals.get(id)
      if (goal === undefined || parts.every(({ amount }) => amount === 0)) continue
      const count = this.#of(goal)
      count.users++
      if (parts.some(({ paid }) => paid)) count.completed++
    }
  }

  #addQuests(user: UserState, project: ProjectState, compared: Compared | undefined): void {
    for (const [id, state] of user.quests) {
      const quest = project.quests.get(id)
      const { completedAt, startedAt, times } = state
      if (quest === undefined || (startedAt === null && times === 0)) continue
      const count = this.#of(quest)
      count.users++
      count.times += times
      if (times > 0) count.completed++
      let finished = 0
      for (const { key, target } of quest.steps) {
        const has = stepCountOf(state.steps, key)
        if (has > 0 || completedAt !== null) plus(count.begun, key)
        if (has < target && completedAt === null) continue
        finished++
        plus(count.finished, key)
      }
      count.byFinished[finished] = (count.byFinished[finished] ?? 0) + 1
      if (completedAt === null) continue
      if (startedAt !== null) count.addTime(completedAt - startedAt)
      if (isComparable(quest)) this.#compare(count, compared, user, project, completedAt)
    }
  }

  #addBadges(user: UserState, project: ProjectState, compared: Compared | undefined): void {
    for (const [id, awards] of user.badges) {
      const badge = project.badges.get(id)
      if (badge === undefined) continue
      const count = this.#of(badge)
      count.users++
      count.completed++
      let first = Number.POSITIVE_INFINITY
      for (const { earnedAt, tier, times = 1 } of awards) {
        count.times += times
        if (tier !== "") plus(count.parts, tier)
        first = Math.min(first, earnedAt)
      }
      count.addTime(first - user.createdAt)
      this.#compare(count, compared, user, project, first)
    }
  }

  /** Who came back of those who reached it in their first week, and of those who did not. */
  comparison({ early, since }: MechanicCount): {
    readonly early: ReadonlyArray<CameBack>
    readonly others: ReadonlyArray<CameBack>
  } {
    const others = new Int32Array(slots)
    for (const [day, counts] of this.#all) {
      if (day < since) continue
      for (let slot = 0; slot < slots; slot++) others[slot]! += counts[slot]!
    }
    for (let slot = 0; slot < slots; slot++) others[slot]! -= early[slot]!
    return { early: shown(early), others: shown(others) }
  }

  #of(definition: Definition): MechanicCount {
    const known = this.#counts.get(definition.id)
    if (known !== undefined) return known
    const count = new MechanicCount(sinceOf(definition))
    this.#counts.set(definition.id, count)
    return count
  }

  /** A user who began at most `analyticsDaysMax` days ago; counts the user among all. */
  #comparedOf({ activity }: UserState): Compared | undefined {
    if (activity === null || activity.firstDay < this.#earliest) return undefined
    const { firstDay } = activity
    let ended = 0
    while (ended < comparedDays.length && firstDay + comparedDays[ended]! <= this.#lastWhole) {
      ended++
    }
    if (ended === 0) return undefined
    let all = this.#all.get(firstDay)
    if (all === undefined) {
      all = new Int32Array(slots)
      this.#all.set(firstDay, all)
    }
    const compared = { activity, ended }
    countDays(all, compared)
    return compared
  }

  #compare(
    count: MechanicCount,
    compared: Compared | undefined,
    user: UserState,
    project: ProjectState,
    at: number,
  ): void {
    if (compared === undefined || compared.activity.firstDay < count.since) return
    this.#compareDay(count, compared, userDayAt(userZones(user, project), at))
  }

  #compareDay(count: MechanicCount, compared: Compared | undefined, day: number): void {
    if (compared === undefined || compared.activity.firstDay < count.since) return
    if (day <= compared.activity.firstDay + weekEnd) countDays(count.early, compared)
  }
}

const countDays = (counts: Int32Array, { activity, ended }: Compared): void => {
  for (let place = 0; place < ended; place++) {
    counts[2 * place]!++
    if (isActiveOn(activity, activity.firstDay + comparedDays[place]!)) counts[2 * place + 1]!++
  }
}

const shown = (counts: Int32Array): ReadonlyArray<CameBack> =>
  comparedDays.map((day, place) => ({
    day,
    of: counts[2 * place]!,
    users: counts[2 * place + 1]!,
  }))

/** Whether the state tells when the user completed the quest first. */
export const isComparable = ({ recurrence }: Pick<Quest, "recurrence">): boolean =>
  recurrence === "none"

/** The day of UTC on which a definition began. */
export const sinceOf = (definition: Definition & Pick<Partial<Quest>, "publishedAt">): number =>
  Math.floor((definition.startsAt ?? definition.publishedAt ?? definition.createdAt) / dayMs)

/** Whether the user has a score of all time on the board. */
const hasScored = (user: UserState, project: ProjectState, board: Board): boolean => {
  if (isXpBoard(board)) return user.xp > 0
  const { score } = board
  if ("streak" in score) return (user.streaks.get(score.streak)?.best ?? 0) > 0
  const metric = metricOf(project.metrics, board)
  const state = metric && user.metrics.get(metric.id)
  if (isOfPresent(project.metrics, board)) return state !== undefined
  const { counted, missed } = user.boards.get(board.id) ?? { counted: 0, missed: 0 }
  if (!isWhole(board)) return counted !== 0
  const earned = "currency" in score ? earnedOf(user, score.currency) : (metricTotal(state) ?? 0)
  return earned - missed !== 0
}
