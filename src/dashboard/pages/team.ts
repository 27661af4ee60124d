/** Accounts and invitations, for owners. Links are shown once, to the owner who made them. */
import { Effect } from "effect"
import type { AuditAction } from "../../accounts/audit/AuditLog.ts"
import type { Access, Account, Invitation } from "../../domain/accounts/Account.ts"
import type { DirectoryState } from "../../domain/project/Directory.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { type MemberVisit, orPage, type Route } from "../request/Route.ts"
import { confirmButton } from "../view/Dialogs.ts"
import { emptyForm, otherFaults, selectField, textField } from "../view/Forms.ts"
import { type Html, html } from "../view/Html.ts"
import { alert, time } from "../view/Page.ts"
import { about, type Reply, redirect } from "../view/Replies.ts"

/** `owner`, or a role and a project: `admin prj_…`. */
const accessOf = (text: string): Access | undefined => {
  if (text === "owner") return { owner: true, projects: [] }
  const [role, projectId, ...rest] = text.split(" ")
  return (role === "admin" || role === "viewer") && projectId !== undefined && rest.length === 0
    ? { owner: false, projects: [{ projectId, role }] }
    : undefined
}

const accessText = ({ owner, projects }: Access): string => {
  const [first] = projects
  return owner || first === undefined ? "owner" : `${first.role} ${first.projectId}`
}

const accessLabel = ({ owner, projects }: Access, directory: DirectoryState): string =>
  owner
    ? "owner"
    : projects
        .map(
          ({ projectId, role }) =>
            `${role} of ${directory.projects.get(projectId)?.name ?? projectId}`,
        )
        .join(", ")

const accessOptions = ({ projects }: DirectoryState): ReadonlyArray<readonly [string, string]> => [
  ["owner", "owner: everything, accounts too"],
  ...[...projects.values()].flatMap(({ id, name }) => [
    [`admin ${id}`, `admin of ${name}: everything in it, keys too`] as const,
    [`viewer ${id}`, `viewer of ${name}: look, no secrets`] as const,
  ]),
]

const accountRow = (visit: MemberVisit, account: Account): Html => {
  const { directory, member, prefix } = visit
  const action = `${prefix}/team/${account.id}`
  const self = account.id === member.account.id
  return html`<tr><td>${account.name}${self && " (you)"}</td><td>${account.email}</td>
<td><form method="post" action="${action}/access"><select name="access" aria-label="Access of ${account.name}">${accessOptions(
    directory,
  ).map(
    ([value, label]) =>
      html`<option value="${value}"${value === accessText(account.access) && html` selected`}>${label}</option>`,
  )}</select> <button>Change</button></form>${
    account.access.projects.length > 1 &&
    html` <span class="hint">${accessLabel(account.access, directory)}</span>`
  }</td>
<td>${time(account.createdAt)}</td>
<td><form method="post" action="${action}/reset"><button>Reset link</button></form> ${confirmButton(
    {
      id: `remove-${account.id}`,
      action: `${action}/remove`,
      button: "Remove",
      title: `Remove ${account.name}?`,
      detail: "The account is deleted and all its sessions end. API keys stay.",
    },
  )}</td></tr>`
}

const invitationRow = (visit: MemberVisit, invitation: Invitation): Html => {
  const { access, accountId, email, expiresAt, id, purpose } = invitation
  const of = accountId === null ? undefined : visit.directory.accounts.get(accountId)?.email
  return html`<tr><td>${purpose}</td><td>${of ?? email ?? "anyone with the link"}</td>
<td>${purpose === "reset" ? "unchanged" : accessLabel(access, visit.directory)}</td><td>${time(expiresAt)}</td>
<td><form method="post" action="${visit.prefix}/team/invitations/${id}/revoke"><button>Revoke</button></form></td></tr>`
}

const teamPage = Effect.fnUntraced(function* (
  visit: MemberVisit,
  error?: LaurelError,
): Effect.fn.Return<Reply> {
  const { directory, form, member, once, people, prefix, request, show } = visit
  const link = once.take(request.query.get("link"), member.session.id)
  const accounts = yield* people.accounts
  const invitations = yield* people.invitations
  const fields = ["email", "access"]
  return show(
    "Team",
    html`
${
  link !== undefined &&
  html`<section aria-labelledby="link-title"><h2 id="link-title">The link</h2>
<p>Send it to the person it is for. It works once, and is not shown again.</p>
<code class="secret" id="link" tabindex="0">${link}</code><p><button data-copy="link" hidden>Copy</button></p></section>`
}
${error !== undefined && error.errors === undefined && alert(error.detail)}
${otherFaults(error?.errors, fields).map(alert)}
<div class="scroll" tabindex="0" role="region" aria-label="Accounts"><table>
<thead><tr><th scope="col">Name</th><th scope="col">E-mail address</th><th scope="col">Access</th><th scope="col">Created</th><th scope="col">Actions</th></tr></thead>
<tbody>${accounts.slice(0, 100).map((account) => accountRow(visit, account))}</tbody></table></div>
${
  invitations.length > 0 &&
  html`<h2>Open links</h2><div class="scroll" tabindex="0" role="region" aria-label="Open links"><table>
<thead><tr><th scope="col">For</th><th scope="col">Who</th><th scope="col">Access</th><th scope="col">Expires</th><th scope="col">Actions</th></tr></thead>
<tbody>${invitations.slice(0, 100).map((invitation) => invitationRow(visit, invitation))}</tbody></table></div>`
}
<h2>Invite</h2>
<form method="post" action="${prefix}/team/invite">
${textField({ name: "email", label: "E-mail address (optional)", type: "email", hint: "To tell links apart. Laurel sends no mail: you send the link.", value: form.text("email"), faults: error?.errors })}
${selectField({ name: "access", label: "Access", options: accessOptions(directory), value: form.text("access") || (accessOptions(directory).at(-1)?.[0] ?? "owner"), faults: error?.errors })}
<button class="main">Make link</button></form>`,
    error === undefined ? 200 : 400,
  )
})

/** A form of the page: back to it, or the page with the reason of a refusal. */
const formRoute = (
  path: string,
  action: AuditAction,
  change: (visit: MemberVisit) => Effect.Effect<Reply, LaurelError>,
): Route => ({
  method: "POST",
  action,
  path: `/team/${path}`,
  access: "owner",
  answer: (visit) =>
    orPage(change(visit), (error) =>
      teamPage(path === "invite" ? visit : { ...visit, form: emptyForm }, error),
    ),
})

const back = ({ prefix }: MemberVisit): Reply => redirect(`${prefix}/team`)

/** Back to the page, which shows the link once. */
const withLink = (
  { member, once, origin, prefix }: MemberVisit,
  kind: "join" | "reset",
  token: string,
): Reply => {
  const link = `${origin}${prefix}/${kind}#${token}`
  return redirect(`${prefix}/team?link=${once.keep(link, member.session.id)}`)
}

/** The address of the account that the path names, for the audit log: it may be gone afterwards. */
const emailOf = ({ directory, params }: MemberVisit): string =>
  directory.accounts.get(params.account!)?.email ?? ""

const asker = ({ member }: MemberVisit) => ({ sessionId: member.session.id })
const unknownAccess = laurelError("invalid_request", "Choose one of the roles.")

export const teamRoutes: ReadonlyArray<Route> = [
  { method: "GET", path: "/team", access: "owner", answer: (visit) => teamPage(visit) },
  formRoute("invite", "invitation.create", (visit) => {
    const { form, people } = visit
    const access = accessOf(form.text("access"))
    if (access === undefined) return Effect.fail(unknownAccess)
    const email = form.text("email").trim() || null
    const detail = [accessLabel(access, visit.directory), email].filter(Boolean).join(", ")
    return Effect.map(people.invite(asker(visit), { email, access }), (token) =>
      about(withLink(visit, "join", token), { detail }),
    )
  }),
  formRoute("invitations/:invitation/revoke", "invitation.revoke", (visit) =>
    Effect.as(visit.people.revokeInvitation(asker(visit), visit.params.invitation!), back(visit)),
  ),
  formRoute(":account/reset", "account.create_reset_link", (visit) =>
    Effect.map(visit.people.reset(asker(visit), visit.params.account!), (token) =>
      about(withLink(visit, "reset", token), { detail: emailOf(visit) }),
    ),
  ),
  formRoute(":account/access", "account.change_access", (visit) => {
    const access = accessOf(visit.form.text("access"))
    if (access === undefined) return Effect.fail(unknownAccess)
    const changed = visit.people.changeAccess(asker(visit), visit.params.account!, access)
    const detail = `${emailOf(visit)}: ${accessLabel(access, visit.directory)}`
    return Effect.as(changed, about(back(visit), { detail }))
  }),
  formRoute(":account/remove", "account.remove", (visit) =>
    Effect.as(
      visit.people.remove(asker(visit), visit.params.account!),
      about(back(visit), { detail: emailOf(visit) }),
    ),
  ),
]
