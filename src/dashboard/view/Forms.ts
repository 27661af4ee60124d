/** Forms: what a browser sent, and the fields of a page with the faults of the last try beside them. */
import type { Fault } from "../../domain/values/Errors.ts"
import { type Content, type Html, html } from "./Html.ts"

/** A form as it was sent; a field that is absent is empty. */
export class Form {
  readonly #fields: URLSearchParams

  constructor(body: string) {
    this.#fields = new URLSearchParams(body)
  }

  text(name: string): string {
    return this.#fields.get(name) ?? ""
  }

  all(name: string): ReadonlyArray<string> {
    return this.#fields.getAll(name)
  }
}

export const emptyForm = new Form("")

interface Field {
  readonly name: string
  readonly label: string
  /** One sentence below the field. */
  readonly hint?: Content
  readonly faults?: ReadonlyArray<Fault> | undefined
  /** Pointers of faults that are shown here; the name with a slash before it, if not given. */
  readonly pointer?: string
}

/** The details of the faults at a field. */
const faultsAt = ({ faults = [], name, pointer = `/${name}` }: Field): ReadonlyArray<string> =>
  faults.filter((fault) => fault.pointer === pointer).map(({ detail }) => detail)

const around = (field: Field, control: (describedBy: Html) => Html): Html => {
  const { hint, label, name } = field
  const details = faultsAt(field)
  const described = [
    ...(hint === undefined ? [] : [`${name}-hint`]),
    ...(details.length === 0 ? [] : [`${name}-fault`]),
  ].join(" ")
  const attributes = html`${described !== "" && html` aria-describedby="${described}"`}${
    details.length > 0 && html` aria-invalid="true"`
  }`
  return html`<div class="field"><label for="${name}">${label}</label>
${control(attributes)}
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${details.length > 0 && html`<p class="fault" id="${name}-fault">${label} ${details.join("; ")}.</p>`}</div>`
}

export const textField = (
  field: Field & {
    readonly value?: string
    readonly type?: "email" | "password" | "text"
    readonly autocomplete?: string
    readonly required?: boolean
    readonly charactersMax?: number
  },
): Html => {
  const { autocomplete = "off", charactersMax, name, required, type = "text", value = "" } = field
  return around(
    field,
    (attributes) =>
      html`<input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}"${
        charactersMax !== undefined && html` maxlength="${charactersMax}"`
      }${required === true && html` required`}${attributes}>`,
  )
}

export const selectField = (
  field: Field & {
    readonly value?: string
    readonly options: ReadonlyArray<readonly [value: string, label: string]>
  },
): Html =>
  around(
    field,
    (attributes) =>
      html`<select id="${field.name}" name="${field.name}"${attributes}>${field.options.map(
        ([value, label]) =>
          html`<option value="${value}"${value === field.value && html` selected`}>${label}</option>`,
      )}</select>`,
  )

/** The faults of a try that belong to no field of the form. */
export const otherFaults = (
  faults: ReadonlyArray<Fault> | undefined,
  fields: ReadonlyArray<string>,
): ReadonlyArray<string> =>
  (faults ?? [])
    .filter(({ pointer }) => !fields.some((name) => pointer === `/${name}`))
    .map(({ detail, pointer }) => `${pointer}: ${detail}`)
