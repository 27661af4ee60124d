import type { UserLeague } from "../generated/types.ts"
import type { Laurel } from "../Laurel.ts"
import { commonWords, LaurelElement, make, moment, named, number, type Words } from "./base.ts"

/**
 * `<laurel-league>`: the cohort of the user in the league with the key in the attribute `league`
 * (default: the first one), with what would come of the window if it closed now. The row of the user
 * is marked.
 */
export class LaurelLeague extends LaurelElement<UserLeague | undefined> {
  words: Words = {
    ...commonWords,
    league: "League",
    rank: "Rank",
    name: "Name",
    score: "Score",
    outcome: "Outcome",
    promoted: "▲ up",
    stayed: "stays",
    demoted: "▼ down",
    ends: "Until {time}",
  }

  protected async read({ leagues }: Laurel, signal: AbortSignal): Promise<UserLeague | undefined> {
    const { userId: user } = this
    const asked = this.getAttribute("league")
    const all = await this.orNothing(leagues.ofUser(user, { signal }))
    const key = asked ?? all?.leagues[0]?.league
    if (all === undefined || key === undefined) return undefined
    return leagues.oneOfUser(user, key, { signal })
  }

  protected draw(shown: UserLeague | undefined): ReadonlyArray<Node> {
    if (shown === undefined) return this.empty("league")
    const { words } = this
    const { closesAt, division, entries, name, userId } = shown
    const title = `${this.getAttribute("label") ?? name} · ${division.name}`
    const ends = words.ends!.replace("{time}", moment(closesAt))
    const time = named(make("p", ends), "quiet")
    if (entries.length === 0) {
      return [make("p", make("strong", make("bdi", title))), make("p", words.empty!), time]
    }
    const heads = [words.rank, words.name, words.outcome, words.score].map((text) => {
      const head = make("th", text!) as HTMLTableCellElement
      head.scope = "col"
      return head
    })
    const rows = entries.map((entry) => {
      const who = make("bdi", entry.displayName ?? entry.userId)
      const rank = entry.rank === null ? "" : number(entry.rank)
      const cells = [rank, who, words[entry.outcome]!, number(entry.score)]
      const row = make("tr", ...cells.map((cell) => make("td", cell)))
      if (entry.userId === userId) row.ariaCurrent = "true"
      return row
    })
    const caption = make("caption", make("bdi", title))
    const head = make("thead", make("tr", ...heads))
    return [named(make("table", caption, head, make("tbody", ...rows)), "board"), time]
  }
}
