/** Messages of an environment as they happen: the page, and the stream that its script follows. */
import { Effect, Stream } from "effect"
import { isSessionInForce, roleIn } from "../../domain/accounts/Account.ts"
import { messageKinds } from "../../domain/message/MessageKind.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import type { StreamedReply } from "../../http/stream/StreamedReply.ts"
import { liveSection, recentPosition } from "../request/following.ts"
import { type PlaceVisit, placePage, type Route } from "../request/Route.ts"
import { html } from "../view/Html.ts"

const livePage = (visit: PlaceVisit) =>
  Effect.map(recentPosition(visit), (after) => {
    const { show } = visit
    return show(
      "Live",
      html`<p>Messages as they happen: what users do, and what they earn.</p>
<noscript><p class="alert">This page needs JavaScript. The command line can follow the messages, too: <code>curl -N -H "Authorization: Bearer KEY" ${visit.origin}/v1/stream</code></p></noscript>
${liveSection(
  visit,
  "messages",
  after,
  html`<div class="row filters">
<div class="field"><label for="kind">Kind</label>
<select id="kind"><option value="">all</option>${messageKinds.map((kind) => html`<option>${kind}</option>`)}</select></div>
<div class="field"><label for="user">User</label><input id="user" autocomplete="off" placeholder="the whole id of a user"></div>
<div class="field"><button type="button">Pause</button></div></div>
<p class="hint"><span data-count>0 messages</span>, with the last ones from before the page was opened. The newest 200 are shown.</p>
<ul class="live" aria-label="Messages"></ul>`,
)}`,
    )
  })

/**
 * Whether the project is not archived and the session in force, with the role that it had at the
 * start of the stream.
 */
const isUnchanged = ({ member, now, place, reads }: PlaceVisit): Effect.Effect<boolean> => {
  const role = roleIn(member.account, place.project.id)
  return Effect.map(reads.readDirectory, ({ accounts, projects, sessions }) => {
    const project = projects.get(place.project.id)
    if (project === undefined || project.archivedAt !== undefined) return false
    const session = sessions.get(member.session.id)
    const account = accounts.get(member.account.id)
    if (session === undefined || account === undefined) return false
    return isSessionInForce(session, now()) && roleIn(account, place.project.id) === role
  })
}

/**
 * The stream of the API. After the session or its role has ended, it ends before the next message
 * or heartbeat.
 */
const openStream = (visit: PlaceVisit): Effect.Effect<StreamedReply, LaurelError> => {
  const { headers } = visit.request
  // A page of another site must not use up the places of streams.
  if (headers["sec-fetch-site"] !== "same-origin") return Effect.fail(foreignStream)
  const last = headers["last-event-id"]
  const lastEventId = typeof last === "string" ? last : undefined
  return Effect.map(visit.open("stream.open", { lastEventId }), (reply) => ({
    ...reply,
    stream: reply.stream.pipe(
      Stream.mapEffect((piece) =>
        Effect.map(isUnchanged(visit), (unchanged) => (unchanged ? piece : undefined)),
      ),
      Stream.takeWhile((piece) => piece !== undefined),
    ),
  }))
}

const foreignStream = laurelError(
  "insufficient_role",
  "The stream is for the pages of the dashboard. Programs follow /v1/stream with an API key.",
)

export const liveRoutes: ReadonlyArray<Route> = [
  placePage("/live", livePage),
  placePage("/stream", openStream),
]
