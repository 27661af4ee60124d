/** The facts of shared goals in words. */
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { type Content, html, isolated } from "../../view/Html.ts"
import { count, isoTime } from "../../view/Quantities.ts"

type Fact = BodyOf<"users.history">["facts"][number]
type GoalFact = Extract<Fact, { readonly kind: `goal.${string}` }>

export const isOfGoal = (fact: Fact): fact is GoalFact => fact.kind.startsWith("goal.")

export const goalText = (fact: GoalFact, base: string): Content => {
  const link = html`<a href="${base}/goals/${fact.goalId}">${isolated(fact.name)}</a>`
  const period = fact.period && html` (from ${isoTime(fact.period.startsAt)})`
  const goal = html`Goal ${link}${period ?? ""}`
  switch (fact.kind) {
    case "goal.contributed": {
      const total = fact.contribution === null ? "" : ` (${fact.contribution})`
      return html`${goal}: ${fact.amount < 0 ? "−" : "+"}${Math.abs(fact.amount)}${total}`
    }
    case "goal.progressed":
      return html`${goal}: ${count(fact.percent)}% reached`
    case "goal.completed":
      return html`${goal}: complete`
    case "goal.rewarded":
      return html`${goal}: reward`
  }
}
