/** Finds the board of a window that has closed, whether it is frozen in memory or stored. */
import { Effect } from "effect"
import type { Broken, Storage } from "../../storage/Storage.ts"
import type { BoardPlace } from "./BoardKeys.ts"
import { type BoardSource, boardInMemory } from "./BoardSource.ts"
import type { Boards } from "./Boards.ts"
import { openStoredBoard } from "./StoredBoard.ts"

/** `undefined`: the window is open, had no users, or its board is no longer kept. */
export const openClosedBoard = (
  storage: Storage["Service"],
  boards: Boards,
  place: BoardPlace,
): Effect.Effect<BoardSource | undefined, Broken> => {
  const windows = boards.of(place.board)?.windowsOf(place.kind)
  const stored = windows?.stored.get(place.index)
  if (stored !== undefined) return openStoredBoard(storage, place, stored)
  const frozen = windows?.frozen.find(({ index }) => index === place.index)
  return Effect.succeed(frozen && boardInMemory(frozen.board, frozen.gaps, frozen.gone))
}
