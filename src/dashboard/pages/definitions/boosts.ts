/** The boosts of an environment: when rules and quests pay a multiple. */
import { Effect, Schema } from "effect"
import { boostTimeZones, nextSpells, type Spell } from "../../../domain/project/Boost.ts"
import { zoneOf } from "../../../domain/values/Calendar.ts"
import { parseIsoTime } from "../../../domain/values/isoTime.ts"
import { Spell as SpellSchema } from "../../../http/api/Boosts.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import type { Route } from "../../request/Route.ts"
import type { Draft } from "../../view/Editing.ts"
import {
  checkField,
  type Form,
  group,
  numberField,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { addButton, removeButton, rowCount, withoutBlankRows } from "../../view/Lists.ts"
import { time } from "../../view/Quantities.ts"
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

type Boost = BodyOf<"boosts.get">

/** One more than a boost may have, so that the schema refuses too many. */
const rowsMax = limits.boostSpellsMax + 1

const textsOf = (boost: Boost) =>
  new Map([
    ["name", boost.name],
    ...sharedTexts(boost),
    ["currencies", boost.currencies.join(", ")],
    ["factor", String(boost.factor)],
    ["timeZone", boost.timeZone],
    ["personal", boost.personal ? "true" : ""],
    ...boost.weekly.flatMap(({ days, from, to }, index) => {
      const row = `weekly.${index}`
      return [
        [`${row}.days`, days.join(", ")],
        [`${row}.from`, from],
        [`${row}.to`, to],
      ] as const
    }),
  ])

/** The typed spells, unchecked. */
const weeklyOf = (form: Form) =>
  form.indices("weekly", rowsMax).map((index) => {
    const row = `weekly.${index}`
    return {
      days: form.words(`${row}.days`).map((day) => day.toLowerCase()),
      from: form.text(`${row}.from`),
      to: form.text(`${row}.to`),
    }
  })

/** The members of a boost alone, unchecked. */
const membersOf = (form: Form) => ({
  name: form.text("name"),
  currencies: form.words("currencies"),
  factor: form.number("factor") ?? null,
  weekly: weeklyOf(form),
  timeZone: form.text("timeZone"),
})

const draftOf = (form: Form) => ({
  ...withoutNulls(membersOf(form)),
  ...(form.text("personal") === "true" && { personal: true }),
  ...sharedDraft(form),
})

const patchOf = (form: Form, boost: Boost) => ({ ...membersOf(form), ...sharedPatch(form, boost) })

/* The next spells of the boost in the form, saved or not. */

const spellsShown = 5

interface Clock {
  readonly timezone: string
  readonly now: number
}

const areSpells = Schema.is(Schema.Array(SpellSchema))

const preview = (form: Form, { now, timezone }: Clock): Html | undefined => {
  const weekly: unknown = weeklyOf(withoutBlankRows(form))
  const [startsAt, endsAt] = ["startsAt", "endsAt"].map((name) => {
    const text = form.optional(name)
    return text === undefined ? null : parseIsoTime(text)
  })
  if (startsAt === undefined || endsAt === undefined || !areSpells(weekly)) return undefined
  const isOfUsers = form.text("timeZone") === "user"
  const boost = { startsAt, endsAt, weekly, timeZone: isOfUsers ? "user" : "project" } as const
  const spells = nextSpells(boost, zoneOf(timezone), now, spellsShown)
  return html`<section aria-labelledby="spells-title"><h2 id="spells-title">When it runs next</h2>
<p class="hint">${isOfUsers ? html`For a user in ${timezone}; for others at the same time of their own clock.` : html`On the clock of the project, ${timezone}.`}</p>
${
  spells.length === 0
    ? html`<p>Never again.</p>`
    : html`<ul>${spells.map(
        ({ endsAt, startsAt }) =>
          html`<li>${startsAt <= now ? "now" : html`from ${time(startsAt)}`}${endsAt === Number.POSITIVE_INFINITY ? ", without an end" : html` to ${time(endsAt)}`}</li>`,
      )}</ul>`
}</section>`
}

const spellRow = ({ address, faults, form }: Draft, row: string, place: number): Html =>
  html`<div class="row fields" role="group" aria-label="Spell ${place}">
${textField({ name: `${row}.days`, label: "Days", value: form.text(`${row}.days`), faults, below: true })}
${textField({ name: `${row}.from`, label: "From", value: form.text(`${row}.from`), faults })}
${textField({ name: `${row}.to`, label: "To", value: form.text(`${row}.to`), faults })}
${removeButton(row, `spell ${place}`, address)}</div>`

const spellFields = (draft: Draft): Html => {
  const { address, faults, form } = draft
  return group({ legend: "Weekly spells", name: "weekly", faults }, [
    html`<p class="hint">The boost runs only in these, such as <code>friday, saturday</code> from <code>18:00</code> to <code>20:00</code>. An end that is not after the start is on the next day. Without a spell it runs from its start to its end.</p>`,
    form
      .indices("weekly", rowsMax)
      .map((index, place) => spellRow(draft, `weekly.${index}`, place + 1)),
    rowCount(form, "weekly") < limits.boostSpellsMax && addButton("weekly", "Add spell", address),
  ])
}

const zoneLabels = { project: "the project's", user: "each user's" } as const

const fields = (draft: Draft, clock: Clock, isNew: boolean): Content => {
  const { faults, form } = draft
  return [
    textField({ name: "name", label: "Name", value: form.text("name"), required: true, faults }),
    headFields(draft, isNew, "name"),
    textField({
      name: "currencies",
      label: "Currencies",
      value: form.text("currencies"),
      hint: html`The keys of what it multiplies: <code>xp</code>, <code>points</code> or further currencies.`,
      required: true,
      faults,
      below: true,
    }),
    numberField({
      name: "factor",
      label: "Factor",
      value: form.text("factor"),
      hint: `From ${limits.boostFactorMin} to ${limits.boostFactorMax}. Boosts that run at the same time multiply together, to at most ${limits.boostProductMax}.`,
      required: true,
      faults,
    }),
    spellFields(draft),
    selectField({
      name: "timeZone",
      label: "Clock",
      value: form.text("timeZone"),
      options: boostTimeZones.map((zone) => [zone, zoneLabels[zone]] as const),
      hint: "Whose local time the spells follow.",
      faults,
    }),
    isNew &&
      checkField({
        name: "personal",
        label: "Personal: it runs only for users to whom a reward gives it, for some minutes",
        checked: form.text("personal") === "true",
      }),
    tailFields(draft, "What occurs from then on is not multiplied."),
    preview(form, clock),
  ]
}

const names = (form: Form) => [
  "name",
  ...sharedNames,
  "currencies.*",
  "factor",
  "timeZone",
  "personal",
  "weekly",
  ...form.indices("weekly", rowsMax).flatMap((index) => {
    const row = `weekly.${index}`
    return [`${row}.days.*`, `${row}.from`, `${row}.to`]
  }),
]

/** The spells in words, for lists. */
const weeklyWords = (weekly: ReadonlyArray<Spell>): string =>
  weekly.length === 0
    ? "always"
    : weekly.map(({ days, from, to }) => `${days.join(", ")} ${from}–${to}`).join("; ")

export const boostRoutes: ReadonlyArray<Route> = kindRoutes<Boost, Clock>({
  noun: "boost",
  nameOf: ({ name }) => name,
  lifecycle: "period",
  loss: "It multiplies nothing from now on. What users earned stays.",
  purpose: "A boost multiplies what rules and quests pay, such as double xp on Friday evenings.",
  choices: (visit) =>
    Effect.map(visit.ask("project.get"), ({ timezone }) => ({ timezone, now: visit.time() })),
  blank: new Map([
    ["currencies", "xp"],
    ["factor", "2"],
  ]),
  textsOf,
  preset: [],
  fields,
  names,
  trial: eventTrial(
    "boost",
    () => ({ action: "" }),
    draftOf,
    "An action for which a rule or a quest pays.",
  ),
  draftOf,
  patchOf,
  heads: ["Multiplies", "Runs", "For", "Period"],
  cellsIn: () =>
    Effect.succeed((boost) => [
      `${boost.currencies.join(", ")} × ${boost.factor}`,
      boost.personal ? "for some minutes" : weeklyWords(boost.weekly),
      boost.personal ? "who gets it" : (boost.segment ?? "everyone"),
      periodWords(boost),
    ]),
})
