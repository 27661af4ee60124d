/**
 * Forms that change a saved definition or setting. A form holds the version that it was made from.
 * If the saved version is newer, nothing is saved, and the page shows both.
 */
import type { Fault, LaurelError } from "../../domain/values/Errors.ts"
import type { SeenAction } from "./Actions.ts"
import { type Form, formOf } from "./Forms.ts"
import { type Html, html } from "./Html.ts"
import { table } from "./Lists.ts"
import { badge, type Place } from "./Page.ts"

export type Texts = ReadonlyMap<string, string>

/**
 * A form on a page: with the faults of the last try, and the address that adds or removes its rows.
 */
export interface Draft {
  readonly form: Form
  readonly faults: ReadonlyArray<Fault> | undefined
  readonly address: string
  /** The actions of the environment's events, where the form has paths of their metadata. */
  readonly seen?: ReadonlyArray<SeenAction>
}

/** The field with the version of the definition that the form was made from. */
export const versionField = "version"

/** The hidden field of a form that changes `version` and no other. */
export const versionInput = (version: number | string | undefined): Html =>
  html`<input type="hidden" name="${versionField}" value="${version}">`

/**
 * The version that a form was made from; `undefined` if the form does not say it. An invalid text
 * becomes a number that matches no version.
 */
export const versionIn = (form: Form): number | undefined => {
  const text = form.text(versionField)
  return text === "" ? undefined : Number(text)
}

/** The main button of a form, which names the environment. */
export const saveRow = ({ environment }: Place, label: string): Html =>
  html`<p class="row"><button class="main" name="intent" value="save">${label}</button> <span>in ${badge(environment)}</span></p>`

/** Saves on Enter: browsers press the first button of a form. */
export const firstButton = html`<button class="first" name="intent" value="save" tabindex="-1" aria-hidden="true">Save</button>`

/** Whether a field of the form belongs to no definition. */
const isOurs = (name: string): boolean =>
  name === versionField || name === "intent" || name.startsWith("event.")

/** What was typed beside what is saved now. */
export const differences = (sent: Texts, now: Texts): Html => {
  const names = [...new Set([...now.keys(), ...sent.keys()])].filter(
    (name) => !isOurs(name) && (now.get(name) ?? "") !== (sent.get(name) ?? ""),
  )
  return html`<div class="alert" role="alert"><p>Nothing was saved: somebody else saved a change while you edited. Your version is below: save it to replace theirs.</p>
${
  names.length === 0
    ? html`<p>Both versions are the same.</p>`
    : table(
        "Differences",
        ["Field", "Saved now", "Yours"],
        names.map((name) => [html`<code>${name}</code>`, now.get(name), sent.get(name)]),
      )
}</div>`
}

const withPlainLines = (text: string | undefined) => text?.replaceAll(/\r\n?/g, "\n")

/** The form without spaces around its texts. A text that equals the saved text is not trimmed. */
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

/** The refusal of a preview, with pointers into the form of its draft `noun`. */
export const draftRefusal = (error: LaurelError, noun: string): LaurelError => {
  const start = `/${noun}/`
  const own = (fault: Fault): Fault =>
    fault.pointer.startsWith(start)
      ? { ...fault, pointer: fault.pointer.slice(start.length - 1) }
      : fault
  return error.errors === undefined ? error : { ...error, errors: error.errors.map(own) }
}
