/**
 * Forms as a browser sends them, and the fields of a page with the faults of the last try. The name
 * of a field is the path of its member with dots (`reward.xp`, `where.0.value`), so the pointer of
 * a fault names its field.
 */
import { randomUUID } from "node:crypto"
import type { Fault, LaurelError } from "../../domain/values/Errors.ts"
import { type Content, type Html, html } from "./Html.ts"

/** A form as it was sent. An absent field counts as empty. */
export class Form {
  readonly #fields: URLSearchParams

  constructor(body: string) {
    this.#fields = new URLSearchParams(body)
  }

  text(name: string): string {
    return this.#fields.get(name) ?? ""
  }

  /** The text of a field; `undefined` if it is empty. */
  optional(name: string): string | undefined {
    const text = this.text(name).trim()
    return text === "" ? undefined : text
  }

  /**
   * The number in a field; `undefined` if it is empty. Other text stays text, and the schema
   * refuses it.
   */
  number(name: string): number | string | undefined {
    const text = this.optional(name)
    return text !== undefined && Number.isFinite(Number(text)) ? Number(text) : text
  }

  /**
   * The JSON value in a field; `undefined` if it is empty. Other text stays text, and the schema
   * refuses it.
   */
  json(name: string): unknown {
    const text = this.optional(name)
    try {
      return text === undefined ? undefined : JSON.parse(text)
    } catch {
      return text
    }
  }

  checked(name: string): boolean {
    return this.#fields.has(name)
  }

  /** The words of a field, separated by commas, semicolons or spaces. */
  words(name: string): ReadonlyArray<string> {
    return this.text(name)
      .split(/[\s,;]+/)
      .filter((word) => word !== "")
  }

  /** The lines of a text area that are not empty. */
  lines(name: string): ReadonlyArray<string> {
    const lines = this.text(name).split(/\r?\n/)
    return lines.map((line) => line.trim()).filter((line) => line !== "")
  }

  /** The numbers n of the fields `name.n` or `name.n.…`, ascending, at most `max`. */
  indices(name: string, max: number): ReadonlyArray<number> {
    const found = new Set<number>()
    for (const field of this.#fields.keys()) {
      if (!field.startsWith(`${name}.`)) continue
      const [index = ""] = field.slice(name.length + 1).split(".")
      if (/^\d{1,4}$/.test(index)) found.add(Number(index))
    }
    return [...found].sort((one, other) => one - other).slice(0, max)
  }

  all(name: string): ReadonlyArray<string> {
    return this.#fields.getAll(name)
  }

  /** Every field with its first text. */
  texts(): Map<string, string> {
    const texts = new Map<string, string>()
    for (const [name, text] of this.#fields) if (!texts.has(name)) texts.set(name, text)
    return texts
  }
}

/** A form with these texts in its fields. */
export const formOf = (texts: Iterable<readonly [name: string, text: string]>): Form =>
  new Form(new URLSearchParams([...texts].map(([name, text]) => [name, text])).toString())

export const emptyForm = new Form("")

interface Field {
  readonly name: string
  readonly label: string
  /** One sentence below the field. */
  readonly hint?: Content
  /** A warning about the text, which may be saved nevertheless. */
  readonly warning?: Content
  readonly faults?: ReadonlyArray<Fault> | undefined
  /**
   * The pointer of the faults shown here. By default that of the name: `/where/0/value` for
   * `where.0.value`.
   */
  readonly pointer?: string
  /**
   * Whether faults below the pointer are shown here, too: those of the items, if one field holds a
   * list.
   */
  readonly below?: boolean
}

const pointerOf = (name: string): string => `/${name.replaceAll(".", "/")}`

/** Faults of query parameters, as faults of the fields with the same names. */
export const queryFaults = (faults: ReadonlyArray<Fault>): ReadonlyArray<Fault> =>
  faults.map((fault) => ({ ...fault, pointer: fault.pointer.replace(/^query/, "") }))

/** The details of the faults at a field. */
const faultsAt = ({
  below = false,
  faults = [],
  name,
  pointer = pointerOf(name),
}: Pick<Field, "below" | "faults" | "name" | "pointer">): ReadonlyArray<string> =>
  faults
    .filter(
      (fault) => fault.pointer === pointer || (below && fault.pointer.startsWith(`${pointer}/`)),
    )
    .map(({ detail }) => detail)

const around = (field: Field, control: (describedBy: Html) => Html): Html => {
  const { hint, label, name, warning } = field
  const details = faultsAt(field)
  const described = [
    ...(hint === undefined ? [] : [`${name}-hint`]),
    ...(warning === undefined ? [] : [`${name}-warning`]),
    ...(details.length === 0 ? [] : [`${name}-fault`]),
  ].join(" ")
  const attributes = html`${described !== "" && html` aria-describedby="${described}"`}${
    details.length > 0 && html` aria-invalid="true"`
  }`
  return html`<div class="field"><label for="${name}">${label}</label>
${control(attributes)}
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${warning !== undefined && html`<p class="warning" id="${name}-warning">${warning}</p>`}
${details.length > 0 && html`<p class="fault" id="${name}-fault">${label} ${details.join("; ")}.</p>`}</div>`
}

/** The list of suggestions for a field, by the last part of its name. */
const suggestionsFor = (name: string): string | undefined => {
  const last = name.slice(name.lastIndexOf(".") + 1)
  return last === "action" ? actionsList : /^path$|Path$/.test(last) ? metadataPathsList : undefined
}

/** More would be a list that nobody reads. */
const suggestionsMax = 200
const actionsList = "actions-seen"
/** The id of the list of paths. */
export const metadataPathsList = "paths-seen"

/** What the fields for an action and for a path into metadata suggest: once on their page. */
export const suggestions = (actions: ReadonlyArray<string>, paths: ReadonlyArray<string>): Html => {
  const list = (id: string, texts: ReadonlyArray<string>) =>
    html`<datalist id="${id}">${texts.slice(0, suggestionsMax).map((text) => html`<option value="${text}">`)}</datalist>`
  return html`${list(actionsList, actions)}${list(metadataPathsList, paths)}`
}

export const textField = (
  field: Field & {
    readonly value?: string
    readonly type?: "date" | "datetime-local" | "email" | "password" | "search" | "text" | "url"
    readonly autocomplete?: string
    readonly required?: boolean
    readonly charactersMax?: number
    /** The id of a `<datalist>`; of an action and a path: that of `suggestions`. */
    readonly list?: string | undefined
    /** Whether it holds a time with a zone: a script offers a picker. */
    readonly isTime?: boolean
  },
): Html => {
  const {
    autocomplete = "off",
    charactersMax,
    isTime = false,
    list = suggestionsFor(field.name),
    name,
    required,
    type = "text",
    value = "",
  } = field
  return around(
    field,
    (attributes) =>
      html`<input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}"${
        charactersMax !== undefined && html` maxlength="${charactersMax}"`
      }${list !== undefined && html` list="${list}"`}${isTime && html` data-time`}${required === true && html` required`}${attributes}>`,
  )
}

/**
 * A field for a number. It is a text field, so that a wrong number is shown again as it was typed.
 */
export const numberField = (
  field: Field & {
    readonly value?: number | string | null | undefined
    readonly required?: boolean
  },
): Html => {
  const { name, required, value } = field
  return around(
    field,
    (attributes) =>
      html`<input id="${name}" name="${name}" inputmode="decimal" autocomplete="off" value="${value}"${
        required === true && html` required`
      }${attributes}>`,
  )
}

export const areaField = (
  field: Field & {
    readonly value?: string
    readonly rows?: number
    readonly code?: boolean
  },
): Html => {
  const { code, name, rows = 4, value = "" } = field
  // Browsers drop the first line break after the tag.
  return around(
    field,
    (attributes) =>
      html`<textarea id="${name}" name="${name}" rows="${rows}" autocomplete="off" spellcheck="false"${
        code === true && html` class="code"`
      }${attributes}>\n${value}</textarea>`,
  )
}

export const checkField = (field: Field & { readonly checked: boolean }): Html => {
  const { checked, hint, label, name } = field
  return html`<div class="field check"><label><input type="checkbox" id="${name}" name="${name}" value="true"${
    checked && html` checked`
  }${hint !== undefined && html` aria-describedby="${name}-hint"`}> ${label}</label>
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}</div>`
}

/**
 * A new key for each rendered form, so that a double click makes one change
 * (`Form.optional("idempotencyKey")`).
 */
export const idempotencyField = (): Html =>
  html`<input type="hidden" name="idempotencyKey" value="${randomUUID()}">`

type Choice = readonly [value: string, label: Content, hint?: Content]

/**
 * A group of check boxes with one name, below the titles of its parts. It also shows the faults of
 * members below `name`.
 */
export const choiceField = (
  field: Pick<Field, "faults" | "label" | "name"> & {
    readonly chosen: ReadonlyArray<string>
    readonly parts: ReadonlyArray<readonly [title: string, choices: ReadonlyArray<Choice>]>
  },
): Html => {
  const { chosen, faults = [], label, name, parts } = field
  let index = 0
  const box = ([value, text, hint]: Choice): Html => {
    const id = `${name}-${index++}`
    return html`<div class="field check"><label><input type="checkbox" id="${id}" name="${name}" value="${value}"${
      chosen.includes(value) && html` checked`
    }${hint !== undefined && html` aria-describedby="${id}-hint"`}> ${text}</label>
${hint !== undefined && html`<p class="hint" id="${id}-hint">${hint}</p>`}</div>`
  }
  const own = `/${name}`
  const shown = faults.filter(({ pointer }) => pointer === own || pointer.startsWith(`${own}/`))
  const details = [...new Set(shown.map(({ detail }) => detail))]
  return html`<fieldset id="${name}"${details.length > 0 && html` aria-describedby="${name}-fault"`}><legend>${label}</legend>
${details.length > 0 && html`<p class="fault" id="${name}-fault">${label} ${details.join("; ")}.</p>`}
${parts.map(([title, choices]) => html`${title !== "" && html`<h2>${title}</h2>`}<div class="choices">${choices.map(box)}</div>`)}</fieldset>`
}

/** A group of fields, with the faults of the whole group at `name`. */
export const group = (
  {
    faults,
    legend,
    name,
  }: { readonly legend: string; readonly name: string } & Pick<Field, "faults">,
  fields: Content,
): Html => {
  const details = faultsAt({ name, faults })
  return html`<fieldset id="${name}"${details.length > 0 && html` aria-describedby="${name}-fault"`}><legend>${legend}</legend>
${details.length > 0 && html`<p class="fault" id="${name}-fault">${legend} ${details.join("; ")}.</p>`}
${fields}</fieldset>`
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

/**
 * The reasons of a refusal that no field shows: the detail of an error without faults, and faults
 * whose pointer has no field. `fields` are the names of all fields and groups of the form; `name.*`
 * is a field that also shows the faults below its pointer. `outcome` says what did not happen.
 */
export const refusal = (
  error: LaurelError | undefined,
  fields: ReadonlyArray<string>,
  outcome = "Nothing was saved",
): Html | undefined => {
  if (error === undefined) return undefined
  if (error.errors === undefined) return html`<p class="alert" role="alert">${error.detail}</p>`
  const others = otherFaults(error.errors, fields)
  const shown = error.errors.length - others.length
  return html`<div class="alert" role="alert"><p>${
    shown > 0 ? `${outcome}: see the fields that are marked.` : `${outcome}.`
  }</p>${others.length > 0 && html`<ul>${others.map((other) => html`<li>${other}</li>`)}</ul>`}</div>`
}

/** The faults that belong to no field of the form. */
export const otherFaults = (
  faults: ReadonlyArray<Fault> | undefined,
  fields: ReadonlyArray<string>,
): ReadonlyArray<string> =>
  (faults ?? [])
    .filter(({ pointer }) => !fields.some((name) => shows(name, pointer)))
    .map(({ detail, pointer }) => `${pointer}: ${detail}`)

const shows = (field: string, pointer: string): boolean => {
  if (!field.endsWith(".*")) return pointer === pointerOf(field)
  const own = pointerOf(field.slice(0, -2))
  return pointer === own || pointer.startsWith(`${own}/`)
}

/**
 * Why a text is not JSON; `undefined` if it is. JSON that is nested too deeply to be written again
 * is refused.
 */
const jsonFault = (text: string): string | undefined => {
  try {
    JSON.stringify(JSON.parse(text))
    return undefined
  } catch (error) {
    return `must be JSON: ${(error as Error).message}`
  }
}

/**
 * The JSON value of a text; `undefined` for an empty text. Other text stays text, and the schema
 * refuses it.
 */
export const jsonOf = (text: string): unknown =>
  text.trim() === "" ? undefined : jsonFault(text) === undefined ? JSON.parse(text) : text

/** A text area for JSON. Its faults say where a text stops being JSON. */
export const jsonField = (field: Parameters<typeof areaField>[0]): Html => {
  const { name, pointer = pointerOf(name), value = "" } = field
  const detail = value.trim() === "" ? undefined : jsonFault(value)
  const faults = field.faults?.map((fault) =>
    fault.pointer === pointer && detail !== undefined ? { ...fault, detail } : fault,
  )
  return areaField({ ...field, faults, code: true, below: true })
}

/* Dialogs that ask for confirmation. They open without a script; Escape closes them. */

export interface Question {
  /** Unique on its page. */
  readonly id: string
  /**
   * The text of the button that opens the dialog and, without `confirm`, of the button that acts.
   */
  readonly button: string
  /** The text of the button that acts, such as "Revoke key". */
  readonly confirm?: string
  /** The text of the harmless button, which has the focus. */
  readonly keep?: string
  readonly title: string
  /** The consequences. */
  readonly detail: Content
  /** The address that the form is sent to. */
  readonly action: string
  /** Fields of the form. */
  readonly fields?: Content
  /** The id of the form, for fields elsewhere on the page. */
  readonly formId?: string
  /** Whether the action cannot be undone. */
  readonly danger?: boolean
}

/** A button that opens a dialog. The form of the dialog is sent to `action`. */
export const confirmButton = ({
  action,
  button,
  confirm = button,
  danger = true,
  detail,
  fields,
  formId,
  id,
  keep = "Cancel",
  title,
}: Question): Html => {
  const look = danger ? html` class="danger"` : undefined
  return html`<button type="button"${look} command="show-modal" commandfor="${id}">${button}</button>
<dialog id="${id}" aria-labelledby="${id}-title"><h2 id="${id}-title">${title}</h2><p>${detail}</p>
<form method="post" action="${action}"${formId !== undefined && html` id="${formId}"`}>${idempotencyField()}${fields}
<div class="row"><button type="button" command="close" commandfor="${id}" autofocus>${keep}</button>
<button${look ?? html` class="main"`}>${confirm}</button></div></form></dialog>`
}
