/** The metrics of an environment: numbers that each user has, made from events. */
import { Effect } from "effect"
import { hasValue, type MetricAggregate, metricAggregates } from "../../../domain/project/Metric.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { PlaceVisit, Route } from "../../request/Route.ts"
import type { Draft } from "../../view/Editing.ts"
import {
  confirmButton,
  type Form,
  jsonField,
  jsonOf,
  metadataPathsList,
  numberField,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { table } from "../../view/Lists.ts"
import { pathWarning } from "../../view/Paths.ts"
import { backfillSection, latestOf } from "./backfills.ts"
import { conditionFields, conditionNames, conditionsOf, conditionWords } from "./conditions.ts"
import { actionRoute, eventTrial, withoutNulls } from "./editor.ts"
import { kindRoutes } from "./kindPages.ts"
import { descriptionField, keyField, metadataOf, sharedPatch } from "./lifecycle.ts"

type Metric = BodyOf<"metrics.get">

const labels: Readonly<Record<MetricAggregate, string>> = {
  count: "the number of events",
  sum: "the sum of a number in the metadata",
  max: "the largest number in the metadata",
  min: "the smallest number in the metadata",
  last: "the latest number in the metadata",
  distinct_days: "the number of days with an event",
}

/** What the metric counts, in words. */
const words = ({ actions, aggregate, decimals, value, where }: Metric): Content => [
  labels[aggregate],
  value !== null && html` (<code>${value}</code>, ${decimals} decimals)`,
  html` of <code>${actions.join(", ")}</code>`,
  where.length > 0 && ` where ${conditionWords(where)}`,
]

const textsOf = (metric: Metric) =>
  new Map([
    ["name", metric.name],
    ["description", metric.description ?? ""],
    ["unit", metric.unit ?? ""],
    ["metadata", metadataOf(metric.metadata)],
  ])

const aggregateOf = (form: Form): MetricAggregate =>
  metricAggregates.find((one) => one === form.text("aggregate")) ?? "count"

const membersOf = (form: Form) => ({
  name: form.text("name"),
  description: form.text("description") || null,
  unit: form.text("unit") || null,
})

const actionsOf = (form: Form): ReadonlyArray<string> =>
  form
    .text("actions")
    .split(/[\s,]+/)
    .filter((action) => action !== "")

const draftOf = (form: Form) => {
  const aggregate = aggregateOf(form)
  const counted = hasValue(aggregate) && {
    value: form.text("value") || null,
    decimals: form.number("decimals") ?? null,
  }
  return {
    ...withoutNulls({
      ...membersOf(form),
      ...counted,
      key: form.optional("key") ?? null,
      aggregate,
      actions: actionsOf(form),
      where: conditionsOf(form, "where"),
    }),
    metadata: jsonOf(form.text("metadata")),
  }
}

const patchOf = (form: Form, { metadata }: Metric) => ({
  ...membersOf(form),
  metadata: sharedPatch(form, { metadata }).metadata,
})

const countedFields = (draft: Draft): Content => {
  const { address, faults, form } = draft
  const aggregate = aggregateOf(form)
  const actions = form.words("actions")
  return [
    html`<div class="row fields">${selectField({
      name: "aggregate",
      label: "Value",
      value: aggregate,
      options: metricAggregates.map((one) => [one, labels[one]]),
      faults,
    })}<button formaction="${address}" name="intent" value="kind" formnovalidate>Show its fields</button></div>`,
    textField({
      name: "actions",
      label: "Actions",
      value: form.text("actions"),
      hint: html`The events that count, such as <code>RUN_DONE, WALK_DONE</code>.`,
      required: true,
      faults,
      below: true,
    }),
    conditionFields(draft, "where", actions),
    hasValue(aggregate) && [
      textField({
        name: "value",
        label: "Path of the number",
        value: form.text("value"),
        hint: html`Such as <code>km</code>. Events without a number there do not count.`,
        list: metadataPathsList,
        warning: pathWarning(draft, actions, form.text("value"), true),
        faults,
      }),
      numberField({
        name: "decimals",
        label: "Decimals",
        value: form.text("decimals"),
        hint: `0 to ${limits.metricDecimalsMax}; 0, if empty. Further decimals are rounded.`,
        faults,
      }),
    ],
    html`<p class="hint">What a metric counts never changes. Events count from now on.</p>`,
  ]
}

const fields = (draft: Draft, _: undefined, isNew: boolean): Content => {
  const { faults, form } = draft
  return [
    textField({ name: "name", label: "Name", value: form.text("name"), required: true, faults }),
    descriptionField(draft),
    isNew && [keyField(draft, "name"), countedFields(draft)],
    textField({
      name: "unit",
      label: "Unit",
      value: form.text("unit"),
      hint: html`Shown beside the values, such as <code>km</code>.`,
      faults,
    }),
    jsonField({
      name: "metadata",
      label: "Metadata",
      value: form.text("metadata"),
      hint: "A JSON object for your app.",
      faults,
    }),
  ]
}

const names = (form: Form) => [
  "name",
  "key",
  "description",
  "unit",
  "metadata.*",
  "aggregate",
  "actions.*",
  ...conditionNames(form, "where"),
  ...(hasValue(aggregateOf(form)) ? ["value", "decimals"] : []),
]

/** `mayStart`: whether the visitor may start a backfill. */
const backfillOf = (visit: PlaceVisit, { id, name }: Metric, mayStart: boolean) =>
  Effect.map(latestOf(visit.ask("metrics.getBackfill", { params: { id } })), (backfill) => {
    const address = `${visit.base}/metrics/${id}`
    return backfillSection(address, backfill, {
      purpose: "A backfill counts the events of before the metric was created.",
      own: ({ changed }) => [["Users changed", changed]],
      start:
        mayStart &&
        confirmButton({
          id: "start-backfill",
          button: "Start backfill",
          keep: "Not now",
          title: `Count ${name} for the past in ${visit.place.environment}?`,
          detail:
            "Every user's earlier events count, in the background. It cannot be stopped, and pays nothing.",
          action: `${address}/backfill`,
          danger: false,
        }),
    })
  })

const backfillRoute: Route = actionRoute({
  noun: "metric",
  verb: "backfill",
  path: "/metrics",
  change: (visit, id) =>
    visit.ask("metrics.startBackfill", {
      params: { id },
      idempotencyKey: visit.form.optional("idempotencyKey"),
    }),
  next: ({ base }, id) => `${base}/metrics/${encodeURIComponent(id)}#backfill`,
})

/** The last weeks of all users. */
const seriesSection = ({ points, unit }: BodyOf<"metrics.series">): Html =>
  points === null
    ? html`<p class="hint">The values of all users are being computed. Load the page again soon.</p>`
    : html`<details><summary>All users by week</summary>${table(
        "All users by week",
        ["Week from", unit === null ? "Value" : `Value, ${unit}`, "Users"],
        points.toReversed().map(({ from, users, value }) => [from, value ?? "–", users]),
      )}</details>`

export const metricRoutes: ReadonlyArray<Route> = [
  ...kindRoutes<Metric, undefined>({
    noun: "metric",
    nameOf: ({ name }) => name,
    lifecycle: "lasting",
    loss: "It counts no more events, and users no longer show it.",
    purpose:
      "A metric is a number that each user has, made from events: how many, a sum, a maximum, or on how many days.",
    choices: () => Effect.undefined,
    blank: new Map(),
    textsOf,
    preset: ["op"],
    fields,
    names,
    trial: eventTrial("metric", (form) => ({ action: actionsOf(form)[0] ?? "" }), draftOf),
    draftOf,
    isTriedOnlyNew: true,
    patchOf,
    more: (visit, metric, allowed) =>
      Effect.all({
        series: visit.ask("metrics.series", { params: { id: metric.id }, query: { by: "week" } }),
        backfill: backfillOf(visit, metric, allowed && metric.status === "active"),
      }).pipe(
        Effect.map(
          ({ backfill, series }) =>
            html`<p>Each user's value is ${words(metric)}.</p>${seriesSection(series)}${metric.status === "active" && backfill}`,
        ),
      ),
    heads: ["Value", "Unit"],
    cellsIn: () => Effect.succeed((metric) => [words(metric), metric.unit ?? "–"]),
  }),
  backfillRoute,
]
