/** The facts of leagues in words. */
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { type Content, html, isolated } from "../../view/Html.ts"
import { count, isoTime } from "../../view/Quantities.ts"

type Fact = BodyOf<"users.history">["facts"][number]
type LeagueFact = Extract<Fact, { readonly kind: `league.${string}` }>

export const isOfLeague = (fact: Fact): fact is LeagueFact => fact.kind.startsWith("league.")

export const leagueText = (fact: LeagueFact): Content => {
  const league = html`League ${isolated(fact.name)}`
  if (fact.kind === "league.joined") {
    return html`${league}: cohort ${count(fact.cohort)} of ${isolated(fact.division.name)} joined`
  }
  if (fact.kind === "league.disqualified") {
    return html`${league}: ${fact.disqualified ? "disqualified" : "ranked again"}`
  }
  const { of, rank } = fact
  const ranked = rank === null ? "" : `, rank ${count(rank)} of ${count(of)}`
  if (fact.kind === "league.closing") {
    const { division, endsAt, outcome } = fact
    return html`Reminder: league ${isolated(fact.name)} ends on ${isoTime(endsAt)}, ${isolated(division.name)}${ranked}, ${ahead[outcome]}`
  }
  const { rewards, to } = fact
  const rewarded = rewards.length > 0 && ", rewarded"
  return html`${league}: ${words[fact.kind]} ${isolated(to.name)}${ranked}${rewarded}`
}

const ahead = {
  promoted: "promotion ahead",
  stayed: "no change ahead",
  demoted: "demotion ahead",
} as const

const words = {
  "league.promoted": "promoted to",
  "league.stayed": "stays in",
  "league.demoted": "demoted to",
} as const
