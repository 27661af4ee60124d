import type { LeaderboardPage } from "../generated/types.ts"
import type { Laurel } from "../Laurel.ts"
import { LaurelElement, make, number } from "./LaurelElement.ts"

/** `<laurel-leaderboard>`: `window`, `limit`, and `user`, whose row is marked and in the middle. */
export class LaurelLeaderboard extends LaurelElement<LeaderboardPage> {
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
    const title = this.getAttribute("label") ?? words.leaderboard!
    if (rows.length === 0) return [make("p", make("strong", title)), make("p", words.empty!)]
    const caption = make("caption", title)
    return [make("table", caption, make("thead", make("tr", ...heads)), make("tbody", ...rows))]
  }
}
