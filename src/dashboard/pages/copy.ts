/**
 * Copies definitions from the other environment of the project: shows what would change here, and
 * applies the changes that were chosen, if nothing has changed since they were shown.
 */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { plurals } from "../../domain/project/Kinds.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import type { BodyOf } from "../../http/contract/Operations.ts"
import { noticeOf, redirectWithNotice } from "../request/notice.ts"
import { orPage, type PlaceVisit, placeForm, placePage, type Route } from "../request/Route.ts"
import { confirmButton, refusal } from "../view/Forms.ts"
import { type Content, type Html, html, isolated, visible } from "../view/Html.ts"
import { table } from "../view/Lists.ts"
import { badge, placePath } from "../view/Page.ts"
import { count } from "../view/Quantities.ts"
import type { Reply } from "../view/Replies.ts"

type Diff = BodyOf<"definitions.diff">
type Change = Diff["changes"][number]
type File = BodyOf<"definitions.export">

const path = "/copy"
const formId = "copy-form"

const otherOf = ({ place }: PlaceVisit) =>
  place.environment === "sandbox" ? "production" : "sandbox"

/** The name of a change in the form. */
const nameOf = ({ key, kind }: Pick<Change, "key" | "kind">): string =>
  key === null ? kind : `${kind}:${key}`

/** The definitions of the other environment, and what applying them changes here. */
const read = Effect.fnUntraced(function* (visit: PlaceVisit) {
  const definitions = yield* visit.askBeside("definitions.export")
  const diff = yield* visit.ask("definitions.diff", { payload: { definitions } })
  return { definitions, diff }
})

/** What a page shows: a form with another mark was made from other changes. */
const markOf = ({ changes, version }: Diff): string =>
  createHash("sha256")
    .update(JSON.stringify([version, changes]))
    .digest("base64url")
    .slice(0, 22)

const valuesMax = 160

const memberLine = ({ after, before, name }: Change["members"][number]): Html => {
  const value = (text: string | null): Content =>
    text === null ? "absent" : html`<code>${visible(text, valuesMax)}</code>`
  return html`<li>${name}: ${value(before)} → ${value(after)}</li>`
}

const verbs = { create: "new", update: "changed", delete: "removed" } as const

const changeTable = (changes: ReadonlyArray<Change>, chosen: (name: string) => boolean): Html =>
  table(
    "Changes",
    ["Copy", "Definition", "Change", "Members"],
    changes.map((change) => {
      const name = nameOf(change)
      return [
        html`<input type="checkbox" form="${formId}" name="change" value="${name}" aria-label="Copy ${change.kind} ${visible(change.name, valuesMax)}"${chosen(name) && html` checked`}>`,
        html`${change.kind} ${isolated(change.name)}${change.key !== null && html`<br><code>${change.key}</code>`}`,
        verbs[change.op],
        change.op === "create"
          ? html`<details><summary>${count(change.members.length)} members</summary><ul class="plain">${change.members.map(memberLine)}</ul></details>`
          : html`<ul class="plain">${change.members.map(memberLine)}</ul>`,
      ]
    }),
  )

const copyPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  error?: LaurelError,
): Effect.fn.Return<Reply, LaurelError> {
  const { base, form, place, prefix, request, show } = visit
  const other = otherOf(visit)
  const { diff } = yield* read(visit)
  const only = request.query.get("only")
  const sent = form.all("change")
  const chosen = (name: string): boolean =>
    request.method === "POST" ? sent.includes(name) : only === null || only === name
  const there = `${placePath(prefix, { ...place, environment: other })}${path}`
  const address = `${base}${path}`
  return show(
    `Copy definitions from ${other}`,
    html`${noticeOf(visit)}
${refusal(error, [], "Nothing was copied")}
<p>What definitions and settings of ${other} would change here, in ${badge(place.environment)}. Definitions that ${other} does not have stay as they are. <a href="${there}">Copy the other way, to ${other}</a></p>
${
  diff.changes.length === 0
    ? html`<p>Nothing to copy: all that ${other} has is the same here.</p>`
    : html`${changeTable(diff.changes, chosen)}
<p class="after hint">A definition is copied with what it names, such as a badge, only if both are chosen or the other is here.</p>
${confirmButton({
  id: "copy-chosen",
  button: `Copy to ${place.environment}`,
  title: `Copy the chosen definitions to ${place.environment}?`,
  detail: `They take effect at once in ${place.environment}. All are copied, or none.`,
  action: address,
  formId,
  fields: html`<input type="hidden" name="shown" value="${markOf(diff)}">`,
  danger: place.environment === "production",
})}`
}`,
    error,
  )
})

/** The definitions of a file that the form chose. */
const chosenOf = (file: File, names: ReadonlySet<string>): Partial<File> => {
  const lists = Object.entries(plurals).map(([kind, plural]) => {
    const all = (file as Readonly<Record<string, unknown>>)[plural] as
      | ReadonlyArray<{ readonly key: string }>
      | undefined
    return [plural, all?.filter(({ key }) => names.has(nameOf({ key, kind: kind as never })))]
  })
  const filled = lists.filter(([, list]) => list !== undefined && list.length > 0)
  return {
    ...(names.has("settings") && { settings: file.settings }),
    ...Object.fromEntries(filled),
  }
}

const copy = Effect.fnUntraced(function* (visit: PlaceVisit): Effect.fn.Return<Reply, LaurelError> {
  const { ask, base, form } = visit
  const { definitions, diff } = yield* read(visit)
  const names = new Set(form.all("change"))
  if (form.text("shown") !== markOf(diff)) {
    return yield* Effect.fail(
      laurelError("version_conflict", "Nothing was copied: these are the changes by now."),
    )
  }
  if (names.size === 0) {
    return yield* Effect.fail(
      laurelError("invalid_request", "Nothing was copied: choose at least one change."),
    )
  }
  const { changes } = yield* ask("definitions.apply", {
    payload: { definitions: chosenOf(definitions, names) },
    ifMatch: diff.version,
  })
  return redirectWithNotice(
    visit,
    `${base}${path}`,
    `Copied ${count(changes.length)} ${changes.length === 1 ? "change" : "changes"}.`,
  )
})

export const copyRoutes: ReadonlyArray<Route> = [
  placePage(path, (visit) => copyPage(visit), "admin"),
  placeForm(path, "definitions.apply", (visit) =>
    orPage(copy(visit), (error) => copyPage(visit, error)),
  ),
]
