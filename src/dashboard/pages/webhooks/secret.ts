/** A signing secret that was just made: shown once, on the page of its webhook. */
import type { MemberVisit, PlaceVisit } from "../../request/Route.ts"
import { secretBox } from "../../view/Commands.ts"
import { type Html, html } from "../../view/Html.ts"
import { isoTime } from "../../view/Quantities.ts"
import { type Reply, redirect } from "../../view/Replies.ts"
import { webhookAddress } from "./webhook.ts"

interface NewSecret {
  readonly secret: string
  /** ISO time until which the secret before signs, too; `null` without one. */
  readonly until: string | null
}

export const secretRedirect = (visit: PlaceVisit, id: string, made: NewSecret): Reply => {
  const name = visit.once.keep(JSON.stringify(made), visit.member.session.id)
  return redirect(`${webhookAddress(visit, id)}?secret=${name}`)
}

/** The secret that this visit is to show, if it is the first one. */
export const secretSection = ({ member, once, request }: MemberVisit): Html | undefined => {
  const text = once.take(request.query.get("secret"), member.session.id)
  if (text === undefined) return undefined
  const { secret, until }: NewSecret = JSON.parse(text)
  return html`<section aria-labelledby="made"><h2 id="made">New signing secret</h2>
<p>Copy it now and give it to your receiver: it is not shown again.</p>
${secretBox("secret", "the secret", secret)}
${until !== null && html`<p>The secret before signs each message, too, until ${isoTime(until)}.</p>`}</section>`
}
