/** The streaks of an environment: what users do in each day, week or month, and what it pays. */
import { Effect } from "effect"
import { weekdays } from "../../../domain/project/Boost.ts"
import { type StreakPeriod, streakPeriods } from "../../../domain/project/StreakDefinition.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { Route } from "../../request/Route.ts"
import type { Draft } from "../../view/Editing.ts"
import { type Form, group, numberField, selectField, textField } from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { addButton, removeButton, rowCount } from "../../view/Lists.ts"
import { amountsOf, amountsText, boostOf, boostText } from "./conditions.ts"
import { eventTrial, withoutNulls } from "./editor.ts"
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

type Streak = BodyOf<"streaks.get">

/** One more than a streak may have, so that the schema refuses too many. */
const needRowsMax = limits.streakNeedsMax + 1
const milestoneRowsMax = limits.streakMilestonesMax + 1
const pauseRowsMax = limits.streakPausesMax + 1

const needTexts = ({ needs }: Streak) =>
  needs.flatMap(({ action, metric, target }, index) => [
    [`needs.${index}.action`, action ?? ""] as const,
    [`needs.${index}.metric`, metric ?? ""] as const,
    [`needs.${index}.target`, String(target)] as const,
  ])

const textsOf = (streak: Streak) => {
  const { freezes, milestones } = streak
  return new Map([
    ["name", streak.name],
    ...sharedTexts(streak),
    ["every", streak.every],
    ["match", streak.match],
    ...needTexts(streak),
    ["restDays", streak.restDays.join(", ")],
    ["freezes.initial", String(freezes.initial)],
    ["freezes.max", String(freezes.max)],
    ["freezes.everyDays", String(freezes.everyDays ?? "")],
    ...milestones.flatMap(({ reward, target }, index) => {
      const row = `milestones.${index}`
      return [
        [`${row}.target`, String(target)],
        [`${row}.reward.xp`, reward.xp === 0 ? "" : String(reward.xp)],
        [`${row}.reward.points`, reward.points === 0 ? "" : String(reward.points)],
        [`${row}.reward.currencies`, amountsText(reward.currencies)],
        [`${row}.reward.badgeId`, reward.badgeId ?? ""],
        [`${row}.reward.freezes`, amountsText(reward.freezes)],
        [`${row}.reward.boost`, boostText(reward.boost)],
      ] as const
    }),
    ["atRisk.hoursBefore", String(streak.atRisk?.hoursBefore ?? "")],
    ["repair.withinDays", String(streak.repair?.withinDays ?? "")],
    ["repair.price", amountsText(streak.repair?.price ?? undefined)],
    ...streak.pauses.flatMap(({ from, segment, to }, index) => [
      [`pauses.${index}.from`, from] as const,
      [`pauses.${index}.to`, to] as const,
      [`pauses.${index}.segment`, segment ?? ""] as const,
    ]),
  ])
}

const milestonesOf = (form: Form) =>
  form.indices("milestones", milestoneRowsMax).map((index) => {
    const row = `milestones.${index}`
    return {
      target: form.number(`${row}.target`) ?? null,
      reward: withoutNulls({
        xp: form.number(`${row}.reward.xp`) ?? null,
        points: form.number(`${row}.reward.points`) ?? null,
        currencies: amountsOf(form.text(`${row}.reward.currencies`)) ?? null,
        badgeId: form.optional(`${row}.reward.badgeId`) ?? null,
        freezes: amountsOf(form.text(`${row}.reward.freezes`)) ?? null,
        boost: boostOf(form.text(`${row}.reward.boost`)) ?? null,
      }),
    }
  })

const atRiskOf = (form: Form) => {
  const hoursBefore = form.number("atRisk.hoursBefore")
  return hoursBefore === undefined ? null : { hoursBefore }
}

const repairOf = (form: Form) => {
  const withinDays = form.number("repair.withinDays")
  const price = amountsOf(form.text("repair.price"))
  if (withinDays === undefined && price === undefined) return null
  return withoutNulls({ withinDays: withinDays ?? null, price: price ?? null })
}

const pausesOf = (form: Form) =>
  form.indices("pauses", pauseRowsMax).map((index) => ({
    from: form.text(`pauses.${index}.from`),
    to: form.text(`pauses.${index}.to`),
    segment: form.text(`pauses.${index}.segment`) || null,
  }))

/** The members of a streak alone that can change, unchecked. */
const membersOf = (form: Form) => ({
  name: form.text("name"),
  needs: form.indices("needs", needRowsMax).map((index) => ({
    action: form.text(`needs.${index}.action`) || null,
    metric: form.text(`needs.${index}.metric`) || null,
    target: form.number(`needs.${index}.target`) ?? 1,
  })),
  match: form.text("match"),
  restDays: form.words("restDays").map((word) => word.toLowerCase()),
  freezes: {
    initial: form.number("freezes.initial") ?? 0,
    ...withoutNulls({ max: form.number("freezes.max") ?? null }),
    everyDays: form.number("freezes.everyDays") ?? null,
  },
  milestones: milestonesOf(form),
  atRisk: atRiskOf(form),
  pauses: pausesOf(form),
  repair: repairOf(form),
})

const draftOf = (form: Form) => {
  const { atRisk, repair, ...members } = membersOf(form)
  return {
    ...members,
    ...withoutNulls({ atRisk, repair }),
    every: form.text("every"),
    ...sharedDraft(form),
  }
}

const patchOf = (form: Form, streak: Streak) => ({
  ...membersOf(form),
  ...sharedPatch(form, streak),
})

const needRow = ({ address, faults, form }: Draft, row: string, place: number): Html =>
  html`<div class="row fields" role="group" aria-label="Need ${place}">
${textField({ name: `${row}.action`, label: "Action", value: form.text(`${row}.action`), faults })}
${textField({ name: `${row}.metric`, label: "Or metric", value: form.text(`${row}.metric`), faults })}
${numberField({ name: `${row}.target`, label: "Times or amount", value: form.text(`${row}.target`), faults })}
${removeButton(row, `need ${place}`, address)}</div>`

const needFields = (draft: Draft): Html => {
  const { address, faults, form } = draft
  return group({ legend: "What keeps a period", name: "needs", faults }, [
    html`<p class="hint">How many events with an action a user sends in each day, week or month, or what they add to the metric with a key. Without a row, one event with any action is enough.</p>`,
    form
      .indices("needs", needRowsMax)
      .map((index, place) => needRow(draft, `needs.${index}`, place + 1)),
    rowCount(form, "needs") < limits.streakNeedsMax && addButton("needs", "Add need", address),
    selectField({
      name: "match",
      label: "It takes",
      value: form.text("match"),
      options: [
        ["all", "all of them"],
        ["any", "any of them"],
      ],
      faults,
    }),
  ])
}

const freezeFields = ({ faults, form }: Draft): Html => {
  const number = (name: string, label: string, hint: string) =>
    numberField({
      name: `freezes.${name}`,
      label,
      hint,
      value: form.text(`freezes.${name}`),
      faults,
    })
  return group({ legend: "Freezes", name: "freezes", faults }, [
    html`<div class="row fields">${number("initial", "Freezes at first", "Each forgives a missed day, week or month.")}
${number("max", "Most freezes", "As many as at first, if empty.")}
${number("everyDays", "One more at each multiple of", "A length of the streak. Never, if empty.")}</div>`,
  ])
}

const milestoneRow = ({ address, faults, form }: Draft, row: string, place: number): Html => {
  const field = (name: string, label: string) => ({
    name: `${row}.${name}`,
    label,
    value: form.text(`${row}.${name}`),
    faults,
    below: true,
  })
  return html`<div class="row fields" role="group" aria-label="Milestone ${place}">
${numberField(field("target", "Length"))}
${numberField(field("reward.xp", "Xp"))}
${numberField(field("reward.points", "Points"))}
${textField(field("reward.currencies", "Further currencies"))}
${textField(field("reward.badgeId", "Id of a badge"))}
${textField(field("reward.freezes", "Freezes of streaks"))}
${textField({ ...field("reward.boost", "Boost and minutes"), below: true })}
${removeButton(row, `milestone ${place}`, address)}</div>`
}

const milestoneFields = (draft: Draft): Html => {
  const { address, faults, form } = draft
  return group({ legend: "Milestones", name: "milestones", faults }, [
    html`<p class="hint">Each pays a user once, ever, when a streak grows to its length.</p>`,
    form
      .indices("milestones", milestoneRowsMax)
      .map((index, place) => milestoneRow(draft, `milestones.${index}`, place + 1)),
    rowCount(form, "milestones") < limits.streakMilestonesMax &&
      addButton("milestones", "Add milestone", address),
  ])
}

const pauseRow = ({ address, faults, form }: Draft, row: string, place: number): Html => {
  const field = (name: string, label: string) =>
    textField({
      name: `${row}.${name}`,
      label,
      value: form.text(`${row}.${name}`),
      ...(name !== "segment" && { type: "date" as const }),
      faults,
    })
  return html`<div class="row fields" role="group" aria-label="Pause ${place}">
${field("from", "First day")}
${field("to", "Last day")}
${field("segment", "Segment, if not for everyone")}
${removeButton(row, `pause ${place}`, address)}</div>`
}

const pauseFields = (draft: Draft): Html => {
  const { address, faults, form } = draft
  return group({ legend: "Pauses", name: "pauses", faults }, [
    html`<p class="hint">Days on which nobody misses anything; they may be past. What a pause has covered stays so.</p>`,
    form
      .indices("pauses", pauseRowsMax)
      .map((index, place) => pauseRow(draft, `pauses.${index}`, place + 1)),
    rowCount(form, "pauses") < limits.streakPausesMax && addButton("pauses", "Add pause", address),
  ])
}

const repairFields = ({ faults, form }: Draft): Html =>
  group({ legend: "Repair", name: "repair", faults }, [
    html`<div class="row fields">${numberField({
      name: "repair.withinDays",
      label: "Days after the break",
      hint: "So long a broken streak can be repaired. Not at all, if empty.",
      value: form.text("repair.withinDays"),
      faults,
    })}
${textField({
  name: "repair.price",
  label: "Price",
  hint: html`Amounts by currency, such as <code>gems 5, points 10</code>. Nothing, if empty.`,
  value: form.text("repair.price"),
  faults,
  below: true,
})}</div>`,
  ])

const everyLabels: Readonly<Record<StreakPeriod, string>> = {
  day: "days",
  week: "weeks, from Monday",
  month: "months",
}

const fields = (draft: Draft, _: undefined, isNew: boolean): Content => {
  const { faults, form } = draft
  return [
    textField({ name: "name", label: "Name", value: form.text("name"), required: true, faults }),
    headFields(draft, isNew, "name"),
    isNew &&
      selectField({
        name: "every",
        label: "A streak of",
        value: form.text("every"),
        options: streakPeriods.map((every) => [every, everyLabels[every]] as const),
        hint: "By each user's calendar. It never changes.",
        faults,
      }),
    needFields(draft),
    textField({
      name: "restDays",
      label: "Rest days",
      value: form.text("restDays"),
      hint: html`Days of the week that are never missed, such as <code>saturday, sunday</code>. Only for streaks of days.`,
      faults,
      below: true,
    }),
    freezeFields(draft),
    milestoneFields(draft),
    pauseFields(draft),
    repairFields(draft),
    numberField({
      name: "atRisk.hoursBefore",
      label: "Hours before the end at which it is at risk",
      value: form.text("atRisk.hoursBefore"),
      hint: html`Then <code>streak.at_risk</code> is sent, if nothing has kept the day, week or month. Never, if empty.`,
      faults,
    }),
    tailFields(
      draft,
      "What occurs from then on does not count, and unbroken streaks stay so.",
      true,
    ),
  ]
}

const names = (form: Form) => [
  "name",
  ...sharedNames,
  "every",
  "match",
  "needs",
  ...form
    .indices("needs", needRowsMax)
    .flatMap((index) => ["action", "metric", "target"].map((name) => `needs.${index}.${name}`)),
  "restDays.*",
  "freezes",
  "freezes.initial",
  "freezes.max",
  "freezes.everyDays",
  "pauses",
  ...form
    .indices("pauses", pauseRowsMax)
    .flatMap((index) => ["", ".from", ".to", ".segment"].map((name) => `pauses.${index}${name}`)),
  "repair",
  "repair.withinDays",
  "repair.price.*",
  "atRisk",
  "atRisk.hoursBefore",
  "milestones",
  ...form.indices("milestones", milestoneRowsMax).flatMap((index) => {
    const row = `milestones.${index}`
    const parts = ["xp", "points", "currencies.*", "badgeId", "freezes.*", "boost.*"]
    return [`${row}.target`, `${row}.reward`, ...parts.map((one) => `${row}.reward.${one}`)]
  }),
]

const needWords = ({ match, needs }: Pick<Streak, "match" | "needs">): string =>
  needs.length === 0
    ? "any event"
    : needs
        .map(({ action, metric, target }) =>
          action === null
            ? `${target} of the metric ${metric}`
            : target === 1
              ? action
              : `${target} × ${action}`,
        )
        .join(match === "all" ? " and " : " or ")

export const streakRoutes: ReadonlyArray<Route> = kindRoutes<Streak, undefined>({
  noun: "streak",
  nameOf: ({ name }) => name,
  lifecycle: "period",
  loss: "It counts no more, and users no longer see it. What its milestones paid stays.",
  purpose: "A streak is days, weeks or months in a row in which a user does something.",
  choices: () => Effect.undefined,
  blank: new Map([
    ["every", "day"],
    ["match", "all"],
  ]),
  textsOf,
  preset: [],
  fields,
  names,
  trial: eventTrial(
    "streak",
    (form) => ({ action: form.text("needs.0.action") }),
    draftOf,
    "The action of the first need, if empty.",
  ),
  draftOf,
  patchOf,
  heads: ["Every", "Needs", "Period"],
  cellsIn: () =>
    Effect.succeed((streak) => [
      streak.restDays.length === 0
        ? streak.every
        : `${streak.every}, but ${weekdays.filter((day) => streak.restDays.includes(day)).join(", ")}`,
      needWords(streak),
      periodWords(streak),
    ]),
})
