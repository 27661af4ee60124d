/** The deliveries of a webhook: a page of them, and one with its request and its replies. */
import { Effect } from "effect"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import type { BodyOf } from "../../../http/contract/Operations.ts"
import { limits } from "../../../Limits.ts"
import { noticeOf } from "../../request/notice.ts"
import { mayChange, type PlaceVisit } from "../../request/Route.ts"
import { idempotencyField, refusal } from "../../view/Forms.ts"
import { type Content, type Html, html, textBox } from "../../view/Html.ts"
import { cursorPager, newestFirst, properties, table, tabs, withQuery } from "../../view/Lists.ts"
import { capitalized, count, isoTimeWithSeconds } from "../../view/Quantities.ts"
import type { Reply } from "../../view/Replies.ts"
import { type Counted, deliveryAddress, ofPage, urlOf, webhookAddress } from "./webhook.ts"

type Delivery = BodyOf<"webhooks.deliveries">["deliveries"][number]
type Details = BodyOf<"webhooks.delivery">
type Attempt = Details["responses"][number]

const statuses = ["pending", "succeeded", "failed", "dropped"] as const

const dropReasons = {
  erased: "the user was erased",
  expired: "it waited too long",
  gone: "the journal no longer had it",
} as const

/** The status of a delivery in words. */
const standing = ({ attempts, dropReason, status }: Delivery): string => {
  if (status === "dropped" && dropReason !== null) return `dropped: ${dropReasons[dropReason]}`
  return status === "pending" && attempts > 0 ? "pending, to be retried" : status
}

/** The outcome of an attempt. */
const outcome = (response: Pick<Attempt, "durationMs" | "error" | "status"> | null): Content => {
  if (response === null) return "none yet"
  const { durationMs, error, status } = response
  return `${status ?? error?.replaceAll("_", " ")} in ${durationMs} ms`
}

const row = (visit: PlaceVisit, webhook: Counted, delivery: Delivery): ReadonlyArray<Content> => [
  html`<a href="${deliveryAddress(visit, webhook.id, delivery.id)}"><code>${delivery.type}</code></a>`,
  isoTimeWithSeconds(delivery.createdAt),
  standing(delivery),
  delivery.attempts,
  outcome(delivery.lastResponse),
  delivery.nextAttemptAt !== null && isoTimeWithSeconds(delivery.nextAttemptAt),
]

/** Links to the deliveries of each status. */
const filter = (visit: PlaceVisit, webhook: Counted, chosen: string | null): Html => {
  const { query } = visit.request
  const address = webhookAddress(visit, webhook.id)
  return tabs(
    "Deliveries by status",
    ["", ...statuses].map((status) => [
      status,
      capitalized(status || "all"),
      withQuery(address, query, { status, cursor: undefined }),
    ]),
    chosen ?? "",
  )
}

const emptyText = (status: string | null): string =>
  status === null
    ? "Each message to this webhook is listed here with the receiver's reply. None was sent yet: send a test message."
    : "No delivery has this status."

/**
 * Pages of pending deliveries that `lastFailureOf` reads: a bound for a receiver that was away for
 * long.
 */
const searchedPages = 10

const isFailure = ({ lastResponse }: Delivery): boolean =>
  lastResponse !== null && (lastResponse.status === null || !/^2/.test(String(lastResponse.status)))

/**
 * The delivery whose attempt failed last. Of a failing receiver most deliveries are pending without
 * an attempt, and the oldest ones are tried first, so this reads up to `searchedPages` pages of
 * them.
 */
const lastFailureOf = Effect.fnUntraced(function* (
  { ask }: PlaceVisit,
  { id }: Counted,
): Effect.fn.Return<Delivery | undefined, LaurelError> {
  const read = (status: "failed" | "pending", cursor?: string) =>
    ask("webhooks.deliveries", {
      params: { id },
      query: { status, cursor, limit: String(limits.pageMax) },
    })
  let found = (yield* read("failed")).deliveries.filter(isFailure)
  let cursor: string | null | undefined
  for (let page = 0; page < searchedPages && cursor !== null; page++) {
    const { deliveries, nextCursor } = yield* read("pending", cursor)
    found = [...found, ...deliveries.filter(isFailure)]
    cursor = nextCursor
  }
  const times = found.map(({ lastResponse }) => Date.parse(lastResponse!.at))
  return found[times.indexOf(Math.max(...times))]
})

/** What is wrong with a failing webhook, with its last failure; nothing for any other. */
export const failureAlert = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  webhook: Counted,
): Effect.fn.Return<Html | undefined, LaurelError> {
  if (!webhook.failing) return undefined
  const last = yield* lastFailureOf(visit, webhook)
  const response = last?.lastResponse
  return html`<p class="alert">Deliveries to this webhook fail, ${count(webhook.deliveries.pending)} are pending.${
    last !== undefined &&
    response &&
    html` Last failure: <a href="${deliveryAddress(visit, webhook.id, last.id)}">${outcome(response)}</a>, ${isoTimeWithSeconds(response.at)}.`
  }</p>`
})

export const deliveriesSection = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  webhook: Counted,
): Effect.fn.Return<Html, LaurelError> {
  const { query } = visit.request
  const status = query.get("status")
  const { deliveries, nextCursor } = yield* visit.ask("webhooks.deliveries", {
    params: { id: webhook.id },
    query: {
      status: status ?? undefined,
      cursor: query.get("cursor") ?? undefined,
      limit: query.get("limit") ?? undefined,
    },
  })
  return html`<h2>Deliveries</h2>
${filter(visit, webhook, status)}
${
  deliveries.length === 0
    ? html`<p>${emptyText(status)}</p>`
    : table(
        "Deliveries",
        ["Message", "Created", "Status", "Attempts", "Last reply", "Next attempt"],
        deliveries.map((delivery) => row(visit, webhook, delivery)),
      )
}
${cursorPager(webhookAddress(visit, webhook.id), query, { nextCursor }, newestFirst)}`
})

/** The request of the last attempt. */
const requestSection = (webhook: Counted, { lastResponse, message, messageId }: Details): Html => {
  const { pathname, search } = new URL(webhook.url)
  const sentAt = lastResponse === null ? undefined : Date.parse(lastResponse.at)
  const head = [
    `POST ${pathname}${search}`,
    `host: ${new URL(webhook.url).host}`,
    "content-type: application/json",
    "user-agent: Laurel",
    `webhook-id: ${messageId}`,
    `webhook-timestamp: ${sentAt === undefined ? "…" : Math.floor(sentAt / 1_000)}`,
    "webhook-signature: v1,…",
  ]
  return html`<h2>Request</h2>
${textBox("Header of the request", head.join("\n"), limits.urlCharactersMax + 1_000)}
<p class="hint">Every attempt goes to the webhook's present URL and is signed with the secrets in force at that time. The signature itself is not kept.</p>
${
  message === null
    ? html`<p>The body cannot be shown: the journal no longer has the message, or its user was erased.</p>`
    : textBox("Body of the request", JSON.stringify(message, null, 2), 2 * limits.messageBytesMax)
}`
}

const attemptSection = ({ at, body, durationMs, error, status }: Attempt): Html =>
  html`<li><p>${isoTimeWithSeconds(at)}: ${outcome({ durationMs, error, status })}</p>
${body !== "" && textBox("Start of the reply", body, limits.webhookReplyKeptBytesMax)}</li>`

const attemptsSection = ({ responses }: Details): Html => {
  const shown = responses.slice(-limits.webhookAttemptsMax).reverse()
  return html`<h2>Replies</h2>
${
  shown.length === 0
    ? html`<p>No attempt was made yet.</p>`
    : html`<ul class="attempts">${shown.map(attemptSection)}</ul>`
}
${
  shown.length < responses.length &&
  html`<p class="hint">The newest ${shown.length} of ${responses.length} attempts are shown.</p>`
}`
}

/** The page of one delivery. `error` is the refusal to send it again. */
export const deliveryPage = Effect.fnUntraced(function* (
  visit: PlaceVisit,
  error?: LaurelError,
): Effect.fn.Return<Reply, LaurelError> {
  const { ask, params, place, show } = visit
  const { id } = ofPage(visit)
  const webhook = yield* ask("webhooks.get", { params: { id } })
  const delivery = yield* ask("webhooks.delivery", {
    params: { id, deliveryId: params.delivery! },
  })
  const address = deliveryAddress(visit, id, delivery.id)
  return show(
    `Delivery of ${delivery.type}`,
    html`${noticeOf(visit)}${refusal(error, [])}
<p><a href="${webhookAddress(visit, id)}">To the webhook</a> ${urlOf(webhook)}</p>
${properties([
  ["Status", standing(delivery)],
  ["Message", html`<code>${delivery.messageId}</code>`],
  ["Created", isoTimeWithSeconds(delivery.createdAt)],
  ["Attempts", delivery.attempts],
  [
    "Next attempt",
    delivery.nextAttemptAt === null ? "none" : isoTimeWithSeconds(delivery.nextAttemptAt),
  ],
])}
${
  mayChange(visit) &&
  html`<form method="post" action="${address}/redeliver">${idempotencyField()}<button>Redeliver to ${place.environment}</button></form>`
}
${attemptsSection(delivery)}
${requestSection(webhook, delivery)}`,
    error,
  )
})
