/** One account, for owners: its roles in projects, a reset link, removal. */
import { Effect } from "effect"
import type { AuditAction } from "../../../accounts/audit/AuditLog.ts"
import { type Access, type Account, normalEmail } from "../../../domain/accounts/Account.ts"
import { type LaurelError, laurelError } from "../../../domain/values/Errors.ts"
import { asker, type MemberVisit, memberForm, type Route } from "../../request/Route.ts"
import { confirmButton } from "../../view/Dialogs.ts"
import { idempotencyField, refusal, textField } from "../../view/Forms.ts"
import { html } from "../../view/Html.ts"
import { offsetPage, properties, table } from "../../view/Lists.ts"
import { time } from "../../view/Quantities.ts"
import { about, type Reply, redirect } from "../../view/Replies.ts"
import { accessFieldNames, accessFields, accessLabel, accessOf } from "./access.ts"
import { secretLink, withLink } from "./links.ts"

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
const formRoute = (
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

/** Sets the access; the log says what it was and is. */
const changeAccess = (visit: MemberVisit, { access: seen, email, id }: Account, access: Access) =>
  Effect.as(
    visit.people.changeAccess(asker(visit), id, access, seen),
    about(redirect(pageOf(visit)), {
      detail: `${email}: ${[seen, access].map((one) => accessLabel(one, visit.directory)).join(" → ")}`,
    }),
  )

export const teamAccountRoutes: ReadonlyArray<Route> = [
  { method: "GET", path, access: "owner", answer: (visit) => accountPage(visit) },
  formRoute("access", "account.change_access", (visit, account) => {
    const wish = accessOf(visit.directory, visit.form)
    if ("_tag" in wish) return Effect.fail(wish)
    const [given] = wish.projects
    const kept = account.access.projects.filter(({ projectId }) => projectId !== given?.projectId)
    return changeAccess(visit, account, {
      owner: wish.owner,
      projects: wish.owner ? [] : [...kept, ...wish.projects],
    })
  }),
  formRoute("roles/:role/remove", "account.change_access", (visit, account) => {
    const { owner, projects } = account.access
    const kept = projects.filter(({ projectId }) => projectId !== visit.params.role)
    return changeAccess(visit, account, { owner, projects: kept })
  }),
  formRoute("address", "account.change_address", (visit, { email, id }) => {
    const wish = visit.form.text("email").trim()
    return Effect.as(
      visit.people.changeAddress(asker(visit), id, wish),
      about(redirect(pageOf(visit)), { detail: `${email} → ${normalEmail(wish)}` }),
    )
  }),
  formRoute("reset", "account.create_reset_link", (visit, account) =>
    Effect.map(visit.people.reset(asker(visit), account.id), (token) =>
      withLink(visit, "reset", token, pageOf(visit)),
    ),
  ),
  formRoute("remove", "account.remove", (visit, account) =>
    Effect.as(visit.people.remove(asker(visit), account.id), redirect(`${visit.prefix}/team`)),
  ),
]

const accountNotFound = laurelError("account_not_found", "No account has this id.")
