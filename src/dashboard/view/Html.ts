/**
 * HTML as a tagged template that escapes what it is given: text by default, also in quoted attributes; only `Html` goes
 * in as it is. `null`, `undefined` and `false` are nothing, lists are joined. Attributes must be quoted, and no value may
 * stand in a script, a style or an `on…` attribute: the content security policy forbids those altogether.
 */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Content = Html | string | number | null | undefined | false | ReadonlyArray<Content>

const escapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
}

const textOf = (content: Content): string => {
  if (content instanceof Html) return content.text
  if (content === null || content === undefined || content === false) return ""
  if (typeof content === "object") return content.map(textOf).join("")
  return String(content).replace(/[&<>"']/g, (character) => escapes[character]!)
}

export const html = (strings: TemplateStringsArray, ...contents: ReadonlyArray<Content>): Html =>
  new Html(strings.reduce((text, next, index) => text + textOf(contents[index - 1]) + next))

/* Text of others: shown as text, with the characters visible that would hide, move or reorder what stands around them. */

/** Control characters but line break and tab, marks and controls of direction, invisible spaces. */
const unseen =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to show
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** The first half of a pair of surrogates at a cut. */
const halfPair = /[\ud800-\udbff]$/

/** The first `charactersMax` of a text, unseen characters as escapes of JSON. */
export const visible = (text: string, charactersMax: number): string => {
  const start = text.slice(0, charactersMax).replace(halfPair, "")
  return start.replace(/\r\n/g, "\n").replace(unseen, escaped) + (start === text ? "" : "…")
}

/** A box of foreign text, which scrolls by itself. `label` names it for screen readers. */
export const textBox = (label: string, text: string, charactersMax: number): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}" dir="ltr">${visible(text, charactersMax)}</pre>`

/** A line of foreign text, whose direction ends with it. */
export const isolated = (text: string): Html => html`<bdi>${text}</bdi>`

/** A name where only text can stand, such as a title or an option. */
export const titled = (name: string): string => visible(name, 40)

/** A line of text; a link where it is an address of the web. Any other scheme, such as `javascript:`, stays text. */
export const textOrLink = (text: string): Html =>
  /^https?:\/\//i.test(text) && URL.canParse(text)
    ? html`<a href="${text}" rel="noreferrer noopener">${isolated(text)}</a>`
    : isolated(text)
