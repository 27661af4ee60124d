/** Keeps the shares of prizes that a user's state would lose (`user/TeamShares.ts`). */
import type { ProjectState } from "../project/Project.ts"
import { windowsAfter } from "../record/foldBoards.ts"
import type { Fact, FactOf } from "../record/Record.ts"
import {
  isPaying,
  isSameShare,
  listedTeams,
  payingShares,
  sharesOf,
  stillKept,
} from "../user/TeamShares.ts"
import { type KeptShare, noBoardScores, type TeamShare, type UserState } from "../user/User.ts"
import { timedWindows } from "../values/Calendar.ts"

type User = Pick<UserState, "boards" | "goals" | "teams">

/** The fact that keeps shares before the score; usually none. */
export const keptBefore = (
  user: User | undefined,
  project: ProjectState,
  fact: FactOf<"board.scored">,
): ReadonlyArray<Fact> => {
  const scores = user?.boards.get(fact.boardId)
  if (user === undefined || scores === undefined) return []
  const { kept = [], share } = scores
  const lost = share === undefined ? [] : lostBy(share, fact)
  if (lost.length === 0 && kept.length === 0) return []
  const after = stillKept(project, fact.boardId, [...kept, ...lost])
  return after.length === kept.length && after.every((one, at) => isSameShare(one, kept[at]!))
    ? []
    : [keptFact(user, fact.boardId, after)]
}

/** The shares whose places the score for the same team takes. */
const lostBy = (share: TeamShare, fact: FactOf<"board.scored">): ReadonlyArray<KeptShare> => {
  if (share.team !== fact.team?.number) return []
  const takesPlace = timedWindows.some((kind) => {
    const { index, indexBefore, sequenceBefore } = share.windows[kind]
    return sequenceBefore > 0 && ![undefined, index, indexBefore].includes(fact[kind])
  })
  if (!takesPlace) return []
  const after = sharesOf({ ...share, windows: windowsAfter(share.windows, fact, 1) })
  return sharesOf(share).filter((one) => !after.some((other) => isSameShare(one, other)))
}

/**
 * The facts that keep shares of closed windows when the user leaves the team with this number. They follow the
 * fact of leaving. Shares of open windows can win no prize any more.
 */
export const keptByLeaving = (
  user: User,
  project: ProjectState,
  number: number,
): ReadonlyArray<Fact> => {
  const facts: Array<Fact> = []
  const teams = new Map([...user.teams].filter(([, one]) => one.number !== number))
  for (const [boardId, { kept = [], share }] of user.boards) {
    const due = share?.team === number ? payingShares(user, project, boardId) : []
    if (due.length === 0 && !kept.some(({ team }) => team === number)) continue
    const own = kept.filter((one) => one.team !== number || isPaying(project, boardId, one))
    const after = stillKept(project, boardId, [...own, ...due])
    facts.push(keptFact({ ...user, teams }, boardId, after))
  }
  return facts
}

/** The facts that remove shares of closed windows from a user who joins the team again: it was not in it at the close. */
export const goneByJoining = (
  user: User | undefined,
  project: ProjectState,
  number: number,
): ReadonlyArray<Fact> => {
  const facts: Array<Fact> = []
  if (user === undefined || project.payouts.size === 0) return facts
  for (const [boardId, { kept = [], share }] of user.boards) {
    if (share?.team !== number) continue
    const gone = sharesOf(share).filter((one) => isPaying(project, boardId, one))
    if (gone.length > 0) facts.push({ ...keptFact(user, boardId, kept), gone })
  }
  return facts
}

/**
 * The fact that removes the shares of a window whose prize is paid. After a merge there may be shares of two
 * teams: a user wins once.
 */
export const withoutShares = (
  user: User,
  boardId: string,
  { index, window }: Omit<KeptShare, "team">,
): Fact => {
  const { kept = [], share } = user.boards.get(boardId)!
  const after = kept.filter((one) => one.window !== window || one.index !== index)
  const gone = share === undefined ? [] : [{ team: share.team, window, index }]
  return { ...keptFact(user, boardId, after), ...(gone.length > 0 && { gone }) }
}

const keptFact = (
  user: User,
  boardId: string,
  kept: ReadonlyArray<KeptShare>,
): FactOf<"board.shares_kept"> => {
  const before = user.boards.get(boardId) ?? noBoardScores
  const boards = new Map(user.boards).set(boardId, { ...before, kept })
  const released = listedTeams(user).difference(listedTeams({ ...user, boards }))
  return {
    kind: "board.shares_kept",
    boardId,
    kept,
    ...(released.size > 0 && { released: [...released] }),
  }
}
