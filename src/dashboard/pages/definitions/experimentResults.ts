/** What an experiment brought, on its page: a sentence for each variant, and tables. */
import { Effect } from "effect"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { PlaceVisit } from "../../request/Route.ts"
import { countedLine } from "../../view/Counted.ts"
import { type Content, type Html, html, isolated } from "../../view/Html.ts"
import { table } from "../../view/Lists.ts"
import { count, score } from "../../view/Quantities.ts"

type Results = BodyOf<"experiments.results">
type Variants = NonNullable<Results["variants"]>
type Variant = Variants[number]

const points = new Intl.NumberFormat("en", { maximumFractionDigits: 2 })
const shares = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 2 })

/** How values of the results are written: shares in percent, their differences in points. */
const formsOf = ({ measure }: Pick<Results, "measure">) =>
  measure === "share"
    ? {
        value: (value: number) => shares.format(value),
        difference: (value: number) => points.format(100 * value),
        unit: " points",
      }
    : { value: score, difference: score, unit: "" }

const whatOf = ({ atLeast, metric, retention, since }: Results): Content => {
  if (retention !== null) return `active again on day ${retention.slice(1)} after they entered`
  const when = since === "exposure" ? "since they entered" : "ever"
  return atLeast === null
    ? html`${isolated(metric ?? "")} of a user, ${when}`
    : html`at least ${count(atLeast)} of ${isolated(metric ?? "")}, ${when}`
}

const sentence = (results: Results, [control]: Variants, variant: Variant): Html => {
  const forms = formsOf(results)
  const name = isolated(variant.key)
  const than = isolated(control!.key)
  if (variant.value === null || variant.difference === null) {
    const why =
      Math.min(variant.users, control!.users) < 2
        ? html`there are too few users to compare it with ${than}`
        : html`all its users have the same value, and so have those of ${than}, so there is no interval of the difference`
    return html`<li>${name}: ${why}.</li>`
  }
  const { excludesZero, value } = variant.difference
  const distance =
    value === 0
      ? html`as much as ${than}`
      : html`${forms.difference(Math.abs(value))}${forms.unit} ${value > 0 ? "higher" : "lower"} than ${than} with ${forms.value(control!.value!)}`
  const interval = html`The 95% interval of the difference, ${range(variant.difference, forms.difference)}${forms.unit},`
  return html`<li>${name} has ${forms.value(variant.value)}, ${distance}. ${interval} ${
    excludesZero
      ? "leaves out 0: chance alone rarely makes such a difference."
      : "includes 0: the users so far do not tell whether it does better or worse."
  }</li>`
}

const warningWords: Readonly<Record<Results["warnings"][number], string>> = {
  not_ended:
    "The experiment has not ended. Decide at the end that you planned: who looks again and again, and stops at the first difference, finds one by chance.",
  sample_ratio_mismatch:
    "The variants do not have as many users as their weights ask for, and chance does not explain it. Something hinders users of one variant from being counted: trust no difference until you know what.",
  weights_changed:
    "The weights were changed while users entered, so the variants have users of different times.",
  few_users: `A variant has fewer than ${limits.experimentUsersMin} users who count.`,
}

const range = (
  interval: { readonly low: number; readonly high: number } | null,
  form: (value: number) => string,
): string => (interval === null ? "" : `${form(interval.low)} to ${form(interval.high)}`)

/** Which of the users who entered the figures count. */
const countedWords = ({ measure, retention }: Results): string => {
  if (retention !== null) return `those for whom day ${retention.slice(1)} has ended.`
  return measure === "share" ? "all of them." : "those who have a value."
}

const resultsView = (results: Results): Html => {
  const { leftOut, measure, variants } = results
  const joined = results.retention !== null ? "" : measure === "share" ? "with " : "by "
  const title = html`<h3>Users ${joined}${whatOf(results)}</h3>`
  if (variants === null) return html`${title}<p class="hint">${countedLine(results)}</p>`
  const forms = formsOf(results)
  const rows = variants.map(({ difference, exposed, interval, key, users, value }) => [
    isolated(key),
    count(exposed),
    count(users),
    value === null ? "" : forms.value(value),
    range(interval, forms.value),
    difference === null ? "" : forms.difference(difference.value),
    range(difference, forms.difference),
  ])
  const heads = [
    "Variant",
    "Entered",
    "Counted",
    measure === "share" ? "Share" : "Mean",
    "95% interval",
    `Difference${forms.unit === "" ? "" : ", points"}`,
    "Its 95% interval",
  ]
  return html`${title}
<ul>${variants.slice(1).map((variant) => sentence(results, variants, variant))}</ul>
${table(`Results: ${results.retention ?? results.metric ?? ""}`, heads, rows)}
<p class="hint">Entered: users who got the variant. Counted: ${countedWords(results)} ${countedLine(results)}${leftOut !== null && leftOut > 0 && ` ${count(leftOut)} merged users had different variants, and are left out.`}</p>`
}

type Short = NonNullable<BodyOf<"experiments.get">["result"]>

/** The last result in a cell of the list: the difference of each variant to the control. */
export const shortWords = (result: Short | null): Content => {
  if (result === null) return ""
  const { atLeast, enoughUsers, measure, metric, retention, variants, warnings } = result
  const what = retention === null ? isolated(metric ?? "") : `Back on day ${retention.slice(1)}`
  if (variants === null) return html`${what}<br><span class="hint">being counted</span>`
  const forms = formsOf({ measure })
  const lines = variants.slice(1).map(({ difference, key }) => {
    if (difference === null) return html`<br>${isolated(key)}: no difference known`
    const { excludesZero, value } = difference
    const sign = value > 0 ? "+" : ""
    const interval = range(difference, forms.difference)
    return html`<br>${isolated(key)}: ${sign}${forms.difference(value)}${forms.unit} <span class="hint">(${interval}${excludesZero ? "" : ", includes 0"})</span>`
  })
  const share = measure === "share" && atLeast !== null && html` of at least ${count(atLeast)}`
  return html`${what}${share}${lines}${
    warnings.includes("sample_ratio_mismatch") &&
    html`<br><span class="hint">Sizes of the variants do not match their weights.</span>`
  }${enoughUsers === false && html`<br><span class="hint">Too few users: ${variants.map(({ users }) => count(users)).join(", ")} of ${limits.experimentUsersMin} each.</span>`}`
}

type Experiment = Pick<BodyOf<"experiments.get">, "id" | "key" | "metric" | "variants">

/** Links to the retention of each variant. */
const retentionLinks = (base: string, { key, variants }: Experiment): Content =>
  variants.map(
    (one, place) =>
      html`${place > 0 && ", "}<a href="${base}/retention?of=experiment:${key}:${one.key}">${isolated(one.key)}</a>`,
  )

/** The results of an experiment: of its metric, if it names one, and of retention. */
export const resultsSection = (
  visit: PlaceVisit,
  experiment: Experiment,
): Effect.Effect<Content, LaurelError> =>
  Effect.gen(function* () {
    const { id, metric } = experiment
    const ask = (query: Readonly<Record<string, string>>) =>
      visit.ask("experiments.results", { params: { id }, query })
    const asked = [
      ...(metric === null ? [] : [{ metric }]),
      { retention: "D1" },
      { retention: "D7" },
    ]
    // At once, so that they share a count.
    const all = yield* Effect.all(asked.map(ask), { concurrency: "unbounded" })
    const warnings = [...new Set(all.flatMap((results) => results.warnings))]
    return html`<section aria-labelledby="results-title"><h2 id="results-title">Results</h2>
${warnings.length > 0 && html`<ul class="warnings">${warnings.map((warning) => html`<li>${warningWords[warning]}</li>`)}</ul>`}
${all.map(resultsView)}
<p class="hint">Retention by the day on which users entered: ${retentionLinks(visit.base, experiment)}. Other metrics, days and tables: <code>GET /v1/experiments/:id/results</code>.</p></section>`
  })
