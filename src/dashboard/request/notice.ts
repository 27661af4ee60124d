/** The result of a form, shown once by the page that follows it. */
import { isConfirmed } from "../../domain/accounts/Account.ts"
import { type Html, html } from "../view/Html.ts"
import { type Reply, redirect } from "../view/Replies.ts"
import type { MemberVisit, PlaceVisit } from "./Route.ts"

/** Leads to `path`, where `noticeOf` shows the text. */
export const redirectWithNotice = (
  { member, once }: MemberVisit,
  path: string,
  text: string,
): Reply => {
  const sign = path.includes("?") ? "&" : "?"
  return redirect(`${path}${sign}done=${once.keep(text, member.session.id)}`)
}

/** The notice that this visit brings, if it is the first one. */
export const noticeOf = ({ member, once, request }: MemberVisit): Html | undefined => {
  const text = once.take(request.query.get("done"), member.session.id)
  return text === undefined ? undefined : html`<p class="done" role="status">${text}</p>`
}

/** In production, while the account is not confirmed: a link to confirm, and back to `path`, before anything is typed. */
export const confirmHint = (
  { member, now, place, prefix }: PlaceVisit,
  what: string,
  path: string,
): Html | false =>
  place.environment === "production" &&
  !isConfirmed(member.session, now()) &&
  html`<p class="hint">${what} needs your password or a passkey: <a href="${prefix}/confirm?next=${encodeURIComponent(path)}">confirm that it is you</a> first.</p>`
