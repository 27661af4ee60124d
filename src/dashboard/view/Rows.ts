/**
 * Rows of a form that can be added and removed, such as `where.0.path`, `where.1.path`. Without a script: the button
 * sends the form, with an `intent` such as `add:where` or `remove:where.1`, to an address that shows it again, unsaved.
 */
import { type Form, formOf } from "./Forms.ts"
import { type Html, html } from "./Html.ts"

/** A name with more parts is no field of a page. */
const partsMax = 8
const isNumber = (part: string): boolean => /^\d{1,4}$/.test(part)

/** The fields of a form by the parts of their names; a list's rows are in the order of their numbers. */
class Node {
  text: string | undefined
  readonly below = new Map<string, Node>()

  at(part: string): Node {
    let node = this.below.get(part)
    if (node === undefined) {
      node = new Node()
      this.below.set(part, node)
    }
    return node
  }

  find(parts: ReadonlyArray<string>): Node | undefined {
    return parts.reduce<Node | undefined>((node, part) => node?.below.get(part), this)
  }

  /** Its parts in order: numbers by size, before the others. */
  parts(): ReadonlyArray<string> {
    const parts = [...this.below.keys()]
    const numbers = parts.filter(isNumber).sort((one, other) => Number(one) - Number(other))
    return [...numbers, ...parts.filter((part) => !isNumber(part))]
  }

  isBlank(ignored: ReadonlySet<string>): boolean {
    if (this.text !== undefined && this.text.trim() !== "") return false
    for (const [part, node] of this.below) {
      if (!ignored.has(part) && !node.isBlank(ignored)) return false
    }
    return true
  }

  /** Removes rows without a text, those of lists in rows first. */
  prune(ignored: ReadonlySet<string>): void {
    for (const [part, node] of this.below) {
      node.prune(ignored)
      if (isNumber(part) && node.isBlank(ignored)) this.below.delete(part)
    }
  }

  *fields(name: string): Generator<readonly [name: string, text: string]> {
    if (this.text !== undefined) yield [name, this.text]
    let row = 0
    for (const part of this.parts()) {
      const own = isNumber(part) ? String(row++) : part
      yield* this.below.get(part)!.fields(name === "" ? own : `${name}.${own}`)
    }
  }
}

const treeOf = (form: Form): Node => {
  const root = new Node()
  for (const [name, text] of form.texts()) {
    const parts = name.split(".", partsMax + 1)
    if (parts.length <= partsMax) {
      parts.reduce((node, part) => node.at(part), root).text = text
    }
  }
  return root
}

const formFrom = (root: Node): Form => formOf(root.fields(""))

/** The form as `intent` asks, with rows numbered from 0; `undefined` where it asks for no change of rows. */
export const rearranged = (form: Form, intent: string): Form | undefined => {
  const [, verb, name] = /^(add|remove):([\w.]+)$/.exec(intent) ?? []
  if (verb === undefined || name === undefined) return undefined
  const root = treeOf(form)
  const parts = name.split(".")
  if (verb === "remove") {
    root.find(parts.slice(0, -1))?.below.delete(parts.at(-1)!)
  } else if (parts.length < partsMax) {
    const list = parts.reduce((node, part) => node.at(part), root)
    const next = Math.max(-1, ...[...list.below.keys()].filter(isNumber).map(Number)) + 1
    list.at(String(next)).text = ""
  }
  return formFrom(root)
}

/** The form without the rows in which nothing is typed; fields called as in `ignored` always have a text. */
export const withoutBlankRows = (form: Form, ignored: ReadonlyArray<string> = []): Form => {
  const root = treeOf(form)
  root.prune(new Set(ignored))
  return formFrom(root)
}

/** How many rows the form has of a list. */
export const rowCount = (form: Form, name: string): number => form.indices(name, 10_000).length

/** `address` shows the form again; the browser scrolls to the group of the list. */
export const addButton = (list: string, label: string, address: string): Html =>
  html`<p><button formaction="${address}#${list}" name="intent" value="add:${list}" formnovalidate>${label}</button></p>`

/** `label` names the row for screen readers, where several buttons say "Remove". */
export const removeButton = (row: string, label: string, address: string): Html =>
  html`<button formaction="${address}#${row.slice(0, row.lastIndexOf("."))}" name="intent" value="remove:${row}" formnovalidate aria-label="Remove ${label}">Remove</button>`
