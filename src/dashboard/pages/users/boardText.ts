/** The facts of leaderboards in words, for the history of a user. */
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
  const board = html`<a href="${base}/leaderboards/${id}">${isolated(key)}</a>, ${fact.window.replace("_", " ")}`
  if (fact.kind === "leaderboard.rank_changed") {
    const { previousRank, rank } = fact
    const from = previousRank === null ? "" : `${count(previousRank)} → `
    const to = rank === null ? "below the first places" : count(rank)
    return html`Rank ${from}${to} on ${board}`
  }
  const until = fact.endsAt !== null && html` until ${isoTime(fact.endsAt)}`
  return html`Prize for rank ${count(fact.rank)} of ${board}${until}`
}
