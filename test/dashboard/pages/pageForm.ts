/** The forms of a page: fields with their values, and the faults beside them. */
import { expect } from "vitest"
import type { Reply } from "../fixture.ts"

const unescaped = (text: string): string =>
  text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")

const attribute = (tag: string, name: string): string | undefined => {
  const found = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)
  return found === null ? undefined : unescaped(found[1]!)
}

export type Fields = Record<string, string>

/** The fields that a browser would send for the form with this address, without a button. */
export const fieldsOf = (page: string, action: string): Fields => {
  const escaped = action.replaceAll("&", "&amp;")
  const start = page.indexOf(`<form method="post" action="${escaped}">`)
  if (start === -1) throw new Error(`No form is sent to ${action}: ${page}`)
  const form = page.slice(start, page.indexOf("</form>", start))
  const fields: Fields = {}
  const controls =
    /<input [^>]*>|<textarea [^>]*>\n?([^<]*)<\/textarea>|<select [^>]*>(.*?)<\/select>/gs
  for (const [tag, area, options] of form.matchAll(controls)) {
    const name = attribute(tag, "name")
    if (name === undefined) continue
    if (tag.startsWith("<textarea")) fields[name] = unescaped(area!)
    else if (tag.startsWith("<select")) {
      const chosen = /<option [^>]* selected>/.exec(options!) ?? /<option [^>]*>/.exec(options!)
      fields[name] = attribute(chosen![0], "value")!
    } else if (!tag.includes('type="checkbox"') || tag.includes(" checked")) {
      fields[name] = attribute(tag, "value") ?? ""
    }
  }
  return fields
}

/** The names of fields and groups with faults. */
export const markedIn = (page: string): ReadonlyArray<string> =>
  [...page.matchAll(/<p class="fault" id="([^"]+)-fault">/g)].map(([, name]) => unescaped(name!))

/** The cells of the table row that begins with `label`. */
export const cellsOf = (page: string, label: string): ReadonlyArray<string> => {
  const row =
    new RegExp(`<tr><td[^>]*>${label}(?:<br>[^\\n]*?)?</td>(.*?)</tr>`, "s").exec(page)?.[1] ?? ""
  return [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell]) =>
    unescaped(cell!.replaceAll(/<[^>]*>/g, "")),
  )
}

/** The reasons of a refusal that no field shows. */
export const unplacedIn = (page: string): ReadonlyArray<string> => {
  const alert = /<div class="alert" role="alert">(.*?)<\/div>/s.exec(page)?.[1] ?? ""
  return [...alert.matchAll(/<li>([^<]*)<\/li>/g)].map(([, text]) => unescaped(text!))
}

/** Expects a form to be refused for `bad` in the field `name`, with a fault at that field only. */
export const expectMarked = (
  { status, text }: Pick<Reply, "status" | "text">,
  name: string,
  bad: unknown,
): void => {
  expect({ name, bad, status, marked: markedIn(text) }).toEqual({
    name,
    bad,
    status: 400,
    marked: [name],
  })
  expect(unplacedIn(text)).toEqual([])
}
