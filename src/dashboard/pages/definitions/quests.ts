/** The quests of an environment. */
import { Effect } from "effect"
import { questClaims, questRecurrences } from "../../../domain/project/Definition.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { Route } from "../../request/Route.ts"
import type { Draft } from "../../view/Editing.ts"
import {
  areaField,
  checkField,
  type Form,
  group,
  numberField,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { addButton, removeButton, rowCount } from "../../view/Lists.ts"
import { pathWarning } from "../../view/Paths.ts"
import {
  type BadgeChoices,
  badgeChoices,
  conditionFields,
  conditionNames,
  conditionsOf,
  conditionTexts,
  rewardFields,
  rewardNames,
  rewardOf,
  rewardPatch,
  rewardTexts,
  rewardWords,
} from "./conditions.ts"
import { type AssumedEvent, eventTrial, withoutNulls } from "./editor.ts"
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

type Quest = BodyOf<"quests.update"> & Partial<Pick<BodyOf<"quests.get">, "counts">>

const stepRowsMax = limits.questStepsMax + 1

const textsOf = (quest: Quest) =>
  new Map([
    ["title", quest.title],
    ...sharedTexts(quest),
    ...rewardTexts(quest.reward),
    ...quest.steps.flatMap(({ action, key, metric, sumPath, target, where }, index) => {
      const row = `steps.${index}`
      return [
        [`${row}.key`, key],
        [`${row}.action`, action ?? ""],
        [`${row}.metric`, metric ?? ""],
        [`${row}.target`, String(target)],
        [`${row}.sumPath`, sumPath ?? ""],
        ...conditionTexts(`${row}.where`, where),
      ] as const
    }),
    ["recurrence", quest.recurrence],
    ...(quest.optIn ? [["optIn", "true"] as const] : []),
    ["claim", quest.claim],
    ["prerequisites", quest.prerequisites.join("\n")],
  ])

const stepsOf = (form: Form) =>
  form.indices("steps", stepRowsMax).map((index) => {
    const row = `steps.${index}`
    return {
      key: form.text(`${row}.key`),
      action: form.text(`${row}.action`) || null,
      metric: form.text(`${row}.metric`) || null,
      where: conditionsOf(form, `${row}.where`),
      target: form.number(`${row}.target`) ?? null,
      sumPath: form.text(`${row}.sumPath`) || null,
    }
  })

const membersOf = (form: Form) => ({
  title: form.text("title"),
  steps: stepsOf(form),
  recurrence: form.text("recurrence") || "none",
  prerequisites: form.lines("prerequisites"),
  optIn: form.checked("optIn"),
  claim: form.text("claim") || "auto",
})

const draftOf = (form: Form) => ({
  ...membersOf(form),
  ...sharedDraft(form),
  reward: withoutNulls(rewardOf(form)),
})

const patchOf = (form: Form, quest: Quest) => ({
  ...membersOf(form),
  ...sharedPatch(form, quest),
  reward: rewardPatch(form, quest.reward),
})

const stepFields = (draft: Draft, row: string, place: number): Html => {
  const { address, faults, form } = draft
  const actions = [form.text(`${row}.action`)]
  const sumPath = form.text(`${row}.sumPath`)
  const warning = pathWarning(draft, actions, sumPath, true)
  return html`<fieldset><legend>Step ${place}</legend><div class="row fields">
${textField({ name: `${row}.key`, label: "Key", value: form.text(`${row}.key`), faults })}
${textField({ name: `${row}.action`, label: "Action", value: form.text(`${row}.action`), faults })}
${textField({ name: `${row}.metric`, label: "Or metric", value: form.text(`${row}.metric`), faults })}
${numberField({ name: `${row}.target`, label: "Target", value: form.text(`${row}.target`), faults })}
${textField({ name: `${row}.sumPath`, label: "Sum of", value: sumPath, warning, faults })}
${removeButton(row, `step ${place}`, address)}</div>
${conditionFields(draft, `${row}.where`, actions)}</fieldset>`
}

const stepsGroup = (draft: Draft): Html => {
  const { address, faults, form } = draft
  return group({ legend: "Steps", name: "steps", faults }, [
    html`<p class="hint">The quest completes with its last step. Without steps, your app completes it by the event <code>QUEST_COMPLETE</code>. Users keep their count as long as the key of a step stays. A step counts events; with “Sum of”, the path to a number in the metadata such as <code>km</code>, it adds these numbers. A step with the key of a metric has no action and no conditions: what events add to the metric counts; for a maximum, a minimum or a latest value one event that reaches the target is enough.</p>`,
    form
      .indices("steps", stepRowsMax)
      .map((index, place) => stepFields(draft, `steps.${index}`, place + 1)),
    rowCount(form, "steps") < limits.questStepsMax && addButton("steps", "Add step", address),
  ])
}

const fields = (draft: Draft, badges: BadgeChoices, isNew: boolean): Content => {
  const { faults, form } = draft
  return [
    textField({ name: "title", label: "Title", value: form.text("title"), required: true, faults }),
    headFields(draft, isNew, "title"),
    rewardFields(draft, badges),
    stepsGroup(draft),
    selectField({
      name: "recurrence",
      label: "Repeats",
      value: form.text("recurrence"),
      options: questRecurrences.map((one) => [one, one === "none" ? "never" : one]),
      hint: "It restarts with each period of the project's time zone.",
      faults,
    }),
    selectField({
      name: "claim",
      label: "Pays",
      value: form.text("claim"),
      options: questClaims.map((one) => [one, claimWords[one]]),
      hint: "Your app claims by the event QUEST_COMPLETE. What is not claimed until the period ends is lost.",
      faults,
    }),
    checkField({
      name: "optIn",
      label: "Users start it themselves",
      checked: form.checked("optIn"),
      hint: "Events count only after your app has started it for the user, again in each period.",
      faults,
    }),
    areaField({
      name: "prerequisites",
      label: "Prerequisites",
      value: form.text("prerequisites"),
      rows: 2,
      hint: "Keys of quests that a user must complete before, one a line.",
      faults,
      below: true,
    }),
    tailFields(draft, "Unfinished progress expires then."),
  ]
}

const claimWords = {
  auto: "with the last step",
  manual: "when the user claims it",
} as const

const names = (form: Form) => [
  "title",
  ...sharedNames,
  ...rewardNames,
  "steps",
  ...form.indices("steps", stepRowsMax).flatMap((index) => {
    const row = `steps.${index}`
    return [
      ...["key", "action", "metric", "target", "sumPath"].map((name) => `${row}.${name}`),
      ...conditionNames(form, `${row}.where`),
    ]
  }),
  "recurrence",
  "claim",
  "optIn",
  "prerequisites.*",
]

const eventOf = (form: Form, id = "qst_draft"): AssumedEvent => {
  const [first] = form.indices("steps", 1)
  return first === undefined
    ? { action: "QUEST_COMPLETE", metadata: { questId: id } }
    : { action: form.text(`steps.${first}.action`) }
}

export const questRoutes: ReadonlyArray<Route> = kindRoutes<Quest, BadgeChoices>({
  noun: "quest",
  nameOf: ({ title }) => title,
  lifecycle: "period",
  loss: "Nobody can begin or complete it any more, and unfinished progress expires. Users who completed it keep its reward.",
  purpose:
    "A quest is a goal of several steps, such as three lessons with 90 points, with a reward for completing it.",
  choices: badgeChoices,
  blank: new Map(),
  textsOf,
  preset: ["op"],
  fields,
  names,
  trial: eventTrial("quest", eventOf, draftOf),
  draftOf,
  patchOf,
  remark: ({ counts }) =>
    ` Users: ${counts?.inProgress ?? 0} in progress, ${counts?.completed ?? 0} completed.`,
  heads: ["Steps", "Gives", "Repeats", "Period"],
  cellsIn: (visit) =>
    Effect.map(badgeChoices(visit), (badges) => (quest) => [
      quest.steps
        .map(({ action, metric, sumPath, target }) =>
          sumPath === null && action !== null
            ? `${target} × ${action}`
            : `${target} ${sumPath ?? "of the metric"} ${action === null ? metric : `of ${action}`}`,
        )
        .join(", "),
      rewardWords(quest.reward, badges),
      quest.recurrence === "none" ? "never" : quest.recurrence,
      periodWords(quest),
    ]),
})
