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
