/** The leaderboard against git's own count. */

import type { Standing } from "./Client.ts"
import { commitXp } from "./CommitEvent.ts"

/** One line for each author whose commits the leaderboard counts differently; none when all agree. */
export const differences = (
  expected: ReadonlyMap<string, number>,
  standings: ReadonlyArray<Standing>,
): ReadonlyArray<string> => {
  const found = new Map(standings.map(({ userId, xp }) => [userId, xp / commitXp]))
  const lines: Array<string> = []
  for (const author of new Set([...expected.keys(), ...found.keys()])) {
    const [byGit, byBoard] = [expected.get(author) ?? 0, found.get(author) ?? 0]
    if (byGit !== byBoard) {
      lines.push(
        `${JSON.stringify(author)}: ${byGit} commits in git, ${byBoard} on the leaderboard`,
      )
    }
  }
  return lines
}
