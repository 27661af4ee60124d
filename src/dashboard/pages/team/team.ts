/** Accounts and invitations, for owners. Links are shown once, to the owner who made them. */

import { Effect } from "effect"
import type { AuditAction } from "../../../accounts/audit/AuditLog.ts"
import {
  type Access,
  type Account,
  type Invitation,
  normalEmail,
  projectRoles,
} from "../../../domain/accounts/Account.ts"
import type { DirectoryState } from "../../../domain/project/Directory.ts"
import { invalidRequest, type LaurelError, laurelError } from "../../../domain/values/Errors.ts"
import { asker, type MemberVisit, memberForm, type Route } from "../../request/Route.ts"
import { secretBox } from "../../view/Commands.ts"
import {
  confirmButton,
  emptyForm,
  type Form,
  idempotencyField,
  refusal,
  selectField,
  textField,
} from "../../view/Forms.ts"
import { type Content, type Html, html } from "../../view/Html.ts"
import { offsetPage, properties, table } from "../../view/Lists.ts"
import { time } from "../../view/Quantities.ts"
import { about, type Reply, redirect } from "../../view/Replies.ts"

/* Access in forms and lists: owner of the server, or a role in some projects. */

const projectsShown = 3

const roleLabels = {
  owner: "owner: all projects, accounts and the server",
  admin: "admin of a project: read and change everything in it",
  viewer: "viewer of a project: read everything in it, but no secrets",
} as const

/** Access in words, with the first of many projects. */
const accessLabel = ({ owner, projects }: Access, directory: DirectoryState): string => {
  if (owner) return "owner"
  if (projects.length === 0) return "no project"
  const shown = projects.slice(0, projectsShown).map(({ projectId, role }) => {
    return `${role} of ${directory.projects.get(projectId)?.name ?? projectId}`
  })
  const more = projects.length - shown.length
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(", ")
}

/** The names of the fields of `accessFields`. */
const accessFieldNames = ["role", "project"]

/** A role, and its project unless the role is owner. */
const accessFields = (
  { projects }: DirectoryState,
  form: Form,
  error: LaurelError | undefined,
  roles: ReadonlyArray<keyof typeof roleLabels> = ["viewer", "admin", "owner"],
): Html => {
  const names = [...projects.values()]
    .filter(({ archivedAt }) => archivedAt === undefined)
    .map(({ name }) => name)
    .sort()
  return html`${selectField({
    name: "role",
    label: "Role",
    options: roles.map((role) => [role, roleLabels[role]]),
    value: form.text("role"),
    faults: error?.errors,
  })}
${selectField({
  name: "project",
  label: "Project",
  ...(roles.includes("owner") && { hint: "Ignored for an owner." }),
  options: names.map((name) => [name, name]),
  value: form.text("project"),
  faults: error?.errors,
})}`
}

/** The access that `accessFields` state. */
const accessOf = ({ projects }: DirectoryState, form: Form): Access | LaurelError => {
  const role = form.text("role")
  if (role === "owner") return { owner: true, projects: [] }
  const known = projectRoles.find((one) => one === role)
  const project = [...projects.values()].find(({ name }) => name === form.text("project"))
  if (known === undefined) return fieldError("role", "must be one of the roles")
  return project === undefined
    ? fieldError("project", "must be one of the projects")
    : { owner: false, projects: [{ projectId: project.id, role: known }] }
}

const fieldError = (name: string, detail: string): LaurelError =>
  invalidRequest([{ pointer: `/${name}`, code: "invalid_value", detail }])

/* Links that let somebody in: a form makes a link, the next page shows it once. */

/** Redirects to the page at `path`, which shows the link once. */
const withLink = (
  { member, once, origin, prefix }: MemberVisit,
  kind: "join" | "reset",
  token: string,
  path: string,
): Reply => {
  const link = `${origin}${prefix}/${kind}#${token}`
  return redirect(`${path}?link=${once.keep(link, member.session.id)}`)
}

/** The link that the previous form made. */
const secretLink = ({ member, once, request }: MemberVisit): Html | undefined => {
  const link = once.take(request.query.get("link"), member.session.id)
  if (link === undefined) return undefined
  return html`<section aria-labelledby="link-title"><h2 id="link-title">The link</h2>
<p>Send it to the person it is for. It works once, and is not shown again.</p>
${secretBox("link", "the link", link)}</section>`
}

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

/** A form of the page. It redirects to the page, or shows the page with the reason of a refusal. */
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

/* One account, for owners: its roles in projects, a reset link, removal. */

const path = "/team/:account"
const pageOf = ({ params, prefix }: MemberVisit): string => `${prefix}/team/${params.account}`

const accountPage = Effect.fnUntraced(function* (
  visit: MemberVisit,
  error?: LaurelError,
): Effect.fn.Return<Reply, LaurelError> {
  const { directory, form, params, request, show } = visit
  const account = directory.accounts.get(params.account!)
  if (account === undefined) return yield* Effect.fail(error ?? accountNotFound)
  const { access, createdAt, email, id, name, passkeys, password } = account
  const action = pageOf(visit)
  const roles = offsetPage(action, request.query, access.projects)
  return show(
    name,
    html`${secretLink(visit)}
${refusal(error, ["email", ...accessFieldNames])}
${properties([
  ["E-mail address", email],
  ["Created", time(createdAt)],
  ["Password", password === null ? "none" : "set"],
  ["Passkeys", passkeys.length],
])}
<h2>Access</h2>
${
  access.owner
    ? html`<p>Owner: everything in every project, and all accounts.</p>`
    : [
        access.projects.length === 0
          ? html`<p>None yet.</p>`
          : table(
              `Roles of ${name}`,
              ["Project", "Role", "Actions"],
              roles.items.map(({ projectId, role }) => {
                const project = directory.projects.get(projectId)?.name ?? projectId
                return [
                  project,
                  role,
                  html`<form method="post" action="${action}/roles/${projectId}/remove"><button aria-label="Remove role in ${project}">Remove role</button></form>`,
                ]
              }),
            ),
        roles.pager,
      ]
}
<h3>Give a role</h3>
<p class="hint">All sessions of the account end; where it loses a role, so do open links that it made or that are for it. A role in a project replaces the one that it had there.${access.owner && " A role in a project takes the place of being an owner."}</p>
<form method="post" action="${action}/access">
${accessFields(directory, form, error)}
<button class="main">Give role</button></form>
<h2>E-mail address</h2>
<p class="hint">The address signs in, and names the account in the audit log. Only an owner can change it.</p>
<form method="post" action="${action}/address">
${textField({ name: "email", label: "E-mail address", type: "email", value: form.text("email") || email, required: true, faults: error?.errors })}
<button>Change address</button></form>
<h2>Locked out</h2>
<p>A reset link works once and for one hour. It lets the person choose a new way to sign in.</p>
<form method="post" action="${action}/reset">${idempotencyField()}<button>Create reset link</button></form>
<h2>Remove account</h2>
${confirmButton({
  id: `remove-${id}`,
  action: `${action}/remove`,
  button: "Remove account",
  keep: "Keep it",
  title: `Remove ${name}?`,
  detail:
    "The account is deleted and all its sessions end. API keys that it created stay in force.",
})}`,
    error,
  )
})

/** A form of the page: its answer, or the page with the reason of a refusal. */
const accountFormRoute = (
  below: string,
  action: AuditAction,
  change: (visit: MemberVisit, account: Account) => Effect.Effect<Reply, LaurelError>,
): Route => {
  const changed = (visit: MemberVisit) => {
    const account = visit.directory.accounts.get(visit.params.account!)
    if (account === undefined) return Effect.fail(accountNotFound)
    return Effect.map(change(visit, account), (reply) =>
      about(reply, { subject: account.id, detail: reply.audit?.detail ?? account.email }),
    )
  }
  return memberForm("owner", `${path}/${below}`, action, changed, accountPage)
}

/** Sets the access. The audit log has the access before and after. */
const changeAccess = (visit: MemberVisit, { access: seen, email, id }: Account, access: Access) =>
  Effect.as(
    visit.people.changeAccess(asker(visit), id, access, seen),
    about(redirect(pageOf(visit)), {
      detail: `${email}: ${[seen, access].map((one) => accessLabel(one, visit.directory)).join(" → ")}`,
    }),
  )

export const teamAccountRoutes: ReadonlyArray<Route> = [
  { method: "GET", path, access: "owner", answer: (visit) => accountPage(visit) },
  accountFormRoute("access", "account.change_access", (visit, account) => {
    const wish = accessOf(visit.directory, visit.form)
    if ("_tag" in wish) return Effect.fail(wish)
    const [given] = wish.projects
    const kept = account.access.projects.filter(({ projectId }) => projectId !== given?.projectId)
    return changeAccess(visit, account, {
      owner: wish.owner,
      projects: wish.owner ? [] : [...kept, ...wish.projects],
    })
  }),
  accountFormRoute("roles/:role/remove", "account.change_access", (visit, account) => {
    const { owner, projects } = account.access
    const kept = projects.filter(({ projectId }) => projectId !== visit.params.role)
    return changeAccess(visit, account, { owner, projects: kept })
  }),
  accountFormRoute("address", "account.change_address", (visit, { email, id }) => {
    const wish = visit.form.text("email").trim()
    return Effect.as(
      visit.people.changeAddress(asker(visit), id, wish),
      about(redirect(pageOf(visit)), { detail: `${email} → ${normalEmail(wish)}` }),
    )
  }),
  accountFormRoute("reset", "account.create_reset_link", (visit, account) =>
    Effect.map(visit.people.reset(asker(visit), account.id), (token) =>
      withLink(visit, "reset", token, pageOf(visit)),
    ),
  ),
  accountFormRoute("remove", "account.remove", (visit, account) =>
    Effect.as(visit.people.remove(asker(visit), account.id), redirect(`${visit.prefix}/team`)),
  ),
]

const accountNotFound = laurelError("account_not_found", "No account has this id.")
