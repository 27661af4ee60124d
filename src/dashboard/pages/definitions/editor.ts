/**
 * The pages that create and change one definition. The form of a page shows the sent texts, or
 * those of the definition. So an unchanged form shows what is saved, and a refused form keeps what
 * was typed.
 *
 * The form holds the version of the definition, and so does each button that changes it at once. If
 * the definition has changed since, nothing is saved (`If-Match`): the page shows both versions, and
 * the form gets the new version, so that saving again is a decision.
 */
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import type { AuditAction } from "../../../accounts/audit/AuditLog.ts"
import {
  errorKinds,
  type Fault,
  invalidRequest,
  type LaurelError,
} from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { noticeOf, redirectWithNotice } from "../../request/notice.ts"
import {
  mayChange,
  type PlaceVisit,
  placeForm,
  placePage,
  type Route,
} from "../../request/Route.ts"
import { type SeenAction, seenActions } from "../../view/Actions.ts"
import {
  type Draft,
  differences,
  draftRefusal,
  firstButton,
  saveRow,
  type Texts,
  trimmed,
  versionField,
  versionIn,
  versionInput,
} from "../../view/Editing.ts"
import {
  type Form,
  formOf,
  group,
  idempotencyField,
  jsonField,
  jsonOf,
  refusal,
  suggestions,
  textField,
} from "../../view/Forms.ts"
import { badgeTitle, type Content, type Html, html, isolated } from "../../view/Html.ts"
import { rearranged, table, withoutBlankRows } from "../../view/Lists.ts"
import { actionsIn, suggestedPaths } from "../../view/Paths.ts"
import { boostWords } from "../../view/Quantities.ts"
import { about, type Reply, redirect } from "../../view/Replies.ts"

/* Tries an event with a draft: its earnings now, and its earnings once the draft is saved. */

type Simulation = BodyOf<"project.simulate">

export interface Outcome {
  /** The refusal of the event as it would be sent now. */
  readonly now: Simulation | LaurelError
  readonly then: Simulation
  /** No user was named. */
  readonly isNew: boolean
}

const eventNames = ["event", "event.userId", "event.action", "event.metadata.*"]

/** The parts of an event that the definition provides, if the form leaves them empty. */
export interface AssumedEvent {
  readonly action: string
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** A new id for each try, so no user has it. */
export const newUserId = () => `new-user-${randomUUID()}`

const eventOf = (form: Form, assumed: AssumedEvent) => ({
  userId: form.optional("event.userId") ?? newUserId(),
  action: form.optional("event.action") ?? assumed.action,
  metadata: jsonOf(form.text("event.metadata")) ?? assumed.metadata,
})

const ofTry = (form: Form, error: LaurelError): LaurelError => {
  const { errors } = error
  // The field of the definition that the action is from shows the fault; an empty field is not
  // wrong.
  const others = errors?.filter(({ pointer }) => pointer !== "/event/action")
  const isAssumed = form.optional("event.action") === undefined
  return isAssumed && others !== undefined && others.length > 0
    ? { ...error, errors: others }
    : error
}

/**
 * The earnings of the form's event, completed by `assumed`. `drafts` are members of a preview: `{
 * rule, ruleId }`. In a refusal, the faults of the draft `noun` have pointers into its form.
 */
const tryOut = (
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

/** The fields of the event, and the button that tries it at the draft's address. */
const tryFields = ({ address, faults, form }: Draft, actionHint: string): Html =>
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
      hint: actionHint,
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
  currencies: ({ currencies = {} }: Simulation): Content =>
    Object.entries(currencies)
      .map(([key, change]) => `${key} ${amount(change)}`)
      .join("; "),
  freezes: ({ freezes = {} }: Simulation): Content =>
    Object.entries(freezes)
      .map(([key, change]) => `${key} ${amount(change)}`)
      .join("; "),
  level: ({ level }: Simulation): Content =>
    level.before === level.after ? level.after : `${level.before} to ${level.after}`,
  badges: ({ badges }: Simulation): Content => badges.map(badgeTitle).join(", "),
  quests: ({ quests }: Simulation): Content =>
    quests
      .map(({ progress, status, title }) =>
        status === "in_progress"
          ? `${title}: ${Math.round(progress * 100)}%`
          : `${title}: ${status.replace("_", " ")}`,
      )
      .join(", "),
  streaks: ({ streaks }: Simulation): Content =>
    streaks.map(({ current, key }) => `${key}: ${current}`).join(", "),
  boosts: ({ boosts = [] }: Simulation): Content => boostWords(boosts),
  metrics: ({ metrics = [] }: Simulation): Content =>
    metrics.map(({ key, total }) => `${key}: ${total ?? "none"}`).join(", "),
  goals: ({ goals = [] }: Simulation): Content =>
    goals
      .map(({ contributed, key, reached }) =>
        reached === undefined
          ? `${key}: +${contributed}`
          : `${key}: +${contributed}, ${reached}% reached`,
      )
      .join("; "),
}

const sources = (
  { base }: PlaceVisit,
  draftIds: ReadonlySet<string>,
  { given }: Simulation,
): Html =>
  html`<ul class="plain">${given.map(
    ({ badges, boosts = [], currencies, freezes, points, source, xp }) => {
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
        ...Object.entries(currencies ?? {}).map(([key, amount]) => `${amount} ${key}`),
        ...Object.entries(freezes ?? {}).map(([key, amount]) => `${amount} freezes of ${key}`),
        ...boosts.map((key) => `boost ${key}`),
        badges.length > 0 && `${badges.length} badges`,
      ].filter((part) => part !== false)
      return html`<li>${from}: ${what.join(", ") || "nothing"}</li>`
    },
  )}</ul>`

/**
 * The event's earnings now beside those with the draft. `id` is the id of the definition, if it is
 * saved.
 */
const outcomeTable = (
  visit: PlaceVisit,
  { isNew, now, then }: Outcome,
  noun: string,
  id: string | undefined,
): Html => {
  const draftIds = new Set([id ?? "", "rul_draft", "qst_draft", "bdg_draft", "bst_draft"])
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
    row("Further currencies", words.currencies),
    row("Freezes", words.freezes),
    row("Level", words.level),
    row("Badges", words.badges),
    row("Quests", words.quests),
    row("Streaks", words.streaks),
    row("Boosts", words.boosts),
    row("Metrics", words.metrics),
    row("Goals", words.goals),
    row("From", (simulation) => sources(visit, draftIds, simulation)),
  ],
)}</section>`
}

interface Shown {
  readonly id: string
  readonly version: number
}

/** How a form is tried before it is saved. */
export interface Trial {
  /** The names of its fields, for `refusal`. */
  readonly names: ReadonlyArray<string>
  /** Its fields, and the button that tries the form at the draft's address. */
  readonly fields: (draft: Draft) => Html
  /** The outcome for the form of a definition; `id`: that of a saved one. */
  readonly run: (
    visit: PlaceVisit,
    form: Form,
    id: string | undefined,
  ) => Effect.Effect<Html, LaurelError>
}

/**
 * A trial by an event. `eventOf`: the event, if its fields are empty; `draftOf`: the definition in
 * the form, unchecked.
 */
export const eventTrial = (
  noun: Lowercase<string>,
  eventOf: (form: Form, id: string | undefined) => AssumedEvent,
  draftOf: (form: Form) => unknown,
  actionHint = `The action that the ${noun} names, if empty.`,
): Trial => ({
  names: eventNames,
  fields: (draft) => tryFields(draft, actionHint),
  run: (visit, form, id) => {
    const drafts = { [noun]: draftOf(form), ...(id !== undefined && { [`${noun}Id`]: id }) }
    return Effect.map(tryOut(visit, form, noun, drafts, eventOf(form, id)), (outcome) =>
      outcomeTable(visit, outcome, noun, id),
    )
  },
})

/** The editor of a kind of definition. `Choices` are the objects that its fields can refer to. */
export interface Editor<Definition extends Shown, Choices> {
  readonly noun: Lowercase<string>
  /** The path below that of an environment, such as `/rules`. */
  readonly path: string
  readonly titleOf: (definition: Definition) => string
  readonly find: (visit: PlaceVisit, id: string) => Effect.Effect<Definition, LaurelError>
  readonly create: (
    visit: PlaceVisit,
    payload: unknown,
    idempotencyKey: string | undefined,
  ) => Effect.Effect<Definition, LaurelError>
  readonly update: (
    visit: PlaceVisit,
    id: string,
    patch: unknown,
    ifMatch: number,
  ) => Effect.Effect<Definition, LaurelError>
  readonly choices: (visit: PlaceVisit) => Effect.Effect<Choices, LaurelError>
  /** The texts of a new form. */
  readonly blank: Texts
  /** The fields of a new form that the address may fill. */
  readonly filled?: ReadonlyArray<string>
  readonly textsOf: (definition: Definition) => Texts
  /** Fields of rows that have a text in a new row. */
  readonly preset: ReadonlyArray<string>
  readonly fields: (draft: Draft, choices: Choices, isNew: boolean) => Content
  /** The names of all fields, for `refusal`. */
  readonly names: (form: Form) => ReadonlyArray<string>
  /** Absent: the definition changes nothing that an event does. */
  readonly trial?: Trial
  /** The definition in the form, unchecked. */
  readonly draftOf: (form: Form) => unknown
  /** Whether no change of a saved definition changes what an event does. */
  readonly isTriedOnlyNew?: true
  /** The faults of a change that the schema cannot see. */
  readonly changeFaults?: (form: Form, current: Definition) => ReadonlyArray<Fault>
  /** The patch from `current` to the definition in the form. */
  readonly patchOf: (form: Form, current: Definition) => unknown
  /** Whether the definition can change at all. */
  readonly canChange: (definition: Definition) => boolean
  /** The part above the form of a definition: its state, and buttons that change it. */
  readonly above: (
    visit: PlaceVisit,
    definition: Definition,
    mayChange: boolean,
  ) => Effect.Effect<Content, LaurelError>
}

/** Unsaved parts of a definition's page. */
interface Try {
  readonly form: Form
  readonly error?: LaurelError
  /** The definition as changed since the form was made. */
  readonly changed?: Texts
  readonly outcome?: Html
}

/** The routes of a kind's pages for one definition: new, shown, changed. */
export const editorRoutes = <Definition extends Shown, Choices>(
  editor: Editor<Definition, Choices>,
): ReadonlyArray<Route> => {
  const { noun, path } = editor
  const pages = new EditorPages(editor)
  const one = `${path}/:${noun}`
  const fresh = `${path}/new`
  return [
    placePage(fresh, (visit) => pages.formPage(visit, { form: blankForm(editor, visit) }), "admin"),
    placeForm(fresh, `${noun}.create`, (visit) => pages.create(visit)),
    placeForm(`${fresh}/draft`, "none", (visit) => pages.draft(visit)),
    placePage(one, (visit) =>
      Effect.flatMap(pages.find(visit), (definition) =>
        pages.formPage(visit, { form: formOf(editor.textsOf(definition)) }, definition),
      ),
    ),
    placeForm(one, `${noun}.update`, (visit) =>
      Effect.flatMap(pages.find(visit), (definition) => pages.update(visit, definition)),
    ),
    placeForm(`${one}/draft`, "none", (visit) =>
      Effect.flatMap(pages.find(visit), (definition) => pages.draft(visit, definition)),
    ),
  ]
}

type Answer = Effect.Effect<Reply, LaurelError>

/** The answers of the routes. Without a `definition` they are about a new one. */
class EditorPages<Definition extends Shown, Choices> {
  readonly #editor: Editor<Definition, Choices>

  constructor(editor: Editor<Definition, Choices>) {
    this.#editor = editor
  }

  /** The definition that the address names. */
  find(visit: PlaceVisit): Effect.Effect<Definition, LaurelError> {
    return this.#editor.find(visit, visit.params[this.#editor.noun]!)
  }

  formPage(visit: PlaceVisit, tried: Try, definition?: Definition): Answer {
    const editor = this.#editor
    return Effect.gen({ self: this }, function* () {
      const choices = yield* editor.choices(visit)
      const allowed = mayChange(visit)
      const above =
        definition === undefined ? undefined : yield* editor.above(visit, definition, allowed)
      const editable = allowed && (definition === undefined || editor.canChange(definition))
      const { changed, error, form } = tried
      const { noun } = editor
      const seen = editable ? yield* seenActions(visit.ask) : []
      return visit.show(
        definition === undefined ? `Create ${noun}` : editor.titleOf(definition),
        html`${noticeOf(visit)}
${above}
${changed !== undefined && differences(form.texts(), changed)}
${refusal(error, [...editor.names(form), ...(editor.trial?.names ?? [])], form.text("intent") === "try" ? "Nothing was tried" : undefined)}
${
  editable &&
  suggestions(
    seen.map(({ action }) => action),
    suggestedPaths(seen, actionsIn(form)),
  )
}
${this.#fields({ visit, tried, definition, choices, editable, seen })}`,
        error ?? (changed === undefined ? 200 : errorKinds.version_conflict.status),
      )
    })
  }

  #fields({
    choices,
    definition,
    editable,
    seen,
    tried: { changed, error, form, outcome },
    visit,
  }: {
    readonly visit: PlaceVisit
    readonly tried: Try
    readonly definition: Definition | undefined
    readonly choices: Choices
    readonly editable: boolean
    readonly seen: ReadonlyArray<SeenAction>
  }): Html {
    const { fields, noun, trial } = this.#editor
    const isNew = definition === undefined
    const address = this.#addressOf(visit, definition?.id)
    const draft: Draft = { form, faults: error?.errors, address: `${address}/draft`, seen }
    const version = (changed === undefined && form.text(versionField)) || definition?.version
    return html`<form method="post" action="${address}">
${firstButton}
${isNew ? idempotencyField() : versionInput(version)}
<fieldset class="bare"${!editable && html` disabled`}>
${fields(draft, choices, isNew)}
${
  editable &&
  trial !== undefined &&
  (isNew || this.#editor.isTriedOnlyNew !== true) &&
  html`<div class="trial">${trial.fields(draft)}${outcome}</div>`
}
</fieldset>
${editable && saveRow(visit.place, isNew ? `Create ${noun}` : `Save ${noun}`)}
</form>`
  }

  create(visit: PlaceVisit): Answer {
    const editor = this.#editor
    const form = trimmed(visit.form, new Map())
    const key = form.optional("idempotencyKey")
    return this.#save(visit, form, (whole) => editor.create(visit, editor.draftOf(whole), key))
  }

  update(visit: PlaceVisit, definition: Definition): Answer {
    const editor = this.#editor
    const now = editor.textsOf(definition)
    const form = trimmed(visit.form, now)
    const { version } = definition
    if ((versionIn(form) ?? version) !== version) {
      return this.formPage(visit, { form, changed: now }, definition)
    }
    const change = (whole: Form) => {
      const faults = editor.changeFaults?.(whole, definition) ?? []
      return faults.length > 0
        ? Effect.fail(invalidRequest(faults))
        : editor.update(visit, definition.id, editor.patchOf(whole, definition), version)
    }
    return this.#save(visit, form, change, definition)
  }

  /** Saves a form: the page of the definition, or the form with the reasons of a refusal. */
  #save(
    visit: PlaceVisit,
    form: Form,
    save: (form: Form) => Effect.Effect<Definition, LaurelError>,
    definition?: Definition,
  ): Answer {
    const editor = this.#editor
    const whole = withoutBlankRows(form, editor.preset)
    return save(whole).pipe(
      Effect.map((now) =>
        about(redirectWithNotice(visit, this.#addressOf(visit, now.id), "Saved."), {
          subject: now.id,
          detail: editor.titleOf(now),
        }),
      ),
      Effect.catch((error) =>
        error.code === "version_conflict"
          ? // Somebody else's change came between the look and the change.
            Effect.flatMap(this.find(visit), (changed) =>
              this.formPage(visit, { form: whole, changed: editor.textsOf(changed) }, changed),
            )
          : this.formPage(visit, { form: whole, error }, definition),
      ),
    )
  }

  /**
   * The form as one of its buttons asks: with another row, or with the outcome of its event. Saves
   * nothing.
   */
  draft(visit: PlaceVisit, definition?: Definition): Answer {
    const editor = this.#editor
    const saved: Texts = definition === undefined ? new Map() : editor.textsOf(definition)
    const form = trimmed(visit.form, saved)
    const intent = form.text("intent")
    const { trial } = editor
    if (intent !== "try" || trial === undefined) {
      return this.formPage(visit, { form: rearranged(form, intent) ?? form }, definition)
    }
    const whole = withoutBlankRows(form, editor.preset)
    return trial.run(visit, whole, definition?.id).pipe(
      Effect.flatMap((outcome) => this.formPage(visit, { form: whole, outcome }, definition)),
      Effect.catch((error) => this.formPage(visit, { form: whole, error }, definition)),
    )
  }

  #addressOf({ base }: PlaceVisit, id = "new"): string {
    return `${base}${this.#editor.path}/${encodeURIComponent(id)}`
  }
}

/** Members with `null` are left out: a new definition has its defaults there. */
export const withoutNulls = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))

/** A new form, with the texts that a link gives it. */
const blankForm = (
  { blank, filled = [] }: Pick<Editor<never, never>, "blank" | "filled">,
  { request: { query } }: PlaceVisit,
): Form =>
  formOf(new Map([...blank, ...filled.map((name) => [name, query.get(name) ?? ""] as const)]))

/**
 * A form with one button that changes a definition at once. `name` distinguishes it for screen
 * readers.
 */
export const actionForm = (action: string, label: string, name: string, version: number): Html =>
  html`<form method="post" action="${action}">${versionInput(version)}<button aria-label="${label} ${name}">${label}</button></form>`

export interface Action {
  /** The name of the definition in the path, such as `rule`. */
  readonly noun: Lowercase<string>
  readonly verb: Lowercase<string>
  /** The list, such as `/rules`. */
  readonly path: string
  readonly change: (
    visit: PlaceVisit,
    id: string,
    ifMatch: number | undefined,
  ) => Effect.Effect<unknown, LaurelError>
  /** The next page; by default the list. */
  readonly next?: (visit: PlaceVisit, id: string) => string
}

/** The route of a button: changes a definition, then redirects to the next page. */
export const actionRoute = ({ change, next, noun, path, verb }: Action): Route =>
  placeForm(`${path}/:${noun}/${verb}`, `${noun}.${verb}` satisfies AuditAction, (visit) => {
    const id = visit.params[noun]!
    const list = `${visit.base}${path}`
    return change(visit, id, versionIn(visit.form)).pipe(
      Effect.as(redirect(next === undefined ? list : next(visit, id))),
      Effect.catch((error) =>
        Effect.succeed(
          visit.show(
            "Nothing was changed",
            html`${refusal(error, [])}<p><a href="${list}">Back to the list</a></p>`,
            error,
          ),
        ),
      ),
    )
  })
