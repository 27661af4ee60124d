/** Access as forms and lists show it: owner of the server, or a role in each of some projects. */
import { type Access, projectRoles } from "../../../domain/accounts/Account.ts"
import type { DirectoryState } from "../../../domain/project/Directory.ts"
import { invalidRequest, type LaurelError } from "../../../domain/values/Errors.ts"
import { type Form, selectField } from "../../view/Forms.ts"
import { type Html, html } from "../../view/Html.ts"

const projectsShown = 3

const roleLabels = {
  owner: "owner: all projects, accounts and the server",
  admin: "admin of a project: read and change everything in it",
  viewer: "viewer of a project: read everything in it, but no secrets",
} as const

/** Access in words; of many projects the first. */
export const accessLabel = ({ owner, projects }: Access, directory: DirectoryState): string => {
  if (owner) return "owner"
  if (projects.length === 0) return "no project"
  const shown = projects.slice(0, projectsShown).map(({ projectId, role }) => {
    return `${role} of ${directory.projects.get(projectId)?.name ?? projectId}`
  })
  const more = projects.length - shown.length
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(", ")
}

/** The names of the fields of `accessFields`. */
export const accessFieldNames = ["role", "project"]

/** A role, and the project that it is in unless it is the owner's. */
export const accessFields = (
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
export const accessOf = ({ projects }: DirectoryState, form: Form): Access | LaurelError => {
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
