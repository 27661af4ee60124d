/** Decides the commands on leaderboards. `Boards.ts` scores on them. */
import { limits } from "../../Limits.ts"
import {
  type Board,
  boardDefaults,
  defaultWindows,
  hasScores,
  hasWindow,
  isByUsers,
  isOfPresent,
  isOfTeams,
  isXpBoard,
  rankedBy,
  ranksBy,
  scoring,
  xpBoard,
} from "../project/BoardDefinition.ts"
import type { Definition, New, Status } from "../project/Definition.ts"
import { definitionWithKey } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { isRefilling } from "../user/Refill.ts"
import { type Fault, laurelError, quotaError } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import { endFaults } from "./BoardEnd.ts"
import { noChange } from "./Decided.ts"
import {
  givenReferenceFaults,
  type Known,
  metadataFaults,
  rankedFaults,
  segmentReferenceFaults,
} from "./definitionChecks.ts"
import { Decisions } from "./Kind.ts"
import { periodFaults } from "./Lifecycle.ts"

/** A merge patch of a leaderboard. */
export interface BoardChange
  extends Partial<
    Pick<
      Board,
      | "name"
      | "description"
      | "score"
      | "entrants"
      | "teamKind"
      | "timeZone"
      | "order"
      | "ties"
      | "attributes"
      | "groupBy"
      | "prizes"
      | "keepWindows"
      | "graceMinutes"
      | "announceRanks"
      | "startsAt"
      | "endsAt"
      | "segment"
    >
  > {
  /** Null: those of a board that says nothing of them. */
  readonly windows?: Board["windows"] | null
  readonly status?: Status
  readonly metadata?: Metadata | null
}

type Defaulted =
  | "entrants"
  | "teamKind"
  | "windows"
  | "timeZone"
  | "order"
  | "ties"
  | "attributes"
  | "groupBy"
  | "prizes"
  | "keepWindows"
  | "graceMinutes"
  | "announceRanks"

/** A board without the members that have defaults. */
type NewBoard = Partial<Pick<Board, Defaulted>> & Omit<New<Board>, Defaulted>

export const boards = new Decisions<
  "leaderboard",
  NewBoard,
  BoardChange,
  "in_use",
  "quota_exceeded"
>({
  noun: "leaderboard",
  max: limits.boardsMax,
  nameOf: ({ name }) => name,
  members: (given) => ({ ...boardDefaults, windows: defaultWindows(given.score), ...given }),
  changed: ({ score }, { windows, ...change }) => ({
    ...change,
    ...(windows !== undefined && { windows: windows ?? defaultWindows(change.score ?? score) }),
  }),
  faults: (state, board, { before, known }) => [
    ...(before === undefined ? [] : [...changedFaults(before, board), ...endFaults(before, board)]),
    ...boardFaults(state, board),
    ...prizeFaults(state, board, known),
  ],
  isFixed: isXpBoard,
  inUse: (_, board) => (isXpBoard(board) ? xpInUse : undefined),
  unfit: ({ metrics }, board) =>
    board.set === "paused" && isOfPresent(metrics, board) ? neverPaused : undefined,
  tooMany: (state, board) => (isOneTooMany(state, board) ? tooManyOfOne : undefined),
})

const neverPaused = laurelError(
  "invalid_transition",
  "The leaderboard shows the present lengths or values of all users: it cannot be paused.",
)

const xpInUse = laurelError("in_use", "The leaderboard xp always exists: its status cannot change.")

/** The faults of members that no longer change once the board was published. */
const changedFaults = (before: Board, board: Board): ReadonlyArray<Fault> => {
  const fixed: ReadonlyArray<keyof Board> = isXpBoard(before)
    ? [...scoring, "endsAt"]
    : hasScores(before)
      ? scoring
      : []
  return fixed.flatMap((name) =>
    noChange({ [name]: before[name] }, { [name]: board[name] })
      ? []
      : [
          {
            pointer: `/${name}`,
            code: "invalid_value",
            detail: isXpBoard(before)
              ? "cannot change for the leaderboard xp"
              : "cannot change, since the scores follow from it: use another key",
          },
        ],
  )
}

const boardFaults = (state: ProjectState, board: Board): ReadonlyArray<Fault> => {
  const { score } = board
  const faults = [
    ...periodFaults(board),
    ...metadataFaults(board.metadata),
    ...segmentReferenceFaults(state, board.segment),
    ...rankedFaults(state, score),
  ]
  if (isOfPresent(state.metrics, board)) faults.push(...presentFaults(board))
  faults.push(...entrantFaults(state, board), ...zoneFaults(board))
  const scored =
    "currency" in score ? definitionWithKey(state.currencies, score.currency) : undefined
  if (scored !== undefined && isRefilling(scored)) {
    const detail = "must not have a refill, now or before: refilled amounts are not earned"
    faults.push({ pointer: "/score/currency", code: "not_allowed", detail })
  }
  return faults
}

/** The kind of the teams is there if the board ranks teams, and scores add up. */
const entrantFaults = ({ metrics }: ProjectState, board: Board): ReadonlyArray<Fault> => {
  const { entrants, teamKind } = board
  if (!isOfTeams(board)) {
    const detail = "must be left out unless entrants is teams"
    return teamKind === null ? [] : [{ pointer: "/teamKind", code: "not_allowed", detail }]
  }
  const faults: Array<Fault> = []
  if (board.groupBy !== null) {
    const detail = "must be left out: it groups users, and the leaderboard ranks teams"
    faults.push({ pointer: "/groupBy", code: "not_allowed", detail })
  }
  if (board.announceRanks !== null) {
    const detail =
      "must be left out: it tells users of their ranks, and the leaderboard ranks teams"
    faults.push({ pointer: "/announceRanks", code: "not_allowed", detail })
  }
  if (teamKind === null) {
    faults.push({ pointer: "/teamKind", code: "missing", detail: `is required for ${entrants}` })
  }
  if (isOfPresent(metrics, board)) {
    const detail = "must be a currency, or a metric that counts or sums: scores of members add up"
    faults.push({ pointer: "/score", code: "not_allowed", detail })
  }
  return faults
}

const zoneFaults = (board: Board): ReadonlyArray<Fault> => {
  if (!isByUsers(board)) return []
  const faults: Array<Fault> = []
  if (isOfTeams(board)) {
    const detail = "must be project on a leaderboard of teams"
    faults.push({ pointer: "/timeZone", code: "not_allowed", detail })
  }
  if (hasWindow(board, "daily")) {
    const detail = "must not have daily with timeZone user: name weekly, monthly or days"
    faults.push({ pointer: "/windows", code: "not_allowed", detail })
  }
  return faults
}

/** A board of present values has no scores of its own, so nothing limits what counts. */
const presentFaults = ({
  endsAt,
  graceMinutes,
  prizes,
  score,
  segment,
  set,
  startsAt,
  ties,
  windows,
}: Board): ReadonlyArray<Fault> => {
  const refused = [
    ["/windows", windows.some((window) => window !== "all_time"), "must be all_time only"],
    ["/segment", segment !== null, "must be left out"],
    ["/startsAt", startsAt !== null, "must be left out"],
    ["/endsAt", endsAt !== null, "must be left out"],
    ["/status", set === "paused", "must not be paused"],
    // It never closes.
    ["/graceMinutes", graceMinutes > 0, "must be left out"],
    ["/prizes", prizes.length > 0, "must be left out"],
    // No record says when a user reached the value of a metric.
    ["/ties", ties === "first" && "metric" in score, "must be shared"],
  ] as const
  const why = "the leaderboard shows the present lengths or values of all users"
  return refused.flatMap(([pointer, is, detail]) =>
    is ? [{ pointer, code: "not_allowed", detail: `${detail}: ${why}` }] : [],
  )
}

/** The faults of the prizes. */
const prizeFaults = (
  state: ProjectState,
  board: Board,
  known: Known | undefined,
): ReadonlyArray<Fault> =>
  board.prizes.flatMap(({ ranks, reward, window }, index) => {
    const pointer = `/prizes/${index}`
    const isKnown = (name: string) => known?.has(name) === true
    const faults = [...givenReferenceFaults(state, reward, `${pointer}/reward`, isKnown)]
    if (isXpBoard(board) && window === "all_time") {
      const detail = "must not be all_time: the leaderboard xp never ends"
      faults.push({ pointer: `${pointer}/window`, code: "not_allowed", detail })
    }
    if (!hasWindow(board, window)) {
      const detail = "must be one of the leaderboard's windows"
      faults.push({ pointer: `${pointer}/window`, code: "invalid_value", detail })
    }
    if (ranks !== undefined && ranks[0] > ranks[1]) {
      const detail = "must be at least the first rank"
      faults.push({ pointer: `${pointer}/ranks/1`, code: "out_of_range", detail })
    }
    return faults
  })

const isLive = ({ set }: Pick<Definition, "set">): boolean => set !== "archived"

const isOneTooMany = ({ leaderboards }: ProjectState, board: Board): boolean => {
  const before = leaderboards.get(board.id)
  const isSame = before !== undefined && isLive(before)
  const [kind, key] = rankedBy(board.score)
  if (!isLive(board) || isXpBoard(board)) return false
  if (isSame && ranksBy(before, kind, key)) return false
  let others = 0
  for (const one of leaderboards.values()) {
    if (isLive(one) && one.id !== xpBoard.id && ranksBy(one, kind, key)) others++
  }
  return others >= limits.boardsOfCurrencyMax
}

const tooManyOfOne = quotaError(
  limits.boardsOfCurrencyMax,
  "leaderboards of one currency, metric or streak",
)
