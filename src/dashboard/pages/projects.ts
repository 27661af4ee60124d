/** The projects that an account has access to; owners create, rename and archive them. */
import { Effect } from "effect"
import type { AuditAction } from "../../accounts/audit/AuditLog.ts"
import { roleIn } from "../../domain/accounts/Account.ts"
import { environmentId, environmentNames, type Project } from "../../domain/project/Directory.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { asker, type MemberVisit, memberForm, type Route } from "../request/Route.ts"
import { confirmButton, idempotencyField, refusal, textField } from "../view/Forms.ts"
import { type Content, type Html, html, isolated } from "../view/Html.ts"
import { offsetPage, table } from "../view/Lists.ts"
import { badge, placePath } from "../view/Page.ts"
import { time } from "../view/Quantities.ts"
import { about, type Reply, redirect } from "../view/Replies.ts"

const nameHint =
  "Lower-case letters, digits and dashes, such as my-app. Addresses of pages contain it."

const projectsPage = Effect.fnUntraced(function* (
  visit: MemberVisit,
  error?: LaurelError,
): Effect.fn.Return<Reply, LaurelError> {
  const { directory, form, member, prefix, request, show } = visit
  const own = [...directory.projects.values()]
    .filter(({ id }) => roleIn(member.account, id) !== undefined)
    .sort((one, other) => (one.name < other.name ? -1 : 1))
  const { owner } = member.account.access
  const isInUse = ({ archivedAt }: Project) => archivedAt === undefined
  const isArchived = (project: Project) => owner && !isInUse(project)
  // One list for both tables, archived projects last, so that the page has at most `pageMax` rows.
  const listed = [...own.filter(isInUse), ...own.filter(isArchived)]
  const shown = offsetPage(prefix, request.query, listed)
  const inUse = shown.items.filter(isInUse)
  const archived = shown.items.filter(isArchived)
  const rows: Array<ReadonlyArray<Content>> = []
  for (const project of inUse) {
    const links: Array<Html> = []
    for (const environment of environmentNames) {
      const { users } = yield* visit.reads.readCounts(environmentId(project.id, environment))
      const address = placePath(prefix, { project, environment })
      links.push(html`<a href="${address}">${badge(environment)}</a> ${users} users`)
    }
    const more = owner ? actions(visit, project) : roleIn(member.account, project.id)
    rows.push([html`<strong>${isolated(project.name)}</strong>`, ...links, more])
  }
  const last = owner ? "Actions" : "Your role"
  return show(
    "Projects",
    html`${refusal(error, ["name"])}
${inUse.length > 0 && table("Projects", ["Project", "Sandbox", "Production", last], rows)}
${
  !listed.some(isInUse) &&
  html`<p>A project is one app or product. It has a sandbox for trials and a production environment, which share no data.${!owner && " Ask an owner to invite you to one."}</p>`
}
${
  owner &&
  html`<h2>Create project</h2>
<form method="post" action="${prefix}/projects">${idempotencyField()}
${textField({ name: "name", label: "Name", hint: nameHint, value: form.text("name"), required: true, faults: error?.errors })}
<button class="main">Create project</button></form>`
}
${
  archived.length > 0 &&
  html`<h2>Archived</h2>
<p>Keys of these projects are refused. Their data is kept.</p>
${table(
  "Archived projects",
  ["Project", "Archived", "Actions"],
  archived.map(({ archivedAt, id, name }) => [
    name,
    time(archivedAt!),
    html`<form method="post" action="${prefix}/projects/${id}/unarchive"><button>Unarchive project</button></form>`,
  ]),
)}`
}
${shown.pager}`,
    error,
  )
})

const actions = ({ prefix }: MemberVisit, { id, name }: Project): Html => {
  const rename = confirmButton({
    id: `rename-${id}`,
    button: "Rename",
    danger: false,
    title: `Rename ${name}`,
    detail:
      "The addresses of its pages change, and links to the old ones stop working. API keys stay.",
    action: `${prefix}/projects/${id}/rename`,
    fields: html`<div class="field"><label for="name-${id}">New name</label><input id="name-${id}" name="name" value="${name}" autocomplete="off" required></div>`,
  })
  const archive = confirmButton({
    id: `archive-${id}`,
    button: "Archive",
    confirm: "Archive project",
    keep: "Keep it",
    title: `Archive ${name}, with its production environment?`,
    detail:
      "Requests with its API keys are refused at once, and its live streams end. Nothing is deleted: unarchive it to bring everything back.",
    action: `${prefix}/projects/${id}/archive`,
    fields: html`<div class="field"><label for="typed-${id}">Type ${name} to confirm</label><input id="typed-${id}" name="typed" autocomplete="off" required></div>`,
  })
  return html`<div class="row">${rename}${archive}</div>`
}

/** A form of the page. It redirects to the page, or shows the page with the reason of a refusal. */
const formRoute = (
  path: string,
  action: AuditAction,
  change: (visit: MemberVisit) => Effect.Effect<void, LaurelError>,
): Route => {
  const changed = (visit: MemberVisit) => {
    const { directory, form, params, prefix } = visit
    const names = [directory.projects.get(params.id ?? "")?.name, form.optional("name")]
    const detail = names.filter((name) => name !== undefined).join(" → ")
    const note = { detail, ...(params.id !== undefined && { projectId: params.id }) }
    return Effect.as(change(visit), about(redirect(prefix), note))
  }
  return memberForm("owner", `/projects${path}`, action, changed, projectsPage)
}

const notTyped = laurelError(
  "conflict",
  "The name that you typed is not the name of the project. Nothing was archived: type it again.",
)

export const projectRoutes: ReadonlyArray<Route> = [
  { method: "GET", path: "", access: "member", answer: (visit) => projectsPage(visit) },
  formRoute("", "project.create", (visit) =>
    visit.projects.create(asker(visit), visit.form.text("name").trim()),
  ),
  formRoute("/:id/rename", "project.rename", (visit) => {
    const { form, params, projects } = visit
    return projects.rename(asker(visit), params.id!, form.text("name").trim())
  }),
  formRoute("/:id/archive", "project.archive", (visit) => {
    const { directory, form, params, projects } = visit
    const typed = form.text("typed").trim() === directory.projects.get(params.id!)?.name
    return typed ? projects.archive(asker(visit), params.id!) : Effect.fail(notTyped)
  }),
  formRoute("/:id/unarchive", "project.unarchive", (visit) =>
    visit.projects.unarchive(asker(visit), visit.params.id!),
  ),
]
