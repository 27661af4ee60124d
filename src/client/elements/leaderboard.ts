import type { Laurel } from "../Laurel.ts"
import { commonWords, LaurelElement, make, named, number, type Words } from "./base.ts"

interface Row {
  readonly userId: string
  readonly displayName: string | null
  readonly rank: number
  readonly score: number
  /** Of the board of xp. */
  readonly level?: number
}

/**
 * `<laurel-leaderboard>`: the board with the key in the attribute `board` (default: that of xp), in the
 * window `window`, with `limit` rows. If `user` is set, the row of this user is marked and in the
 * middle. With `group` it shows the users of this group, with their ranks there, on a board with `groupBy`. With `teams` it shows the teams of a board that ranks teams, and marks that of `team`. `friends`, ids with commas between them, shows these users alone, ranked among themselves;
 * it needs `board`.
 */
export class LaurelLeaderboard extends LaurelElement<ReadonlyArray<Row>> {
  words: Words = {
    ...commonWords,
    leaderboard: "Leaderboard",
    rank: "Rank",
    name: "Name",
    level: "Level",
    xp: "XP",
    score: "Score",
  }

  protected async read(
    { leaderboard, leaderboards }: Laurel,
    signal: AbortSignal,
  ): Promise<ReadonlyArray<Row>> {
    const given = (names: Readonly<Record<string, string>>) =>
      Object.fromEntries(
        Object.entries(names).map(([name, attribute]) => [
          name,
          this.getAttribute(attribute) ?? undefined,
        ]),
      )
    const around = this.hasAttribute("teams") ? "team" : "user"
    const query = given({ window: "window", around, limit: "limit" })
    const [board, friends] = [this.getAttribute("board"), this.getAttribute("friends")]
    if (board === null) {
      const { entries } = await leaderboard.get(query, { signal })
      return entries.map(({ xp, ...entry }) => ({ ...entry, score: xp }))
    }
    if (this.hasAttribute("teams")) {
      const { entries } = await leaderboards.teams(board, query, { signal })
      return entries.map(({ team, ...entry }) => ({
        ...entry,
        userId: team.id,
        displayName: team.name,
      }))
    }
    if (friends === null) {
      const group = this.getAttribute("group") ?? undefined
      const asked = group === undefined ? query : { ...query, group }
      const { entries } = await leaderboards.entries(board, asked, { signal })
      if (group === undefined) return entries
      return entries.map((entry) => ({ ...entry, rank: entry.groupRank ?? entry.rank }))
    }
    const ids = friends.split(",").map((id) => id.trim())
    const body = { ...given({ window: "window" }), users: ids }
    const { users } = await leaderboards.lookup(board, body, { signal })
    return users.flatMap(({ entry, rankAmong, userId }) =>
      entry === null ? [] : [{ ...entry, userId, rank: rankAmong! }],
    )
  }

  protected draw(entries: ReadonlyArray<Row>): ReadonlyArray<Node> {
    const { words } = this
    if (entries.length === 0) return this.empty("leaderboard")
    const isOfXp = !this.hasAttribute("board")
    const titles = isOfXp
      ? [words.rank, words.name, words.level, words.xp]
      : [words.rank, words.name, words.score]
    const heads = titles.map((text, place) => {
      const head = make("th", text!) as HTMLTableCellElement
      head.scope = "col"
      return place === 1 ? head : named(head, "number")
    })
    const own = this.hasAttribute("teams") ? "team" : "user"
    const rows = entries.map(({ displayName, level, rank, score, userId }) => {
      const name = make("bdi", displayName ?? userId)
      const cells = [number(rank), name, ...(isOfXp ? [number(level!)] : []), number(score)]
      const row = make(
        "tr",
        ...cells.map((cell, place) => named(make("td", cell), place === 1 ? "" : "number")),
      )
      if (userId === this.getAttribute(own)) row.ariaCurrent = "true"
      return row
    })
    const caption = make("caption", this.heading("leaderboard"))
    const head = make("thead", make("tr", ...heads))
    return [named(make("table", caption, head, make("tbody", ...rows)), "board")]
  }
}
