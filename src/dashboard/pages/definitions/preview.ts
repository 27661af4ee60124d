/** Tries an event with a draft: what it earns now, and what it would earn once the draft is saved. */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { errorKinds, type Fault, type LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import type { PlaceVisit } from "../../request/Route.ts"
import { draftRefusal } from "../../view/Editing.ts"
import { isolated } from "../../view/Foreign.ts"
import { type Form, group, jsonField, jsonOf, textField } from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { table } from "../../view/Lists.ts"

type Simulation = BodyOf<"project.simulate">

export interface Outcome {
  /** The refusal of the event as it would be sent now. */
  readonly now: Simulation | LaurelError
  readonly then: Simulation
  /** No user was named. */
  readonly isNew: boolean
}

export const eventNames = ["event", "event.userId", "event.action", "event.metadata.*"]

/** The parts of an event that follow from the definition, where the form leaves them empty. */
export interface AssumedEvent {
  readonly action: string
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** Nobody has this id, since it is made for the one try. */
const newUserId = () => `new-user-${randomUUID()}`

const eventOf = (form: Form, assumed: AssumedEvent) => ({
  userId: form.optional("event.userId") ?? newUserId(),
  action: form.optional("event.action") ?? assumed.action,
  metadata: jsonOf(form.text("event.metadata")) ?? assumed.metadata,
})

const ofTry = (form: Form, error: LaurelError): LaurelError => {
  const { errors } = error
  // The field of the definition that the action is from shows the fault; an empty field is not wrong.
  const others = errors?.filter(({ pointer }) => pointer !== "/event/action")
  const isAssumed = form.optional("event.action") === undefined
  return isAssumed && others !== undefined && others.length > 0
    ? { ...error, errors: others }
    : error
}

/**
 * The earnings of the form's event, completed by `assumed`. `drafts` are members of a preview: `{ rule, ruleId }`. Refused, the faults of the
 * draft `noun` have the pointers of its own form.
 */
export const tryOut = (
  visit: PlaceVisit,
  form: Form,
  noun: string,
  drafts: Readonly<Record<string, unknown>>,
  assumed: AssumedEvent,
): Effect.Effect<Outcome, LaurelError> => {
  const event = eventOf(form, assumed)
  return Effect.gen(function* () {
    const then = yield* visit.ask("project.preview", { payload: { event, ...drafts } })
    const now = yield* Effect.catch(visit.ask("project.simulate", { payload: event }), (error) =>
      Effect.succeed(error),
    )
    return { now, then, isNew: form.optional("event.userId") === undefined }
  }).pipe(Effect.mapError((error) => ofTry(form, draftRefusal(error, noun))))
}

/** The fields of the event, and the button that tries it at `address`. `noun` says what is tried. */
export const tryFields = (
  form: Form,
  faults: ReadonlyArray<Fault> | undefined,
  address: string,
  noun: string,
): Html =>
  group({ legend: "Try it before saving", name: "event", faults }, [
    html`<p class="hint">Nothing is saved, and the user earns nothing.</p>`,
    textField({
      name: "event.userId",
      label: "User id",
      hint: "A user without any events, if empty.",
      value: form.text("event.userId"),
      faults,
    }),
    textField({
      name: "event.action",
      label: "Action of the event",
      hint: `The action that the ${noun} names, if empty.`,
      value: form.text("event.action"),
      faults,
    }),
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
  { isNew, now, then }: Outcome,
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
<h2 id="outcome-title">${then.action} of ${isNew ? "a new user" : isolated(then.userId)}</h2>
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
