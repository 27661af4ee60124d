/** Notices: the result of a form, which the next page shows once. */
import { isConfirmed } from "../../domain/accounts/Account.ts"
import { type Html, html } from "../view/Html.ts"
import { type Reply, redirect } from "../view/Replies.ts"
import type { MemberVisit, PlaceVisit } from "./Route.ts"

/** Redirects to `path`, where `noticeOf` shows the text. */
export const redirectWithNotice = (
  { member, once }: MemberVisit,
  path: string,
  text: string,
): Reply => {
  const sign = path.includes("?") ? "&" : "?"
  return redirect(`${path}${sign}done=${once.keep(text, member.session.id)}`)
}

/** The notice of this visit; the first visit takes it. */
export const noticeOf = ({ member, once, request }: MemberVisit): Html | undefined => {
  const text = once.take(request.query.get("done"), member.session.id)
  return text === undefined ? undefined : html`<p class="done" role="status">${text}</p>`
}

/**
 * In production, for a session without confirmation: a link that confirms before the form is filled
 * in and returns to `path`.
 */
export const confirmHint = (
  { member, now, place, prefix }: PlaceVisit,
  what: string,
  path: string,
): Html | false =>
  place.environment === "production" &&
  !isConfirmed(member.session, now()) &&
  html`<p class="hint">${what} needs your password or a passkey: <a href="${prefix}/confirm?next=${encodeURIComponent(path)}">confirm that it is you</a> first.</p>`
