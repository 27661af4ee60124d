/**
 * When a leaderboard ends: its `endsAt`, which may move until then, and its early end. `CloseWindows.ts`
 * closes its windows.
 */
import { Result } from "effect"
import { type Board, hasScores, isOfPresent, isXpBoard } from "../project/BoardDefinition.ts"
import { nextVersion, statusAt } from "../project/Definition.ts"
import { definitionOf } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { type Fault, laurelError, refuse } from "../values/Errors.ts"
import type { Conditional, Decided } from "./Decided.ts"
import { definitionNotFound } from "./Kind.ts"
import { archivedCannotChange } from "./Lifecycle.ts"

/** Ends the leaderboard now. */
export interface CloseBoard extends Conditional {
  readonly kind: "closeLeaderboard"
  readonly leaderboardId: string
}

export const closingBoardVersion = (
  { leaderboards }: ProjectState,
  { leaderboardId }: CloseBoard,
): number | undefined => definitionOf(leaderboards, leaderboardId)?.version

/** The fact has the end: that of now, before the grace. The clock closes the windows, as at every end. */
export const closeBoard = (
  { leaderboards, metrics }: ProjectState,
  { leaderboardId }: CloseBoard,
  now: number,
): Decided<"leaderboard_not_found" | "invalid_transition"> => {
  const board = definitionOf(leaderboards, leaderboardId)
  if (board === undefined) return Result.fail(definitionNotFound("leaderboard"))
  if (board.set === "archived") return archivedCannotChange
  if (isXpBoard(board)) {
    return refuse("invalid_transition", "The leaderboard xp always exists: it cannot be closed.")
  }
  if (isOfPresent(metrics, board)) return Result.fail(neverCloses)
  const status = statusAt(board, now)
  if (status !== "active" && status !== "paused") {
    return refuse("invalid_transition", `The leaderboard is ${status}: it cannot be closed.`)
  }
  // The end is after the start.
  const endsAt = Math.max(now, (board.startsAt ?? 0) + 1)
  const leaderboard: Board = { ...board, endsAt, ...nextVersion(board, now) }
  return Result.succeed([{ kind: "leaderboard.updated", leaderboard }])
}

const neverCloses = laurelError(
  "invalid_transition",
  "The leaderboard shows the present lengths or values of all users: it cannot be closed.",
)

/** The faults of another end of a leaderboard that was published. `board` changes now. */
export const endFaults = (before: Board, board: Board): ReadonlyArray<Fault> => {
  const { endsAt, updatedAt: now } = board
  if (endsAt === before.endsAt || !hasScores(before)) return []
  if (before.endsAt !== null && now >= before.endsAt) {
    const detail = "cannot change, since the leaderboard has ended: its ranks are final"
    return [{ pointer: "/endsAt", code: "invalid_value", detail }]
  }
  if (endsAt === null || endsAt > now) return []
  const detail = "must be in the future: close the leaderboard to end it now"
  return [{ pointer: "/endsAt", code: "out_of_range", detail }]
}
