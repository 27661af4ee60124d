/**
 * Forms that change what is saved. A form has the version that it was made from; where what is saved has changed since,
 * nothing is saved and the page shows both.
 */
import type { Fault, LaurelError } from "../../domain/values/Errors.ts"
import { type Form, formOf } from "./Forms.ts"
import { type Html, html } from "./Html.ts"
import { table } from "./Lists.ts"
import { badge, type Place } from "./Page.ts"

export type Texts = ReadonlyMap<string, string>

/** A form as it is shown: with the faults of the last try, and the address that shows it with other rows. */
export interface Draft {
  readonly form: Form
  readonly faults: ReadonlyArray<Fault> | undefined
  readonly address: string
}

/** The field that says which state of a definition a form was made from. */
export const versionField = "version"

/** The main button of a form, which names the environment. */
export const saveRow = ({ environment }: Place, label: string): Html =>
  html`<p class="row"><button class="main" name="intent" value="save">${label}</button> <span>in ${badge(environment)}</span></p>`

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

/** A refused preview with the pointers of the form of its draft `noun`. */
export const draftRefusal = (error: LaurelError, noun: string): LaurelError => {
  const start = `/${noun}/`
  const own = (fault: Fault): Fault =>
    fault.pointer.startsWith(start)
      ? { ...fault, pointer: fault.pointer.slice(start.length - 1) }
      : fault
  return error.errors === undefined ? error : { ...error, errors: error.errors.map(own) }
}
