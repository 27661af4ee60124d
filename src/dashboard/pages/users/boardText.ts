/** What a history says of leaderboards. */
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { type Content, html, isolated } from "../../view/Html.ts"
import { count, isoTime } from "../../view/Quantities.ts"

type Fact = BodyOf<"users.history">["facts"][number]
type FactOf<Kind extends Fact["kind"]> = Extract<Fact, { readonly kind: Kind }>

/** A fact of a leaderboard in words. */
export const boardText = (
  fact: FactOf<"leaderboard.disqualified" | "leaderboard.prize_won" | "leaderboard.rank_changed">,
  base: string,
): Content => {
  const { id, key } = fact.leaderboard
  if (fact.kind === "leaderboard.disqualified") {
    return html`${fact.disqualified ? "Disqualified" : "Listed again"} on the leaderboard ${isolated(key)}`
  }
  if (fact.kind === "leaderboard.rank_changed") return rankText(fact, base)
  const { endsAt, rank, window } = fact
  const until = endsAt !== null && html` until ${isoTime(endsAt)}`
  return html`Prize for rank ${count(rank)} of <a href="${base}/leaderboards/${id}">${isolated(key)}</a>, ${window.replace("_", " ")}${until}`
}

const rankText = (fact: FactOf<"leaderboard.rank_changed">, base: string): Content => {
  const { leaderboard, previousRank, rank, window } = fact
  const from = previousRank === null ? "" : `${count(previousRank)} → `
  const to = rank === null ? "below the first places" : count(rank)
  return html`Rank ${from}${to} on <a href="${base}/leaderboards/${leaderboard.id}">${isolated(leaderboard.key)}</a>, ${window.replace("_", " ")}`
}
