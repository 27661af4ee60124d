/** Tries an event with a draft: what it earns now, and what it would earn once the draft is saved. */
import { Effect } from "effect"
import { errorKinds, type Fault, type LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import type { PlaceVisit } from "../../request/Route.ts"
import { draftRefusal } from "../../view/Editing.ts"
import { type Form, group, jsonField, jsonOf, textField } from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { table } from "../../view/Lists.ts"

type Simulation = BodyOf<"project.simulate">

export interface Outcome {
  /** The refusal of the event as it would be sent now. */
  readonly now: Simulation | LaurelError
  readonly then: Simulation
}

export const eventNames = ["event", "event.userId", "event.action", "event.metadata.*"]

const eventOf = (form: Form) => ({
  userId: form.text("event.userId"),
  action: form.text("event.action"),
  metadata: jsonOf(form.text("event.metadata")),
})

/**
 * The earnings of the form's event. `drafts` are members of a preview: `{ rule, ruleId }`. Refused, the faults of the
 * draft `noun` have the pointers of its own form.
 */
export const tryOut = (
  visit: PlaceVisit,
  form: Form,
  noun: string,
  drafts: Readonly<Record<string, unknown>>,
): Effect.Effect<Outcome, LaurelError> => {
  const event = eventOf(form)
  return Effect.gen(function* () {
    const then = yield* visit.ask("project.preview", { payload: { event, ...drafts } })
    const now = yield* Effect.catch(visit.ask("project.simulate", { payload: event }), (error) =>
      Effect.succeed(error),
    )
    return { now, then }
  }).pipe(Effect.mapError((error) => draftRefusal(error, noun)))
}

/** The fields of the event, and the button that tries it at `address`. */
export const tryFields = (
  form: Form,
  faults: ReadonlyArray<Fault> | undefined,
  address: string,
): Html =>
  group({ legend: "Try it before saving", name: "event", faults }, [
    html`<p class="hint">Nothing is saved, and the user earns nothing.</p>`,
    textField({ name: "event.userId", label: "User id", value: form.text("event.userId"), faults }),
    textField({ name: "event.action", label: "Action", value: form.text("event.action"), faults }),
    jsonField({
      name: "event.metadata",
      label: "Metadata",
      hint: html`A JSON object, such as <code>{"score": 93}</code>.`,
      value: form.text("event.metadata"),
      faults,
    }),
    html`<p><button formaction="${address}#outcome" name="intent" value="try" formnovalidate>Try</button></p>`,
  ])

const amount = ({ earned, total }: Simulation["xp"]): string => `+${earned}, then ${total}`

const words = {
  xp: ({ xp }: Simulation): Content => amount(xp),
  points: ({ points }: Simulation): Content => amount(points),
  level: ({ level }: Simulation): Content =>
    level.before === level.after ? level.after : `${level.before} to ${level.after}`,
  badges: ({ badges }: Simulation): Content => badges.map(({ name }) => name).join(", "),
  quests: ({ quests }: Simulation): Content =>
    quests
      .map(({ progress, status, title }) =>
        status === "in_progress"
          ? `${title}: ${Math.round(progress * 100)} %`
          : `${title}: ${status.replace("_", " ")}`,
      )
      .join(", "),
  streaks: ({ streaks }: Simulation): Content =>
    streaks.map(({ current, key }) => `${key}: ${current}`).join(", "),
}

const sources = (
  { base }: PlaceVisit,
  draftIds: ReadonlySet<string>,
  { given }: Simulation,
): Html =>
  html`<ul class="plain">${given.map(({ badges, points, source, xp }) => {
    const { id, kind } = source
    const from =
      id === null
        ? "criteria of badges"
        : draftIds.has(id)
          ? `this ${kind}`
          : html`<a href="${base}/${kind}s/${id}">${kind} ${id}</a>`
    const what = [
      xp > 0 && `${xp} xp`,
      points > 0 && `${points} points`,
      badges.length > 0 && `${badges.length} badges`,
    ].filter((part) => part !== false)
    return html`<li>${from}: ${what.join(", ") || "nothing"}</li>`
  })}</ul>`

/** The event's earnings now, beside those with the draft. `id` is that of the definition that was tried. */
export const outcomeTable = (
  visit: PlaceVisit,
  { now, then }: Outcome,
  noun: string,
  id: string | undefined,
): Html => {
  const draftIds = new Set([id ?? "", "rul_draft", "qst_draft", "bdg_draft"])
  const row = (label: string, of: (simulation: Simulation) => Content) => [
    label,
    "_tag" in now ? undefined : of(now),
    of(then),
  ]
  return html`<section id="outcome" aria-labelledby="outcome-title">
<h2 id="outcome-title">${then.action} of ${then.userId}</h2>
${"_tag" in now && html`<p>Now it is refused: ${now.detail} (${errorKinds[now.code].title})</p>`}
${table(
  "Outcome",
  ["What", "Now", `With this ${noun}`],
  [
    row("Xp", words.xp),
    row("Points", words.points),
    row("Level", words.level),
    row("Badges", words.badges),
    row("Quests", words.quests),
    row("Streaks", words.streaks),
    row("From", (simulation) => sources(visit, draftIds, simulation)),
  ],
)}</section>`
}
