/** Decides the commands on leaderboards. `Boards.ts` scores on them. */
import { limits } from "../../Limits.ts"
import {
  type Board,
  boardDefaults,
  hasScores,
  isXpBoard,
  scoring,
  xpBoard,
} from "../project/BoardDefinition.ts"
import type { Definition, New, Status } from "../project/Definition.ts"
import { definitionWithKey } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { isRefilling } from "../user/Refill.ts"
import { type Fault, laurelError, quotaError } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import { noChange } from "./Decided.ts"
import { metadataFaults, rankedCurrencyFaults, segmentReferenceFaults } from "./definitionChecks.ts"
import { Decisions } from "./Kind.ts"
import { periodFaults } from "./Lifecycle.ts"

/** A merge patch of a leaderboard. */
export interface BoardChange
  extends Partial<
    Pick<
      Board,
      | "name"
      | "description"
      | "windows"
      | "order"
      | "ties"
      | "attributes"
      | "startsAt"
      | "endsAt"
      | "segment"
    >
  > {
  readonly score?: Partial<Board["score"]>
  readonly status?: Status
  readonly metadata?: Metadata | null
}

type Defaulted = "windows" | "order" | "ties" | "attributes"

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
  members: (given) => ({ ...boardDefaults, ...given }),
  changed: (before, { score, ...change }) => ({
    ...change,
    score: { ...before.score, ...score },
  }),
  faults: (state, board, { before }) => [
    ...(before === undefined ? [] : changedFaults(before, board)),
    ...boardFaults(state, board),
  ],
  isFixed: isXpBoard,
  inUse: (_, board) => (isXpBoard(board) ? xpInUse : undefined),
  tooMany: (state, board) => (isOneTooMany(state, board) ? tooManyOfCurrency : undefined),
})

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
  const { currency } = board.score
  const faults = [
    ...periodFaults(board),
    ...metadataFaults(board.metadata),
    ...segmentReferenceFaults(state, board.segment),
    ...rankedCurrencyFaults(state, currency),
  ]
  const scored = definitionWithKey(state.currencies, currency)
  if (scored !== undefined && isRefilling(scored)) {
    const detail = "must not have a refill, now or before: refilled amounts are not earned"
    faults.push({ pointer: "/score/currency", code: "not_allowed", detail })
  }
  return faults
}

const isLive = ({ set }: Pick<Definition, "set">): boolean => set !== "archived"

const isOneTooMany = ({ leaderboards }: ProjectState, board: Board): boolean => {
  const before = leaderboards.get(board.id)
  const isSame = before !== undefined && isLive(before)
  const { currency } = board.score
  if (!isLive(board) || isXpBoard(board)) return false
  if (isSame && before.score.currency === currency) return false
  let others = 0
  for (const one of leaderboards.values()) {
    if (isLive(one) && one.id !== xpBoard.id && one.score.currency === currency) others++
  }
  return others >= limits.boardsOfCurrencyMax
}

const tooManyOfCurrency = quotaError(limits.boardsOfCurrencyMax, "leaderboards of one currency")
