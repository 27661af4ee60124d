/** Keeps the claims of users to rewards of teams' goals while they are owed (`user/GoalPart.ts`). */
import { foldGoal, isOfPart } from "../record/foldGoal.ts"
import type { UnitedParts } from "../record/MergeRecord.ts"
import type { Fact, FactOf } from "../record/Record.ts"
import {
  type GoalPart,
  type GoalParts,
  type GoalPlace,
  hasClaim,
  isPartOf,
  withClaim,
} from "../user/GoalPart.ts"
import { listedTeams } from "../user/TeamShares.ts"
import { noBoardScores, type UserState } from "../user/User.ts"

/** The part of `GoalTotals` that claims need. */
interface Owed {
  readonly isOwed: (place: GoalPlace) => boolean
}

type User = Pick<UserState, "boards" | "goals" | "teams">
type ClaimFact = FactOf<"goal.claim_changed">

const factOf = (
  goalId: string,
  { period, team }: GoalPart,
  claim: ClaimFact["claim"],
): ClaimFact => ({ kind: "goal.claim_changed", goalId, period, team, claim })

/** The user's parts for the team with this number. */
const partsFor = (user: User | undefined, number: number) =>
  [...(user?.goals ?? [])].flatMap(([goalId, parts]) =>
    parts.filter(({ team }) => team === number).map((part) => [goalId, part] as const),
  )

/** The facts that keep claims when the user leaves the team. They follow the fact of leaving. */
export const claimsAfterLeaving = (
  user: User | undefined,
  goals: Owed,
  number: number,
): ReadonlyArray<Fact> =>
  partsFor(user, number).flatMap(([goalId, part]) => {
    const isOwed = goals.isOwed({ goalId, ...part })
    const claim = isOwed && hasClaim(user!, part) ? "kept" : null
    // The fact of leaving took the user off the list of the team.
    return claim === "kept" || part.claim !== undefined ? [factOf(goalId, part, claim)] : []
  })

/** The facts by which a user who joins the team has no claim to what it completed before. */
export const claimsAfterJoining = (
  user: User | undefined,
  goals: Owed,
  number: number,
): ReadonlyArray<Fact> =>
  partsFor(user, number).flatMap(([goalId, part]) =>
    part.claim === undefined && goals.isOwed({ goalId, ...part })
      ? [factOf(goalId, part, "missed")]
      : [],
  )

/** The facts that end kept claims of parts that are dropped. `facts`: those of the record so far. */
export const claimsDropped = (
  user: User | undefined,
  goalId: string,
  dropped: ReadonlyArray<GoalPart>,
  facts: ReadonlyArray<Fact>,
): ReadonlyArray<Fact> => {
  const kept = dropped.filter(({ claim }) => claim === "kept")
  if (user === undefined || kept.length === 0) return []
  const after = listsAfter(user, facts)
  return kept.map((part) => {
    const fact = factOf(goalId, part, null)
    foldGoal(after.goals, fact, 0)
    return listedTeams(after).has(part.team) ? fact : { ...fact, released: true }
  })
}

/** What decides on which lists the user is, after the facts. */
const listsAfter = (user: User, facts: ReadonlyArray<Fact>) => {
  const boards = new Map(user.boards)
  const goals = new Map(user.goals)
  for (const fact of facts) {
    if (fact.kind === "board.shares_kept") {
      const { boardId, kept } = fact
      boards.set(boardId, { ...(boards.get(boardId) ?? noBoardScores), kept })
    } else if (isOfPart(fact)) foldGoal(goals, fact, 0)
  }
  return { boards, goals, teams: user.teams }
}

/**
 * The united parts of two users, with their claims: what is due to one of them is due to who stays.
 * `teams`: those of who stays afterwards.
 */
export const unitedClaims = (
  { from, into }: { readonly from: UserState; readonly into: UserState },
  united: NonNullable<UnitedParts["goals"]>,
  teams: UserState["teams"],
  goals: Owed,
): NonNullable<UnitedParts["goals"]> => {
  const own = [...into.goals].filter(([goalId]) => !from.goals.has(goalId))
  const claimed = ([goalId, parts]: readonly [string, GoalParts]) =>
    [
      goalId,
      parts.map((part) => withUnitedClaim({ from, into }, goalId, part, teams, goals)),
    ] as const
  const changed = own
    .map(claimed)
    .filter(([goalId, parts]) =>
      parts.some(({ claim }, at) => claim !== into.goals.get(goalId)![at]!.claim),
    )
  return [...united.map(claimed), ...changed]
}

const withUnitedClaim = (
  pair: { readonly from: UserState; readonly into: UserState },
  goalId: string,
  part: GoalPart,
  teams: UserState["teams"],
  goals: Owed,
): GoalPart => {
  const before = [pair.into, pair.from].flatMap((user) =>
    (user.goals.get(goalId) ?? [])
      .filter((one) => isPartOf(one, part))
      .map((one) => ({ claim: one.claim, isDue: hasClaim(user, one) })),
  )
  const wasKept = before.some(({ claim }) => claim === "kept")
  if (!goals.isOwed({ goalId, ...part })) return withClaim(part, wasKept ? "kept" : null)
  const isDue = before.some((one) => one.isDue)
  const isMember = hasClaim({ teams }, withClaim(part, null))
  if (isDue) return withClaim(part, isMember && !wasKept ? null : "kept")
  return withClaim(part, isMember ? "missed" : null)
}
