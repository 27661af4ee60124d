/**
 * Decides which users are paid a team's prize: each user who scored for the team in the window, was in the
 * team when the window closed, and scored for no other team in between.
 *
 * A state has the scores of the user for its latest team in two windows of a kind (`TeamShare`). A payment
 * may be late: a payer that fails, a server that was down. So a share that the state would lose is kept
 * (`KeptShare`) as long as its prize may come:
 * - a score needs the place of a window whose prizes are under way, or which has not closed yet,
 * - the user leaves the team while prizes of a closed window are under way,
 * - the user is merged into another one.
 *
 * A payment takes the share away. So no share is paid twice, in whatever user it ends up. A user who joins a
 * team again loses the shares of windows that closed while it was away.
 *
 * A state keeps at most `boardSharesKeptMax` shares on a board. The next decision that touches the shares drops those
 * whose prizes cannot come any more.
 */
import { limits } from "../../Limits.ts"
import { closeOf } from "../project/BoardClose.ts"
import { payoutId } from "../project/Payout.ts"
import type { ProjectState } from "../project/Project.ts"
import { timedWindows } from "../values/Calendar.ts"
import type { BoardScores, KeptShare, TeamShare, UserState } from "./User.ts"

type Project = Pick<ProjectState, "boardCloses" | "leaderboards" | "payouts">

export const isSameShare = (one: KeptShare, other: KeptShare): boolean =>
  one.team === other.team && one.window === other.window && one.index === other.index

/** The windows in which the user has scored for the team. */
export const sharesOf = ({ team, total, windows }: TeamShare): ReadonlyArray<KeptShare> => {
  const shares: Array<KeptShare> = []
  for (const window of timedWindows) {
    const { index, indexBefore, sequence, sequenceBefore, xp, xpBefore } = windows[window]
    if (sequenceBefore > 0 && xpBefore > 0) shares.push({ team, window, index: indexBefore })
    if (sequence > 0 && xp > 0) shares.push({ team, window, index })
  }
  if (total > 0) shares.push({ team, window: "all_time", index: 0 })
  return shares
}

/** Whether prizes of the window are under way. */
export const isPaying = (
  { payouts }: Pick<Project, "payouts">,
  boardId: string,
  { index, window }: KeptShare,
): boolean => payouts.size > 0 && payouts.has(payoutId({ boardId, index, window }))

/** Whether the prize of the share may still come. */
const mayBePaid = (project: Project, boardId: string, share: KeptShare): boolean => {
  if (isPaying(project, boardId, share)) return true
  const { index, window } = share
  const prizes = project.leaderboards.get(boardId)?.prizes ?? []
  if (window === "all_time" || !prizes.some((prize) => prize.window === window)) return false
  const closes = closeOf(project.boardCloses, boardId)
  return !closes.over && index > closes[window]
}

/** The shares of closed windows whose prizes are under way, of a user who is in the team. */
export const payingShares = (
  { boards, teams }: Pick<UserState, "boards" | "teams">,
  project: Project,
  boardId: string,
): ReadonlyArray<KeptShare> => {
  const share = boards.get(boardId)?.share
  if (share === undefined || project.payouts.size === 0) return []
  if (!teams.values().some(({ number }) => number === share.team)) return []
  return sharesOf(share).filter((one) => isPaying(project, boardId, one))
}

/** These shares, each once, without those whose prizes cannot come any more. */
export const stillKept = (
  project: Project,
  boardId: string,
  shares: ReadonlyArray<KeptShare>,
): ReadonlyArray<KeptShare> =>
  shares
    .filter((share, at) => shares.findIndex((one) => isSameShare(one, share)) === at)
    .filter((share) => mayBePaid(project, boardId, share))
    .slice(-limits.boardSharesKeptMax)

/** Where the state has the user's share of the team's score in the window; `undefined`: it has none. */
export const shareIn = (
  { kept = [], share }: BoardScores,
  place: KeptShare,
): "kept" | "latest" | undefined => {
  if (kept.some((one) => isSameShare(one, place))) return "kept"
  if (share?.team !== place.team) return undefined
  return sharesOf(share).some((one) => isSameShare(one, place)) ? "latest" : undefined
}

/**
 * The numbers of the teams whose lists have the user: its teams, and those it has kept shares or parts of
 * goals of (`GoalPart.ts`).
 */
export const listedTeams = ({
  boards,
  goals,
  teams,
}: Pick<UserState, "boards" | "goals" | "teams">): ReadonlySet<number> => {
  const numbers = new Set<number>()
  for (const { number } of teams.values()) numbers.add(number)
  for (const { kept } of boards.values()) for (const { team } of kept ?? []) numbers.add(team)
  for (const parts of goals.values()) {
    for (const { claim, team } of parts) if (claim === "kept") numbers.add(team)
  }
  return numbers
}
