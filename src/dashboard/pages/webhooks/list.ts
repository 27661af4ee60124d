/** The webhooks of one environment. */
import { Effect } from "effect"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import { noticeOf } from "../../request/notice.ts"
import { mayChange, type PlaceVisit, placePage, type Route } from "../../request/Route.ts"
import { isolated } from "../../view/Foreign.ts"
import { type Content, html } from "../../view/Html.ts"
import { listQuery, pager, table } from "../../view/Lists.ts"
import { isoTime } from "../../view/Quantities.ts"
import type { Reply } from "../../view/Replies.ts"
import {
  type Counted,
  type Listed,
  listAddress,
  listPath,
  statusText,
  webhookAddress,
} from "./webhook.ts"

/** How many patterns a row shows. */
const patternsShown = 3

const eventsText = ({ events }: Listed): Content => {
  const rest = events.length - patternsShown
  return html`${events
    .slice(0, patternsShown)
    .map((pattern) => html`<code>${pattern}</code> `)}${rest > 0 && `and ${rest} more`}`
}

const urlCharactersShown = 60
const shortened = (url: string): string =>
  url.length <= urlCharactersShown ? url : `${url.slice(0, urlCharactersShown - 1)}…`

const row = (visit: PlaceVisit, webhook: Counted | Listed): ReadonlyArray<Content> => {
  const counted = "deliveries" in webhook ? webhook : undefined
  return [
    html`<a href="${webhookAddress(visit, webhook.id)}">${shortened(webhook.url)}</a>${
      webhook.description !== null &&
      html`<br><span class="quiet">${isolated(webhook.description)}</span>`
    }`,
    statusText(webhook),
    eventsText(webhook),
    counted && isoTime(counted.lastSuccessAt),
    counted?.deliveries.pending,
    counted?.deliveries.failed,
  ]
}

const listPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, place, request, show } = visit
  const { query } = request
  const page = yield* ask("webhooks.list", {
    query: listQuery(query),
  })
  // One may be deleted in between; it has no counts then.
  const rows = yield* Effect.forEach(
    page.webhooks,
    (webhook) =>
      Effect.catchIf(
        ask("webhooks.get", { params: { id: webhook.id } }),
        ({ code }) => code === "webhook_not_found",
        () => Effect.succeed(webhook),
      ),
    { concurrency: "unbounded" },
  )
  return show(
    "Webhooks",
    html`${noticeOf(visit)}
${
  mayChange(visit) &&
  html`<p><a class="button main" href="${listAddress(visit)}/new">Create webhook</a></p>`
}
${
  page.total === 0
    ? html`<p>A webhook sends a signed message to your server when something happens here, such as a level that changed or a badge that was earned. ${place.environment} has no webhook yet.</p>`
    : html`${table(
        "Webhooks",
        ["Receiver", "Status", "Events", "Last success", "Pending", "Failed"],
        rows.map((webhook) => row(visit, webhook)),
      )}${pager(listAddress(visit), query, page)}`
}`,
  )
})

export const listRoutes: ReadonlyArray<Route> = [placePage(listPath, listPage)]
