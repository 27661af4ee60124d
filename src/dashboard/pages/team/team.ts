/** Accounts and invitations, for owners. Links are shown once, to the owner who made them. */
import { Effect } from "effect"
import type { AuditAction } from "../../../accounts/audit/AuditLog.ts"
import type { Account, Invitation } from "../../../domain/accounts/Account.ts"
import type { LaurelError } from "../../../domain/values/Errors.ts"
import { asker, type MemberVisit, memberForm, type Route } from "../../request/Route.ts"
import { emptyForm, idempotencyField, refusal, textField } from "../../view/Forms.ts"
import { type Content, html } from "../../view/Html.ts"
import { offsetPage, table } from "../../view/Lists.ts"
import { time } from "../../view/Quantities.ts"
import { about, type Reply, redirect } from "../../view/Replies.ts"
import { accessFieldNames, accessFields, accessLabel, accessOf } from "./access.ts"
import { secretLink, withLink } from "./links.ts"

const accountRow = (
  { directory, member, prefix }: MemberVisit,
  { access, createdAt, email, id, name, passkeys, password }: Account,
): ReadonlyArray<Content> => [
  html`<a href="${prefix}/team/${id}"><bdi>${name}</bdi></a>${id === member.account.id && " (you)"}`,
  email,
  accessLabel(access, directory),
  [password !== null && "password", passkeys.length > 0 && `${passkeys.length} passkeys`]
    .filter(Boolean)
    .join(", "),
  time(createdAt),
]

const invitationRow = (
  { directory, prefix }: MemberVisit,
  { access, accountId, email, expiresAt, id, purpose }: Invitation,
): ReadonlyArray<Content> => [
  purpose,
  (accountId !== null && directory.accounts.get(accountId)?.email) || email,
  purpose === "reset" ? "unchanged" : accessLabel(access, directory),
  time(expiresAt),
  html`<form method="post" action="${prefix}/team/invitations/${id}/revoke"><button>Revoke</button></form>`,
]

const teamPage = Effect.fnUntraced(function* (
  visit: MemberVisit,
  error?: LaurelError,
): Effect.fn.Return<Reply> {
  const { directory, form, people, prefix, request, show } = visit
  const accounts = yield* people.accounts
  const invitations = yield* people.invitations
  const shown = offsetPage(`${prefix}/team`, request.query, accounts)
  return show(
    "Team",
    html`${secretLink(visit)}
${refusal(error, ["email", ...accessFieldNames])}
${table(
  "Accounts",
  ["Name", "E-mail address", "Access", "Signs in with", "Created"],
  shown.items.map((account) => accountRow(visit, account)),
)}
${shown.pager}
${
  invitations.length > 0 &&
  html`<h2>Open links</h2>
${table(
  "Open links",
  ["Purpose", "For", "Access", "Expires", "Actions"],
  invitations.slice(0, 100).map((invitation) => invitationRow(visit, invitation)),
)}`
}
<h2>Invite</h2>
<form method="post" action="${prefix}/team/invite">${idempotencyField()}
${textField({ name: "email", label: "E-mail address", type: "email", hint: "The person joins with this address and no other. Laurel sends no mail: you send the link.", required: true, value: form.text("email"), faults: error?.errors })}
${accessFields(directory, form, error)}
<button class="main">Create link</button></form>`,
    error,
  )
})

/** A form of the page: back to it, or the page with the reason of a refusal. */
const formRoute = (
  path: string,
  action: AuditAction,
  change: (visit: MemberVisit) => Effect.Effect<Reply, LaurelError>,
): Route =>
  memberForm("owner", `/team/${path}`, action, change, (visit, error) =>
    teamPage(path === "invite" ? visit : { ...visit, form: emptyForm }, error),
  )

export const teamRoutes: ReadonlyArray<Route> = [
  { method: "GET", path: "/team", access: "owner", answer: (visit) => teamPage(visit) },
  formRoute("invite", "invitation.create", (visit) => {
    const { directory, form, people, prefix } = visit
    const access = accessOf(directory, form)
    if ("_tag" in access) return Effect.fail(access)
    const email = form.text("email").trim()
    const detail = `${accessLabel(access, directory)}, ${email}`
    return Effect.map(people.invite(asker(visit), { email, access }), (token) =>
      about(withLink(visit, "join", token, `${prefix}/team`), { detail }),
    )
  }),
  formRoute("invitations/:invitation/revoke", "invitation.revoke", (visit) =>
    Effect.as(
      visit.people.revokeInvitation(asker(visit), visit.params.invitation!),
      redirect(`${visit.prefix}/team`),
    ),
  ),
]
