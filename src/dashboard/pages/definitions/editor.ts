/**
 * The pages that create and change one definition. A page shows the texts of a form: those that were sent, or those of
 * the definition. So an unchanged form says what is saved, and a refused one keeps what was typed.
 *
 * The form has the time of the change that it was made from. Where the definition has changed since, nothing is saved:
 * the page shows both, and the form gets the new time, so that saving again is a decision.
 */
import { Effect } from "effect"
import { type Fault, invalidRequest, type LaurelError } from "../../../domain/values/Errors.ts"
import { noticeOf, redirectWithNotice } from "../../request/notice.ts"
import {
  mayChange,
  type PlaceVisit,
  placeForm,
  placePage,
  type Route,
} from "../../request/Route.ts"
import {
  type Draft,
  differences,
  firstButton,
  saveRow,
  type Texts,
  trimmed,
  versionField,
} from "../../view/Editing.ts"
import { type Form, formOf, idempotencyField, refusal } from "../../view/Forms.ts"
import { type Content, html } from "../../view/Html.ts"
import { about, type Reply } from "../../view/Replies.ts"
import { rearranged, withoutBlankRows } from "../../view/Rows.ts"
import {
  type AssumedEvent,
  eventNames,
  type Outcome,
  outcomeTable,
  tryFields,
  tryOut,
} from "./preview.ts"

interface Shown {
  readonly id: string
  readonly updatedAt: string
}

/** How a kind of definition is edited. `Choices` is what its fields can refer to. */
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
  /** The event with which the definition can be tried; `id` is its own, if it has one. */
  readonly eventOf: (form: Form, id: string | undefined) => AssumedEvent
  /** The definition that the form describes, for the schema to check. */
  readonly draftOf: (form: Form) => unknown
  /** The faults of a change that the schema cannot see. */
  readonly changeFaults?: (form: Form, current: Definition) => ReadonlyArray<Fault>
  /** The change of `current` to what the form describes. */
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
  readonly outcome?: Outcome
}

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
    const { show } = visit
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
      html`${noticeOf(visit)}
${above}
${changed !== undefined && differences(form, changed)}
${outcome !== undefined && outcomeTable(visit, outcome, noun, definition?.id)}
${refusal(error, [...editor.names(form), ...eventNames], form.text("intent") === "try" ? "Nothing was tried" : undefined)}
<form method="post" action="${address}">
${firstButton}
${
  definition === undefined
    ? idempotencyField()
    : html`<input type="hidden" name="${versionField}" value="${current}">`
}
<fieldset class="bare"${!editable && html` disabled`}>
${editor.fields(draft, choices, definition === undefined)}
${editable && tryFields(form, error?.errors, draft.address, noun)}
</fieldset>
${editable && saveRow(visit.place, definition === undefined ? `Create ${noun}` : `Save ${noun}`)}
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
        about(redirectWithNotice(visit, addressOf(visit, now.id), "Saved."), {
          subject: now.id,
          detail: editor.titleOf(now),
        }),
      ),
      Effect.catch((error) => formPage(visit, { form: whole, error }, definition)),
    )
  }

  const found = (visit: PlaceVisit) => editor.find(visit, visit.params[noun]!)

  /** The form as one of its buttons asks, unsaved. */
  const drafted = (visit: PlaceVisit, definition?: Definition) => {
    const form = trimmed(visit.form, textsOf(editor, definition))
    if (form.text("intent") !== "try") {
      return formPage(visit, { form: rearranged(form, form.text("intent")) ?? form }, definition)
    }
    const whole = withoutBlankRows(form, editor.preset)
    const id = definition && { [`${noun}Id`]: definition.id }
    const drafts = { [noun]: editor.draftOf(whole), ...id }
    return tryOut(visit, whole, noun, drafts, editor.eventOf(whole, definition?.id)).pipe(
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
