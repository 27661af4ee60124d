/**
 * Suggests paths of metadata in forms, and warns beside a path that no event of the form's actions had: it
 * is usually misspelt. There is no warning if events of an action carried more paths than were kept.
 */
import type { SeenAction } from "./Actions.ts"
import type { Draft } from "./Editing.ts"
import type { Form } from "./Forms.ts"
import { type Html, html } from "./Html.ts"

type SeenPath = SeenAction["metadata"]["paths"][number]

/** The actions that a form names: those of rows, and those of a list. Not that of the event to try. */
export const actionsIn = (form: Form): ReadonlyArray<string> => {
  const rows = [...form.texts()].filter(
    ([name]) => name === "action" || (name.endsWith(".action") && !name.startsWith("event.")),
  )
  return [...rows.map(([, text]) => text), ...form.words("actions")]
}

/** The paths that events of these actions carried; of all actions, if these had none. */
export const suggestedPaths = (
  seen: ReadonlyArray<SeenAction>,
  actions: ReadonlyArray<string>,
): ReadonlyArray<string> => {
  const own = pathsOf(seen.filter(({ action }) => actions.includes(action)))
  const paths = own.length > 0 ? own : pathsOf(seen)
  return [...new Set(paths.map(({ path }) => path))]
}

const pathsOf = (seen: ReadonlyArray<SeenAction>): ReadonlyArray<SeenPath> =>
  seen.flatMap(({ metadata }) => metadata.paths).sort((one, other) => other.events - one.events)

/**
 * The warning about a path for events of `actions`; `undefined`: none, or too little is known.
 * `isNumber`: the path must lead to a number.
 */
export const pathWarning = (
  { seen = [] }: Pick<Draft, "seen">,
  actions: ReadonlyArray<string>,
  path: string,
  isNumber = false,
): Html | undefined => {
  const known = seen.filter(
    ({ action, metadata }) => actions.includes(action) && metadata.looked > 0,
  )
  if (path === "" || known.length === 0) return undefined
  const paths = pathsOf(known)
  const same = paths.filter((one) => one.path === path)
  const names = known.map(({ action }) => action).join(", ")
  if (same.length > 0) {
    const kinds = new Set(same.flatMap((one) => one.kinds))
    if (!isNumber || kinds.has("number")) return undefined
    return html`Events of ${names} had no number there, but: ${[...kinds].join(", ")}.`
  }
  // The members of lists and maps are unknown.
  const isInside = paths.some(
    (one) => path.startsWith(`${one.path}.`) && one.kinds.some((kind) => /list|object/.test(kind)),
  )
  const meant = paths.find((one) => isNear(one.path, path))
  const isWhole = known.every(({ metadata }) => !metadata.more)
  if (isInside || (meant === undefined && !isWhole)) return undefined
  return html`No event of ${names} had this path lately.${
    meant !== undefined && html` Did you mean <code>${meant.path}</code>?`
  }`
}

const plain = (path: string): string => path.toLowerCase().replaceAll(/[\s_-]/g, "")

/** Whether one path is probably a misspelling of the other. */
const isNear = (one: string, other: string): boolean => {
  const [from, to] = [plain(one), plain(other)]
  if (from === to) return true
  // With more typing errors it is another word.
  const shorter = Math.min(from.length, to.length)
  const most = shorter < 2 ? 0 : shorter < 4 ? 1 : 2
  return Math.abs(from.length - to.length) <= most && edits(from, to) <= most
}

/** The number of letters that are inserted, deleted or replaced (Levenshtein distance). */
const edits = (from: string, to: string): number => {
  let before = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const line = [row]
    for (let column = 1; column <= to.length; column++) {
      const change = before[column - 1]! + Number(from[row - 1] !== to[column - 1])
      line.push(Math.min(change, before[column]! + 1, line[column - 1]! + 1))
    }
    before = line
  }
  return before[to.length]!
}
