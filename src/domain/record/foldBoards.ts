/** The scores of a user on leaderboards after a fact. `decide/Boards.ts` has the design. */
import {
  type BoardScores,
  type KeptShare,
  noBoardScores,
  noWindows,
  type TeamShare,
  type UserState,
  type WindowScores,
} from "../user/User.ts"
import { type TimedWindow, timedWindows } from "../values/Calendar.ts"
import { assertBalance } from "../values/invariants.ts"
import type { FactOf } from "./Record.ts"

type FactOfBoards = FactOf<"board.scored" | "board.shares_kept" | "leaderboard.disqualified">

export const foldBoards = (
  boards: Map<string, BoardScores>,
  fact: FactOfBoards,
  sequence: number,
): void => {
  switch (fact.kind) {
    case "board.scored":
      scoreOn(boards, fact, sequence)
      break
    case "board.shares_kept":
      keepShares(boards, fact)
      break
    case "leaderboard.disqualified":
      disqualify(boards, fact)
      break
  }
}

const scoreOn = (
  boards: Map<string, BoardScores>,
  fact: FactOf<"board.scored">,
  sequence: number,
): void => {
  const { amount, boardId, missed, team } = fact
  const before = boards.get(boardId) ?? noBoardScores
  if (missed === true) {
    assertBalance(`missed on ${boardId}`, before.missed + amount)
    boards.set(boardId, { ...before, missed: before.missed + amount })
    return
  }
  assertBalance(`score on ${boardId}`, before.counted + amount)
  boards.set(boardId, {
    ...before,
    counted: before.counted + amount,
    sequence,
    windows: windowsAfter(
      before.windows,
      amount > 0 ? fact : { ...fact, sequences: emptied(before, fact) },
      sequence,
    ),
    ...(team && { share: shareAfter(before.share, fact, team.number, sequence) }),
  })
}

/** What the user scored for the team that got its latest score. A score for another team begins anew. */
const shareAfter = (
  before: BoardScores["share"],
  fact: FactOf<"board.scored">,
  team: number,
  sequence: number,
): BoardScores["share"] => {
  if (fact.amount > 0) {
    const { total, windows } = before?.team === team ? before : { total: 0, windows: noWindows }
    return { team, total: total + fact.amount, windows: windowsAfter(windows, fact, sequence) }
  }
  if (before === undefined || before.team !== team) return before
  const windows = { ...before.windows }
  for (const kind of timedWindows) windows[kind] = debited(windows[kind], fact[kind], fact.amount)
  return { team, total: Math.max(0, before.total + fact.amount), windows }
}

/** An undo may take back more than there is: what the user scored before it scored for another team. */
const debited = (
  scores: WindowScores,
  window: number | undefined,
  amount: number,
): WindowScores => {
  if (window === undefined) return scores
  if (scores.sequence > 0 && window === scores.index) {
    const xp = scores.xp + amount
    return xp > 0 ? { ...scores, xp } : withoutLatest(scores)
  }
  if (scores.sequenceBefore > 0 && window === scores.indexBefore) {
    const xpBefore = scores.xpBefore + amount
    return xpBefore > 0 ? { ...scores, xpBefore } : withoutBefore(scores)
  }
  return scores
}

const keepShares = (
  boards: Map<string, BoardScores>,
  { boardId, gone = [], kept }: FactOf<"board.shares_kept">,
): void => {
  const { kept: _, share, ...scores } = boards.get(boardId) ?? noBoardScores
  const left = share && gone.reduce(withoutWindow, share)
  const own = { ...(left && { share: left }), ...(kept.length > 0 && { kept }) }
  boards.set(boardId, { ...scores, ...own })
}

const withoutWindow = (share: TeamShare, { index, team, window }: KeptShare): TeamShare => {
  if (team !== share.team) return share
  if (window === "all_time") return { ...share, total: 0 }
  const scores = share.windows[window]
  const isLatest = scores.sequence > 0 && scores.index === index
  if (!isLatest && !(scores.sequenceBefore > 0 && scores.indexBefore === index)) return share
  const left = isLatest ? withoutLatest(scores) : withoutBefore(scores)
  return { ...share, windows: { ...share.windows, [window]: left } }
}

const disqualify = (
  boards: Map<string, BoardScores>,
  { boardId, disqualified }: FactOf<"leaderboard.disqualified">,
): void => {
  const { disqualified: _, ...scores } = boards.get(boardId) ?? noBoardScores
  if (disqualified) boards.set(boardId, { ...scores, disqualified })
  else if (scores.sequence > 0 || scores.missed !== 0) boards.set(boardId, scores)
  else boards.delete(boardId)
}

/** Sequence 0 for each window whose score a revocation makes 0: the user leaves its board. */
const emptied = (
  { windows }: BoardScores,
  fact: FactOf<"board.scored">,
): NonNullable<Credit["sequences"]> => {
  const sequences: { [Kind in TimedWindow]?: number } = {}
  for (const kind of timedWindows) {
    const { index, indexBefore, sequenceBefore, xp, xpBefore } = windows[kind]
    if (fact[kind] === index && xp + fact.amount === 0) sequences[kind] = 0
    const isBefore = sequenceBefore > 0 && fact[kind] === indexBefore && indexBefore < index
    if (isBefore && xpBefore + fact.amount === 0) sequences[kind] = 0
  }
  return sequences
}

/** A fact that counts for windows. `sequences` as in `windows.credited`. */
type Credit = { readonly amount: number } & {
  readonly [Kind in TimedWindow]?: number
} & { readonly sequences?: { readonly [Kind in TimedWindow]?: number } }

export const windowsAfter = (
  windows: UserState["windows"],
  fact: Credit,
  sequence: number,
): UserState["windows"] => ({
  daily: credited(windows.daily, "daily", fact, sequence),
  weekly: credited(windows.weekly, "weekly", fact, sequence),
  monthly: credited(windows.monthly, "monthly", fact, sequence),
  days: credited(windows.days, "days", fact, sequence),
})

const credited = (
  scores: WindowScores,
  kind: TimedWindow,
  fact: Credit,
  sequenceNow: number,
): WindowScores => {
  const index = fact[kind]
  if (index === undefined) return scores
  const { amount } = fact
  const sequence = fact.sequences?.[kind] ?? sequenceNow
  if (scores.sequence > 0 && index < scores.index) {
    return creditedBefore(scores, index, amount, sequence)
  }
  if (sequence === 0) return withoutLatest(scores)
  const same = index === scores.index
  return {
    index,
    xp: same ? scores.xp + amount : amount,
    sequence,
    indexBefore: same ? scores.indexBefore : scores.index,
    xpBefore: same ? scores.xpBefore : scores.xp,
    sequenceBefore: same ? scores.sequenceBefore : scores.sequence,
  }
}

/** A late event or its undo counts for the window before the latest one. An older one is closed. */
const creditedBefore = (
  scores: WindowScores,
  indexBefore: number,
  amount: number,
  sequenceBefore: number,
): WindowScores => {
  if (sequenceBefore === 0) return withoutBefore(scores)
  const same = scores.sequenceBefore > 0 && scores.indexBefore === indexBefore
  const xpBefore = same ? scores.xpBefore + amount : amount
  return { ...scores, indexBefore, xpBefore, sequenceBefore }
}

const withoutBefore = (scores: WindowScores): WindowScores => ({
  ...scores,
  indexBefore: 0,
  xpBefore: 0,
  sequenceBefore: 0,
})

/** The scores without the latest window, which has no xp left. */
const withoutLatest = ({ indexBefore, sequenceBefore, xpBefore }: WindowScores): WindowScores => ({
  index: indexBefore,
  xp: xpBefore,
  sequence: sequenceBefore,
  indexBefore: 0,
  xpBefore: 0,
  sequenceBefore: 0,
})
