/** The experiments of an environment: users divided into variants. */
import { Effect } from "effect"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { Route } from "../../request/Route.ts"
import type { Draft } from "../../view/Editing.ts"
import { type Form, group, numberField, textField } from "../../view/Forms.ts"
import { type Content, type Html, html, isolated } from "../../view/Html.ts"
import { addButton, removeButton, rowCount } from "../../view/Lists.ts"
import { withoutNulls } from "./editor.ts"
import { resultsSection, shortWords } from "./experimentResults.ts"
import { kindRoutes } from "./kindPages.ts"
import {
  headFields,
  periodWords,
  sharedDraft,
  sharedNames,
  sharedPatch,
  sharedTexts,
  tailFields,
} from "./lifecycle.ts"

type Experiment = BodyOf<"experiments.get">

/** One more than an experiment may have, so that the schema refuses too many. */
const rowsMax = limits.experimentVariantsMax + 1

const textsOf = (experiment: Experiment) =>
  new Map([
    ["name", experiment.name],
    ...sharedTexts(experiment),
    ["metric", experiment.metric ?? ""],
    ...experiment.variants.flatMap(
      ({ key, weight }, index) =>
        [
          [`variants.${index}.key`, key],
          [`variants.${index}.weight`, String(weight)],
        ] as const,
    ),
  ])

const rowsOf = (form: Form) => form.indices("variants", rowsMax).map((index) => `variants.${index}`)

/** The members of an experiment alone, unchecked. */
const membersOf = (form: Form) => ({
  name: form.text("name"),
  variants: rowsOf(form).map((row) => ({
    key: form.text(`${row}.key`),
    weight: form.number(`${row}.weight`) ?? null,
  })),
  metric: form.text("metric") || null,
})

const draftOf = (form: Form) => ({ ...withoutNulls(membersOf(form)), ...sharedDraft(form) })

const patchOf = (form: Form, experiment: Experiment) => ({
  ...membersOf(form),
  ...sharedPatch(form, experiment),
})

const variantRow = ({ address, faults, form }: Draft, row: string, place: number): Html =>
  html`<div class="row fields" role="group" aria-label="Variant ${place}">
${textField({ name: `${row}.key`, label: place === 1 ? "Key of the control" : "Key", value: form.text(`${row}.key`), faults })}
${numberField({ name: `${row}.weight`, label: "Weight", value: form.text(`${row}.weight`), faults })}
${removeButton(row, `variant ${place}`, address)}</div>`

const variantFields = (draft: Draft): Html => {
  const { address, faults, form } = draft
  return group({ legend: "Variants", name: "variants", faults }, [
    html`<p class="hint">Users enter with the first event while the experiment runs, and keep their variant. The first variant is the control. Weights 1 and 1 are halves. Once the experiment is published, only weights change.</p>`,
    rowsOf(form).map((row, place) => variantRow(draft, row, place + 1)),
    rowCount(form, "variants") < limits.experimentVariantsMax &&
      addButton("variants", "Add variant", address),
  ])
}

const fields = (draft: Draft, _: undefined, isNew: boolean): Content => {
  const { faults, form } = draft
  return [
    textField({ name: "name", label: "Name", value: form.text("name"), required: true, faults }),
    headFields(draft, isNew, "name"),
    variantFields(draft),
    textField({
      name: "metric",
      label: "Metric",
      value: form.text("metric"),
      hint: "The key of the metric that it is meant to change. It is fixed once the experiment is published.",
      faults,
    }),
    tailFields(draft, "Nobody enters from then on; users keep their variants."),
  ]
}

const names = (form: Form) => [
  "name",
  ...sharedNames,
  "metric",
  "variants",
  ...rowsOf(form).flatMap((row) => [`${row}.key`, `${row}.weight`]),
]

const percent = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 })

/** The variants in words: `control 50%, goal 50%`. */
const variantWords = ({ variants }: Pick<Experiment, "variants">): Content => {
  const total = variants.reduce((sum, { weight }) => sum + weight, 0)
  return variants.map(
    ({ key, weight }, place) =>
      html`${place > 0 && ", "}${isolated(key)} ${percent.format(weight / total)}`,
  )
}

export const experimentRoutes: ReadonlyArray<Route> = kindRoutes<Experiment, undefined>({
  noun: "experiment",
  nameOf: ({ name }) => name,
  lifecycle: "period",
  loss: "Nobody enters it any more, and users no longer show it.",
  purpose:
    "An experiment divides users into variants, which stay theirs. Segments ask for the variant, so that rules, quests and badges differ.",
  choices: () => Effect.undefined,
  blank: new Map([
    ["variants.0.key", "control"],
    ["variants.0.weight", "1"],
    ["variants.1.key", ""],
    ["variants.1.weight", "1"],
  ]),
  textsOf,
  preset: ["weight"],
  fields,
  names,
  draftOf,
  patchOf,
  more: (visit, experiment) =>
    experiment.status === "draft" || experiment.status === "archived"
      ? Effect.undefined
      : resultsSection(visit, experiment),
  heads: ["Variants", "Difference to the control, 95% interval", "For", "Period"],
  cellsIn: () =>
    Effect.succeed((experiment) => [
      variantWords(experiment),
      shortWords(experiment.result),
      experiment.segment === null ? "everyone" : isolated(experiment.segment),
      periodWords(experiment),
    ]),
})
