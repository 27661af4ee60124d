/** The result of a form, shown once by the page that follows it. */
import { type Html, html } from "../view/Html.ts"
import { type Reply, redirect } from "../view/Replies.ts"
import type { MemberVisit } from "./Route.ts"

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
