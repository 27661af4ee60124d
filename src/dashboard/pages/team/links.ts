/** Links that let somebody in: made by a form, shown once by the page after it. */
import type { MemberVisit } from "../../request/Route.ts"
import { secretBox } from "../../view/Commands.ts"
import { type Html, html } from "../../view/Html.ts"
import { type Reply, redirect } from "../../view/Replies.ts"

/** Back to the page at `path`, which shows the link once. */
export const withLink = (
  { member, once, origin, prefix }: MemberVisit,
  kind: "join" | "reset",
  token: string,
  path: string,
): Reply => {
  const link = `${origin}${prefix}/${kind}#${token}`
  return redirect(`${path}?link=${once.keep(link, member.session.id)}`)
}

/** The link that the form before has made. */
export const secretLink = ({ member, once, request }: MemberVisit): Html | undefined => {
  const link = once.take(request.query.get("link"), member.session.id)
  if (link === undefined) return undefined
  return html`<section aria-labelledby="link-title"><h2 id="link-title">The link</h2>
<p>Send it to the person it is for. It works once, and is not shown again.</p>
${secretBox("link", "the link", link)}</section>`
}
