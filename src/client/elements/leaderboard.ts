import type { LeaderboardPage } from "../generated/types.ts"
import type { Laurel } from "../Laurel.ts"
import { commonWords, LaurelElement, make, named, number, type Words } from "./base.ts"

/**
 * `<laurel-leaderboard>`: the board of the attribute `window` with `limit` rows. If `user` is set,
 * the row of this user is marked and in the middle.
 */
export class LaurelLeaderboard extends LaurelElement<LeaderboardPage> {
  words: Words = {
    ...commonWords,
    leaderboard: "Leaderboard",
    rank: "Rank",
    name: "Name",
    level: "Level",
    xp: "XP",
  }

  protected read({ leaderboard }: Laurel, signal: AbortSignal): Promise<LeaderboardPage> {
    const query = { window: "window", around: "user", limit: "limit" }
    const given = Object.entries(query).map(([name, attribute]) => [
      name,
      this.getAttribute(attribute) ?? undefined,
    ])
    return leaderboard.get(Object.fromEntries(given), { signal })
  }

  protected draw({ entries }: LeaderboardPage): ReadonlyArray<Node> {
    const { words } = this
    if (entries.length === 0) return this.empty("leaderboard")
    const heads = [words.rank, words.name, words.level, words.xp].map((text) => {
      const head = make("th", text!) as HTMLTableCellElement
      head.scope = "col"
      return head
    })
    const rows = entries.map(({ displayName, level, rank, userId, xp }) => {
      const name = make("bdi", displayName ?? userId)
      const cells = [number(rank), name, number(level), number(xp)]
      const row = make("tr", ...cells.map((cell) => make("td", cell)))
      if (userId === this.getAttribute("user")) row.ariaCurrent = "true"
      return row
    })
    const caption = make("caption", this.heading("leaderboard"))
    const head = make("thead", make("tr", ...heads))
    return [named(make("table", caption, head, make("tbody", ...rows)), "board")]
  }
}
