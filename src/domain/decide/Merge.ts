/**
 * Merges a user into another: a visitor who signs up. Afterwards there is one user, `into`. The id
 * `from` is an alias: it leads to `into`, for writes and for reads.
 *
 * A merge changes two actors, which share no state and no transaction. It is three records:
 *
 * | record | of     | cause      | effect                                                             |
 * | ------ | ------ | ---------- | ------------------------------------------------------------------ |
 * | freeze | `from` | `merge`    | `from` changes no more; a read still shows it as it was            |
 * | absorb | `into` | `absorb`   | `into` has the balances, counts and badges of both (`United.ts`)   |
 * | end    | `from` | `mergeEnd` | only the id is left, and it leads to `into`; the caller is answered |
 *
 * The actor of `from` runs the merge (`engine/actor/Merges.ts`): it takes no other command between
 * the first record and the last, so commands to `from` wait in its mailbox. Then they go to `into`.
 *
 * Exactly once. All records of an environment are in one journal, in the order of their decisions,
 * and a crash cuts only its end. So what a crash leaves is one of these:
 *
 * - no record: nothing happened.
 * - the freeze: `from` is frozen and `into` lacks it. The next command to `from`, or the agenda soon
 *   after the start, goes on with the absorb.
 * - freeze and absorb: the same goes on; `into` finds the freeze in its list `absorbed` and refuses
 *   to take it in twice. Only the end is missing.
 * - all three: the merge is over.
 *
 * `into` may be erased between the first record and the second, or be unable to take `from` in. Then
 * the end says so: `from` is no longer frozen, and nothing has happened. If `into` was itself merged
 * meanwhile, the command to it goes on to where its id leads.
 *
 * No circles. A freeze is decided in one turn on the latest states of both users, durable or not:
 * only a user who leads nowhere can be merged, and only into a user who leads nowhere. So ids form
 * trees, and of two merges that cross one is refused. The record of the freeze comes after those
 * that it rests on, so a crash cannot undo these alone.
 *
 * History. The records of `from` stay in its own chain, which `absorbed` names: `into` reads both
 * chains as one, finds the ids of both, and can undo the events of both. The undo of an event is
 * decided on the state of `into`. Ids are looked up among the records of `into` first, so of equal
 * ids the record of `into` counts; what both earned before the merge stays.
 *
 * Erasure. The erasure of `into`, under any of its ids, begins with a record that says so
 * (`erasing`). Then the aliases are erased, each by a record of its own, and last `into`. It runs in
 * the actor of `into`, so no merge comes in between. After a crash in between, the next command to
 * `into` or the agenda goes on with it.
 *
 * What is paid. The merge gives what the combined numbers reach: badges, the steps of quests,
 * milestones, levels of currencies. Each pays once in the life of both. It scores in no window. Its record cannot be
 * undone, so an undo takes such badges back by their number, and keeps their payment.
 *
 * Cost: nothing for users who were never merged but a test of a member for a command. A command to
 * an alias takes one hop for each merge that its id went through. An id that is looked up and has no
 * record costs one test of the filter for each former id, at most `mergedUsersMax`.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { closeOf } from "../project/BoardClose.ts"
import { xpBoard } from "../project/BoardDefinition.ts"
import { withOwnBoost } from "../project/Boost.ts"
import { awardsOf, repetitionsOf } from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import { withMerged } from "../record/applyMerge.ts"
import type { Absorb, Merge, MergeEnd, UnitedParts } from "../record/MergeRecord.ts"
import type { Fact, FactOf } from "../record/Record.ts"
import {
  absorbedWith,
  type Pair,
  unitedBoards,
  unitedParts,
  unitedWindows,
} from "../record/United.ts"
import { unitedDays } from "../user/ActiveDays.ts"
import { criterionNumber } from "../user/Progress.ts"
import { listedTeams } from "../user/TeamShares.ts"
import { balanceOf, heldNames, isMidway, type UserState } from "../user/User.ts"
import { invalidRequest, type LaurelError, laurelError, refuse } from "../values/Errors.ts"
import { payAll } from "./Badges.ts"
import { type Decision, Draft } from "./Draft.ts"
import { unitedClaims } from "./GoalClaims.ts"
import { type GoalTotals, unitedContributors } from "./Goals.ts"
import { type LeagueSeats, seatsOf, unitedLeagues } from "./Leagues.ts"
import { LevelPayments } from "./Levels.ts"
import { completeUnited } from "./Quests.ts"
import { goneByJoining } from "./Shares.ts"
import { reachUnitedStreak } from "./Streaks.ts"

/** The latest state of a user of the environment, durable or not. */
export type Standing = (userId: string) => UserState | undefined

export type MergeRefusal =
  | "invalid_request"
  | "user_not_found"
  | "user_merged"
  | "quota_exceeded"
  | "balance_overflow"

/** Decides the freeze. */
export const decideMerge = (
  user: UserState | undefined,
  command: Merge,
  standing: Standing,
): Result.Result<Decision, LaurelError<MergeRefusal>> => {
  const { into: userId } = command
  if (user === undefined) return refuse("user_not_found", "The user does not exist.")
  if (user.leadsTo !== null) return Result.fail(mergedAlready(user.id, user.leadsTo.into))
  if (userId === user.id) return Result.fail(withItself)
  const into = standing(userId)
  if (into === undefined || into.erasing > 0) {
    return refuse("user_not_found", "into names no user of this environment.")
  }
  if (into.leadsTo !== null) return Result.fail(mergedAlready(into.id, into.leadsTo.into))
  if (into.absorbed.length + user.absorbed.length >= limits.mergedUsersMax) {
    const most = `At most ${limits.mergedUsersMax} users can be merged into one.`
    return refuse("quota_exceeded", most)
  }
  return Result.succeed({ cause: command, facts: [{ kind: "user.merging", into: userId }] })
}

const withItself = invalidRequest([
  { pointer: "/into", code: "invalid_value", detail: "must be another user" },
])

export const mergedAlready = (userId: string, into: string): LaurelError<"user_merged"> =>
  laurelError("user_merged", `The user ${userId} was merged into ${into}.`)

/** The refusal by a user who has taken in the frozen user before. */
export const absorbedAlready = "conflict"

/** Decides what the user who stays is afterwards. */
export const decideAbsorb = (
  user: UserState | undefined,
  project: ProjectState,
  { from: userId, frozen, kind, state: from }: Absorb,
  now: number,
  seats: LeagueSeats,
  goals: GoalTotals,
): Result.Result<Decision, LaurelError<"user_not_found" | "balance_overflow" | "conflict">> => {
  if (user === undefined) return refuse("user_not_found", "into names no user of this environment.")
  if (from === undefined || user.absorbed.some((one) => one.frozen === frozen)) {
    return refuse(absorbedAlready, "The user was taken in already.")
  }
  const pair: Pair = { into: user, from, project, now }
  const merged = mergedFact(pair, frozen, goals)
  const { gained: _, totals } = merged
  for (const [key, total] of Object.entries(totals)) {
    const spent = balanceOf(user, key).spent + balanceOf(from, key).spent
    if (total + spent > limits.balanceMax) {
      return refuse("balance_overflow", `${key} would exceed ${limits.balanceMax}.`)
    }
  }
  const after = withMerged(user, merged, user.sequence)
  const draft = new Draft(user.id, after, project, now)
  payUnited(draft, pair)
  draft.giveFreezes()
  const overflow = draft.overflow()
  if (overflow !== undefined) return Result.fail(overflow)
  const [before, level] = [draft.levelOf(user.xp), draft.levelOf(draft.xp)]
  const facts: Array<Fact> = [merged, ...draft.facts]
  for (const [, { number }] of merged.parts.teams ?? []) {
    const isNew = !user.teams.values().some((one) => one.number === number)
    if (isNew) facts.push(...goneByJoining(after, project, number))
  }
  if (from.goals.size > 0) facts.push(...unitedContributors(user, from, project))
  if (from.leagues.size > 0) facts.push(...unitedLeagues(user, from, project, seats, now))
  if (level !== before) facts.push({ kind: "level.changed", from: before, to: level })
  return Result.succeed({ cause: { kind, from: userId, frozen }, facts })
}

const mergedFact = (pair: Pair, frozen: number, goals: GoalTotals): FactOf<"user.merged"> => {
  const { from, into } = pair
  const parts = withClaims(pair, unitedParts(pair), goals)
  const totals: Record<string, number> = {}
  if (from.xp > 0) totals.xp = into.xp + from.xp
  if (from.points > 0) totals.points = into.points + from.points
  for (const [key, { amount }] of parts.balances ?? []) totals[key] = amount
  const gained = Object.entries(totals).map(([key, total]) => [
    key,
    total - balanceOf(into, key).amount,
  ])
  return {
    kind: "user.merged",
    from: from.id,
    gained: Object.fromEntries(gained),
    totals,
    pointsSpent: into.pointsSpent + from.pointsSpent,
    questsCompleted: into.questsCompleted + from.questsCompleted,
    lastEventAt: Math.max(into.lastEventAt, from.lastEventAt),
    windows: unitedWindows(
      into.windows,
      from.windows,
      closeOf(pair.project.boardCloses, xpBoard.id),
    ),
    ...(from.boards.size > 0 && { boards: unitedBoards(pair) }),
    parts,
    ...(from.boosts.length > 0 && { ownBoosts: from.boosts.reduce(withOwnBoost, into.boosts) }),
    absorbed: absorbedWith(from, frozen),
    ...(from.activity !== null && { activity: unitedDays(into.activity, from.activity) }),
    ...(from.remindedOn !== null && {
      remindedOn: Math.max(from.remindedOn, into.remindedOn ?? from.remindedOn),
    }),
    ...(from.unanswered.length > 0 && { unanswered: [...into.unanswered, ...from.unanswered] }),
    ...questChanges(into, parts.quests ?? []),
    badges: newNames(pair),
    ...teamsLeft(into, parts.teams ?? []),
  }
}

/** The parts with the claims of both to rewards of teams' goals. */
const withClaims = (pair: Pair, parts: UnitedParts, goals: GoalTotals): UnitedParts => {
  const teams = new Map([...pair.into.teams, ...(parts.teams ?? [])])
  const claimed = unitedClaims(pair, parts.goals ?? [], teams, goals)
  return claimed.length > 0 ? { ...parts, goals: claimed } : parts
}

/** The numbers of the deleted teams in whose places other teams come. */
const teamsLeft = (
  { teams }: UserState,
  after: NonNullable<ReturnType<typeof unitedParts>["teams"]>,
): Pick<FactOf<"user.merged">, "teamsLeft"> => {
  const left = after.flatMap(([kind, { number }]) => {
    const before = teams.get(kind)
    return before === undefined || before.number === number ? [] : [before.number]
  })
  return left.length > 0 ? { teamsLeft: left } : {}
}

/** The names of the badges and tiers that only the merged user had. */
const newNames = ({ from, into }: Pair): ReadonlyArray<string> => {
  const held = new Set(heldNames(into))
  return heldNames(from).filter((name) => !held.has(name))
}

/** What the counts of quests need. */
const questChanges = (
  { quests }: UserState,
  after: NonNullable<ReturnType<typeof unitedParts>["quests"]>,
): Pick<FactOf<"user.merged">, "entered" | "left" | "completed"> => {
  const idsOf = (changed: (typeof after)[number][]) => changed.map(([questId]) => questId)
  const wasMidway = (questId: string) => {
    const before = quests.get(questId)
    return before !== undefined && isMidway(before)
  }
  const wasCompleted = (questId: string) => (quests.get(questId)?.times ?? 0) > 0
  return {
    entered: idsOf(after.filter(([id, state]) => isMidway(state) && !wasMidway(id))),
    left: idsOf(after.filter(([id, state]) => !isMidway(state) && wasMidway(id))),
    completed: idsOf(after.filter(([id, { times }]) => times > 0 && !wasCompleted(id))),
  }
}

/** Gives what the two users reach together, and neither of them has reached alone. */
const payUnited = (draft: Draft, { from, into }: Pair): void => {
  const { project, user } = draft
  const after = user!
  for (const key of from.streaks.keys()) {
    reachUnitedStreak(draft, key, [into.streaks.get(key), from.streaks.get(key)])
  }
  completeUnited(draft, from.quests.keys())
  for (const badge of project.badges.values()) {
    const reached = criterionNumber(badge, after, project)
    if (reached === undefined) continue
    const parts = [into, from].map((one) => criterionNumber(badge, one, project)!)
    if (badge.repeatable) {
      const had = parts.reduce((sum, part) => sum + repetitionsOf(badge, part), 0)
      const times = repetitionsOf(badge, reached) - had
      if (times > 0) draft.reach(awardsOf(badge)[0], times)
      continue
    }
    const alone = Math.max(...parts)
    for (const one of awardsOf(badge)) {
      if (alone < one.target && one.target <= reached) draft.reach(one)
    }
  }
  payAll(draft, new LevelPayments(draft, [into, from]))
}

/** Decides the end of a merge. */
export const decideMergeEnd = (
  user: UserState | undefined,
  project: ProjectState,
  command: MergeEnd,
  seats: LeagueSeats,
): Result.Result<Decision, LaurelError<"conflict">> => {
  const { done, into } = command
  if (user?.leadsTo == null || user.leadsTo.done || user.leadsTo.into !== into) {
    return refuse("conflict", "The user is not frozen.")
  }
  const places = done ? seatsOf(user, project, seats) : []
  const fact: Fact = done
    ? {
        kind: "user.aliased",
        into,
        ...countedOf(user),
        ...(places.length > 0 && { seats: places }),
      }
    : { kind: "user.unmerged" }
  return Result.succeed({ cause: command, facts: [fact] })
}

/**
 * The quests that a user who is gone was in, and had completed, the badges and the teams, for the
 * counts and the lists of the environment.
 */
export const countedOf = (user: UserState) => {
  const inProgress: Array<string> = []
  const completed: Array<string> = []
  for (const [questId, state] of user.quests) {
    if (isMidway(state)) inProgress.push(questId)
    if (state.times > 0) completed.push(questId)
  }
  const teams = [...listedTeams(user)]
  return { inProgress, completed, badges: heldNames(user), ...(teams.length > 0 && { teams }) }
}

/** The user to whom an id leads, by the latest states; the id itself if it leads nowhere. */
export const leadingTo = (userId: string, standing: Standing): string => {
  let id = userId
  for (let next = standing(id); next !== undefined && next.leadsTo?.done === true; ) {
    id = next.leadsTo.into
    next = standing(id)
  }
  return id
}
