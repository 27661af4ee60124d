/**
 * HTML as a tagged template that escapes its values. Text is escaped for content and quoted
 * attributes; only `Html` is inserted as it is. `null`, `undefined` and `false` are left out, lists
 * are joined. Attributes must be quoted. No value may stand in a script, a style or an `on…`
 * attribute: the content security policy forbids all of these.
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

/*
 * Foreign text: shown as text. Characters that would hide, move or reorder the text around them
 * become visible.
 */

/**
 * Control characters except line break and tab, directional marks and controls, invisible spaces.
 */
const unseen =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to show
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** The first half of a surrogate pair, at the end of a text that was cut. */
const halfPair = /[\ud800-\udbff]$/

/** The first `charactersMax` characters of a text, with unseen characters as JSON escapes. */
export const visible = (text: string, charactersMax: number): string => {
  const start = text.slice(0, charactersMax).replace(halfPair, "")
  return start.replace(/\r\n/g, "\n").replace(unseen, escaped) + (start === text ? "" : "…")
}

/** A box of foreign text that scrolls. `label` names the box for screen readers. */
export const textBox = (label: string, text: string, charactersMax: number): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}" dir="ltr">${visible(text, charactersMax)}</pre>`

/** A line of foreign text. Its writing direction does not affect the text around it. */
export const isolated = (text: string): Html => html`<bdi>${text}</bdi>`

/** A name for a place that takes only text, such as a title or an option. */
export const titled = (name: string): string => visible(name, 40)

/** A badge, or a tier of it, in the title of a page or a notice. */
export const badgeTitle = ({
  name,
  tier,
}: {
  readonly name: string
  readonly tier?: { readonly name: string }
}): string => (tier === undefined ? titled(name) : `${titled(name)}, ${titled(tier.name)}`)

/**
 * A line of text, or a link if the text is an http or https address. Other schemes, such as
 * `javascript:`, stay text.
 */
export const textOrLink = (text: string): Html =>
  /^https?:\/\//i.test(text) && URL.canParse(text)
    ? html`<a href="${text}" rel="noreferrer noopener">${isolated(text)}</a>`
    : isolated(text)
