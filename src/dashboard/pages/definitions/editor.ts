/**
 * The pages that create and change one definition. A page shows the texts of a form: those that were sent, or those of
 * the definition. So an unchanged form says what is saved, and a refused one keeps what was typed.
 *
 * The form has the time of the change that it was made from. Where the definition has changed since, nothing is saved:
 * the page shows both, and the form gets the new time, so that saving again is a decision.
 */
import { Effect } from "effect"
import { type Fault, invalidRequest, type LaurelError } from "../../../domain/values/Errors.ts"
import {
  mayChange,
  type PlaceVisit,
  placeForm,
  placePage,
  type Route,
} from "../../request/Route.ts"
import { type Form, formOf, idempotencyField, refusal } from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { table } from "../../view/Lists.ts"
import { badge } from "../../view/Page.ts"
import { about, type Reply, redirect } from "../../view/Replies.ts"
import { rearranged, withoutBlankRows } from "../../view/Rows.ts"
import { eventNames, type Outcome, outcomeTable, tryFields, tryOut } from "./preview.ts"

export type Texts = ReadonlyMap<string, string>

interface Shown {
  readonly id: string
  readonly updatedAt: string
}

/** How a kind of definition is edited. `Choices` is what its fields can refer to. */
export interface Editor<Definition extends Shown, Choices> {
  readonly noun: Lowercase<string>
  /** What follows the path of an environment, such as `/rules`. */
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
  ) => Effect.Effect<Definition, LaurelError>
  readonly choices: (visit: PlaceVisit) => Effect.Effect<Choices, LaurelError>
  /** The texts of a new form. */
  readonly blank: Texts
  readonly textsOf: (definition: Definition) => Texts
  /** Fields of rows that have a text from the beginning. */
  readonly preset: ReadonlyArray<string>
  readonly fields: (draft: Draft, choices: Choices, isNew: boolean) => Content
  /** The names of all fields, for `refusal`. */
  readonly names: (form: Form) => ReadonlyArray<string>
  /** An action with which the definition can be tried. */
  readonly actionOf: (form: Form) => string
  /** The definition that the form describes, for the schema to check. */
  readonly draftOf: (form: Form) => unknown
  /** The faults of a change that the schema cannot see. */
  readonly changeFaults?: (form: Form, current: Definition) => ReadonlyArray<Fault>
  /** The change of `current` to what the form describes. */
  readonly patchOf: (form: Form, current: Definition) => unknown
  /** Whether the definition can change at all. */
  readonly canChange: (definition: Definition) => boolean
  /** What stands above the form of a definition: its state, and buttons that change it. */
  readonly above: (
    visit: PlaceVisit,
    definition: Definition,
    mayChange: boolean,
  ) => Effect.Effect<Content, LaurelError>
}

/** A form as it is shown: with the faults of the last try, and the address that shows it with other rows. */
export interface Draft {
  readonly form: Form
  readonly faults: ReadonlyArray<Fault> | undefined
  readonly address: string
}

/** What a page of a definition shows beside what is saved. */
interface Try {
  readonly form: Form
  readonly error?: LaurelError
  /** What the definition has become since the form was made. */
  readonly changed?: Texts
  readonly outcome?: Outcome
}

/** The field that says which state of a definition a form was made from. */
export const versionField = "version"

/** The main button of a form, which names the environment. */
export const saveRow = ({ place }: PlaceVisit, label: string): Html =>
  html`<p class="row"><button class="main" name="intent" value="save">${label}</button> <span>in ${badge(place.environment)}</span></p>`

/** Pressing Enter in a field presses the first button of a form: this one, which saves. */
export const firstButton = html`<button class="first" name="intent" value="save" tabindex="-1" aria-hidden="true">Save</button>`

/** Whether a field of the form belongs to no definition. */
const isOurs = (name: string): boolean =>
  name === versionField || name === "intent" || name.startsWith("event.")

export const differences = (form: Form, now: Texts): Html => {
  const sent = form.texts()
  const names = [...new Set([...now.keys(), ...sent.keys()])].filter(
    (name) => !isOurs(name) && (now.get(name) ?? "") !== (sent.get(name) ?? ""),
  )
  return html`<div class="alert" role="alert"><p>Nothing was saved: it was changed by somebody else while you edited. Below is your version; saving it replaces the other one.</p>
${
  names.length === 0
    ? html`<p>Both say the same.</p>`
    : table(
        "Differences",
        ["Field", "Saved now", "Yours"],
        names.map((name) => [html`<code>${name}</code>`, now.get(name), sent.get(name)]),
      )
}</div>`
}

const withPlainLines = (text: string | undefined) => text?.replaceAll(/\r\n?/g, "\n")

/** The form without spaces around its texts. A text that is saved otherwise, and unchanged, stays as it is. */
export const trimmed = (form: Form, saved: Texts): Form =>
  formOf(
    [...form.texts()].map(([name, text]) => {
      const plain = withPlainLines(text)!
      const before = saved.get(name)
      return [
        name,
        before !== undefined && withPlainLines(before) === plain ? before : plain.trim(),
      ]
    }),
  )

/** The routes of a kind's pages for one definition: new, shown, changed. */
export const editorRoutes = <Definition extends Shown, Choices>(
  editor: Editor<Definition, Choices>,
): ReadonlyArray<Route> => {
  const { noun, path } = editor
  const one = `${path}/:${noun}`
  const fresh = `${path}/new`
  const addressOf = ({ base }: PlaceVisit, id = "new") => `${base}${path}/${encodeURIComponent(id)}`

  const formPage = Effect.fnUntraced(function* (
    visit: PlaceVisit,
    tried: Try,
    definition?: Definition,
  ): Effect.fn.Return<Reply, LaurelError> {
    const { changed, error, form, outcome } = tried
    const { request, show } = visit
    const choices = yield* editor.choices(visit)
    const allowed = mayChange(visit)
    const editable = allowed && (definition === undefined || editor.canChange(definition))
    const above =
      definition === undefined ? undefined : yield* editor.above(visit, definition, allowed)
    const address = addressOf(visit, definition?.id)
    const draft: Draft = { form, faults: error?.errors, address: `${address}/draft` }
    const current = (changed === undefined && form.text(versionField)) || definition?.updatedAt
    return show(
      definition === undefined ? `Create ${noun}` : editor.titleOf(definition),
      html`${request.query.has("saved") && html`<p role="status" class="done">Saved.</p>`}
${above}
${changed !== undefined && differences(form, changed)}
${outcome !== undefined && outcomeTable(visit, outcome, noun, definition?.id)}
${refusal(error, [...editor.names(form), ...eventNames])}
<form method="post" action="${address}">
${firstButton}
${
  definition === undefined
    ? idempotencyField()
    : html`<input type="hidden" name="${versionField}" value="${current}">`
}
<fieldset class="bare"${!editable && html` disabled`}>
${editor.fields(draft, choices, definition === undefined)}
${editable && tryFields(withEvent(form), error?.errors, draft.address)}
</fieldset>
${editable && saveRow(visit, definition === undefined ? `Create ${noun}` : `Save ${noun}`)}
</form>`,
      error ?? (changed === undefined ? 200 : 409),
    )
  })

  /** Saves a form: the page of the definition, or the form with the reasons of a refusal. */
  const saved = (
    visit: PlaceVisit,
    form: Form,
    save: (form: Form) => Effect.Effect<Definition, LaurelError>,
    definition?: Definition,
  ): Effect.Effect<Reply, LaurelError> => {
    const whole = withoutBlankRows(form, editor.preset)
    return save(whole).pipe(
      Effect.map((now) =>
        about(redirect(`${addressOf(visit, now.id)}?saved`), {
          subject: now.id,
          detail: editor.titleOf(now),
        }),
      ),
      Effect.catch((error) => formPage(visit, { form: whole, error }, definition)),
    )
  }

  const found = (visit: PlaceVisit) => editor.find(visit, visit.params[noun]!)

  /** The form with an event for it. */
  const withEvent = (form: Form): Form =>
    form.text("event.action") === ""
      ? formOf([...form.texts().set("event.action", editor.actionOf(form))])
      : form

  /** The form as one of its buttons asks, unsaved. */
  const drafted = (visit: PlaceVisit, definition?: Definition) => {
    const form = trimmed(visit.form, textsOf(editor, definition))
    if (form.text("intent") !== "try") {
      return formPage(visit, { form: rearranged(form, form.text("intent")) ?? form }, definition)
    }
    const whole = withoutBlankRows(form, editor.preset)
    const id = definition && { [`${noun}Id`]: definition.id }
    return tryOut(visit, whole, noun, { [noun]: editor.draftOf(whole), ...id }).pipe(
      Effect.flatMap((outcome) => formPage(visit, { form: whole, outcome }, definition)),
      Effect.catch((error) => formPage(visit, { form: whole, error }, definition)),
    )
  }

  return [
    placePage(fresh, (visit) => formPage(visit, { form: formOf(editor.blank) }), "admin"),
    placeForm(fresh, `${noun}.create`, (visit) => {
      const form = trimmed(visit.form, new Map())
      const key = form.optional("idempotencyKey")
      return saved(visit, form, (whole) => editor.create(visit, editor.draftOf(whole), key))
    }),
    placeForm(`${fresh}/draft`, "none", (visit) => drafted(visit)),
    placePage(one, (visit) =>
      Effect.flatMap(found(visit), (definition) =>
        formPage(visit, { form: formOf(editor.textsOf(definition)) }, definition),
      ),
    ),
    placeForm(
      one,
      `${noun}.update`,
      Effect.fnUntraced(function* (visit) {
        const definition = yield* found(visit)
        const now = editor.textsOf(definition)
        const form = trimmed(visit.form, now)
        const before = form.text(versionField)
        if (before !== "" && before !== definition.updatedAt) {
          return yield* formPage(visit, { form, changed: now }, definition)
        }
        const change = (whole: Form) => {
          const faults = editor.changeFaults?.(whole, definition) ?? []
          return faults.length > 0
            ? Effect.fail(invalidRequest(faults))
            : editor.update(visit, definition.id, editor.patchOf(whole, definition))
        }
        return yield* saved(visit, form, change, definition)
      }),
    ),
    placeForm(`${one}/draft`, "none", (visit) =>
      Effect.flatMap(found(visit), (definition) => drafted(visit, definition)),
    ),
  ]
}

const textsOf = <Definition extends Shown, Choices>(
  editor: Editor<Definition, Choices>,
  definition: Definition | undefined,
): Texts => (definition === undefined ? new Map() : editor.textsOf(definition))

/** Members with `null` are left out: a new definition has its defaults there. */
export const withoutNulls = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
