/** The projects that an account has access to; owners create, rename, limit and archive them. */
import { Effect } from "effect"
import type { AuditAction } from "../../accounts/audit/AuditLog.ts"
import { limitChange } from "../../accounts/Projects.ts"
import { roleIn } from "../../domain/accounts/Account.ts"
import {
  environmentId,
  environmentNames,
  limitOf,
  type Project,
  tiers,
} from "../../domain/project/Directory.ts"
import { type LaurelError, laurelError } from "../../domain/values/Errors.ts"
import { asker, type MemberVisit, memberForm, type Route } from "../request/Route.ts"
import { confirmButton, idempotencyField, refusal, textField } from "../view/Forms.ts"
import { type Content, type Html, html, isolated } from "../view/Html.ts"
import { offsetPage, table } from "../view/Lists.ts"
import { badge, placePath } from "../view/Page.ts"
import { count, time } from "../view/Quantities.ts"
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
    const { requestsPerMinute, tier } = limitOf(project)
    const most = requestsPerMinute === null ? "no limit" : `${count(requestsPerMinute)} a minute`
    rows.push([
      html`<strong>${isolated(project.name)}</strong>`,
      ...links,
      html`${tier}<br>${most}`,
      more,
    ])
  }
  const last = owner ? "Actions" : "Your role"
  return show(
    "Projects",
    html`${refusal(error, ["name"])}
${inUse.length > 0 && table("Projects", ["Project", "Sandbox", "Production", "Requests", last], rows)}
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

const tierLabels = {
  free: "free: 100 requests a minute",
  pro: "pro: 1,000 requests a minute",
  enterprise: "enterprise: a limit of its own, or none",
} as const

const limitQuestion = ({ prefix }: MemberVisit, project: Project): Html => {
  const { id, name } = project
  const { requestsPerMinute, tier } = limitOf(project)
  const own = tier === "enterprise" ? requestsPerMinute : null
  return confirmButton({
    id: `limit-${id}`,
    button: "Limit",
    confirm: "Set limit",
    danger: false,
    title: `Limit the requests of ${name}`,
    detail:
      "Each environment of the project has this limit, however many keys it has. Requests of web pages and apps have the same limit of their own, apart from that of servers.",
    action: `${prefix}/projects/${id}/limit`,
    fields: html`<div class="field"><label for="tier-${id}">Tier</label><select id="tier-${id}" name="tier">${tiers.map(
      (one) =>
        html`<option value="${one}"${one === tier && html` selected`}>${tierLabels[one]}</option>`,
    )}</select></div>
<div class="field"><label for="rateLimit-${id}">Requests a minute</label><input id="rateLimit-${id}" name="rateLimit" value="${own ?? ""}" inputmode="numeric" autocomplete="off" aria-describedby="rateLimit-${id}-hint"><p class="hint" id="rateLimit-${id}-hint">Only for the enterprise tier. No limit, if empty.</p></div>`,
  })
}

const actions = (visit: MemberVisit, project: Project): Html => {
  const { prefix } = visit
  const { id, name } = project
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
  return html`<div class="row">${limitQuestion(visit, project)}${rename}${archive}</div>`
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

/** Sets the limit; the audit log has the limit before and after. */
const setLimit = (visit: MemberVisit): Effect.Effect<Reply, LaurelError> => {
  const { directory, form, params, prefix, projects } = visit
  const tier = tiers.find((one) => one === form.text("tier"))
  if (tier === undefined) return Effect.fail(chooseTier)
  const typed = form.number("rateLimit")
  // A text that is no number is out of range, too. JSON has no `NaN`: a cluster would send `null`, no limit.
  const rateLimit = typeof typed === "string" ? 0 : typed
  const request = { tier, ...(rateLimit !== undefined && { rateLimit }) }
  return Effect.map(projects.limit(asker(visit), params.id!, request), (after) =>
    about(redirect(prefix), {
      detail: limitChange(directory.projects.get(after.id), after),
      projectId: after.id,
    }),
  )
}

const chooseTier = laurelError("invalid_request", "Choose one of the listed tiers.")

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
  memberForm("owner", "/projects/:id/limit", "project.limit", setLimit, projectsPage),
  formRoute("/:id/archive", "project.archive", (visit) => {
    const { directory, form, params, projects } = visit
    const typed = form.text("typed").trim() === directory.projects.get(params.id!)?.name
    return typed ? projects.archive(asker(visit), params.id!) : Effect.fail(notTyped)
  }),
  formRoute("/:id/unarchive", "project.unarchive", (visit) =>
    visit.projects.unarchive(asker(visit), visit.params.id!),
  ),
]
