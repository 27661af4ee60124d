/** Sections of pages that a script updates, and the places in the stream from which it follows. */
import { Effect } from "effect"
import { messageId } from "../../domain/message/Message.ts"
import { placeAfter, placeNow } from "../../http/stream/StreamHub.ts"
import { type Content, type Html, html } from "../view/Html.ts"
import type { PlaceVisit } from "./Route.ts"

/**
 * The id of the place behind the newest record, from which a stream misses nothing; "" while the
 * journal is empty.
 */
export const positionNow = ({ reads: { feed } }: PlaceVisit): Effect.Effect<string> =>
  Effect.map(placeNow(feed), (place) => (place === undefined ? "" : messageId(place)))

/**
 * How many records before the newest one the page Live begins. The records are those of all
 * environments.
 */
const recentRecords = 1_000

/**
 * The id of a place some records back; that of the present place where the journal no longer has
 * the record.
 */
export const recentPosition = Effect.fnUntraced(function* (
  visit: PlaceVisit,
): Effect.fn.Return<string> {
  const { feed } = visit.reads
  const sequence = Math.max(1, feed.head - recentRecords)
  const entry = (yield* feed.find([sequence])).get(sequence)
  return entry === undefined ? yield* positionNow(visit) : messageId(placeAfter(entry))
})

/**
 * A section that a script updates, with the state of the connection. `kind`: the list of messages,
 * the first event, or the stock of items elsewhere on the page.
 */
export const liveSection = (
  { base }: PlaceVisit,
  kind: "first" | "messages" | "stock",
  after: string,
  content: Content,
): Html =>
  html`<section aria-label="Live" data-live="${kind}" data-stream="${base}/stream" data-users="${base}/users" data-after="${after}">
<p role="status" class="quiet"></p>
${content}</section>`
