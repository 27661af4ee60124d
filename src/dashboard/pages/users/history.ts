/** A page of a user's history: a row for each record, with its cause, its facts and the button that undoes it. */
import { historyKinds } from "../../../domain/message/HistoryFact.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import { mayChange, type PlaceVisit } from "../../request/Route.ts"
import { confirmButton } from "../../view/Dialogs.ts"
import { textBox } from "../../view/Foreign.ts"
import { selectField } from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { cursorPager, table } from "../../view/Lists.ts"
import { isoTime } from "../../view/Quantities.ts"
import { type Cause, causeDetails, causeText, type Fact, factText, ownId } from "./factText.ts"
import { inProduction } from "./inProduction.ts"

type HistoryPage = BodyOf<"users.history">

/** `path` is that of the user's page. */
export interface HistoryView {
  readonly visit: PlaceVisit
  readonly path: string
  readonly page: HistoryPage
}

export const historySection = ({ page, path, visit }: HistoryView): Html => {
  const { query } = visit.request
  const kind = query.get("kind") ?? ""
  return html`<h2 id="history">History</h2>
<form method="get" action="${path}#history" class="row">
${selectField({
  name: "kind",
  label: "Kind of fact",
  value: kind,
  options: [["", "all"], ...historyKinds.map((one) => [one, one] as const)],
})}
<div class="field"><button>Filter</button></div></form>
${
  page.facts.length === 0
    ? html`<p>${
        page.nextCursor === null
          ? "No fact of this kind."
          : "No fact of this kind in this part of the history. Older parts follow."
      }</p>`
    : historyTable({ visit, path, page })
}
${cursorPager(path, query, page.nextCursor)}`
}

/** The facts of one record; the page may have only some of them. */
interface Group {
  readonly sequence: number
  readonly at: string
  readonly cause: Cause
  readonly facts: Array<Fact>
}

/** Facts of the same record stand together in a history. */
const groupsOf = (facts: ReadonlyArray<Fact>): ReadonlyArray<Group> => {
  const groups: Array<Group> = []
  for (const fact of facts) {
    const { at, cause, sequence } = fact
    const last = groups.at(-1)
    if (last?.sequence === sequence) last.facts.push(fact)
    else groups.push({ sequence, at, cause, facts: [fact] })
  }
  return groups
}

const sums: ReadonlySet<string> = new Set([
  "event.tracked",
  "event.revoked",
  "reward.granted",
  "reward.revoked",
])

/** The facts of a record as they followed each other, after the sum of them. */
const inOrder = (facts: ReadonlyArray<Fact>): ReadonlyArray<Fact> => [
  ...facts.filter(({ kind }) => sums.has(kind)),
  ...facts.filter(({ kind }) => !sums.has(kind)).toReversed(),
]

const historyTable = ({ page, path, visit }: HistoryView): Html => {
  const groups = groupsOf(page.facts)
  const metadata = new MetadataShare()
  const undone = new Set(
    groups.flatMap(({ cause }) =>
      cause.kind === "revocation" ? [cause.eventId ?? cause.rewardId ?? cause.spendId] : [],
    ),
  )
  const rows = groups.map((group) => {
    const { at, cause, facts } = group
    const id = ownId(cause)
    return [
      isoTime(at),
      html`${causeText(cause)}<br><span class="quiet">${causeDetails(cause, at)}</span>${
        cause.kind === "event" && metadata.show(cause)
      }`,
      html`<ul class="plain">${inOrder(facts).map(
        (fact) => html`<li title="${fact.kind}">${factText(fact, visit.base)}</li>`,
      )}</ul>`,
      id !== undefined && undone.has(id)
        ? "undone"
        : mayChange(visit) && id !== undefined && undoButton(visit, path, group, id),
    ]
  })
  return table("History", ["Time", "Cause", "Facts", "Undo"], rows)
}

const undoButton = (
  visit: PlaceVisit,
  path: string,
  { cause, sequence }: Group,
  id: string,
): Html => {
  const what = cause.kind
  return confirmButton({
    id: `undo-${sequence}`,
    button: "Undo",
    confirm: `Undo ${what}`,
    keep: "Keep it",
    title: `Undo this ${what}${inProduction(visit)}?`,
    detail: html`${causeText(cause)}: ${
      cause.kind === "spend"
        ? "gives back its points, except those whose event or reward was undone since."
        : "takes back what it gave, such as xp, points, badges and quest progress. Closed leaderboards and streak days stay."
    } An undo cannot be undone.`,
    action: `${path}/${what}s/${id}/revoke`,
  })
}

/** Shows the metadata of events until the page has enough of it. */
class MetadataShare {
  #left = limits.pageMetadataCharactersMax

  show({ eventId, metadata }: Extract<Cause, { readonly kind: "event" }>): Content {
    if (metadata === null) return undefined
    const text = JSON.stringify(metadata, null, 2)
    const shown = Math.min(text.length, this.#left)
    this.#left -= shown
    return html`<details><summary>Metadata</summary>${textBox(`Metadata of ${eventId}`, text, shown)}${
      shown < text.length &&
      html`<p class="hint">Cut after ${shown} of ${text.length} characters. The export has the rest.</p>`
    }</details>`
  }
}
