/** Writes the operator's changes to keys, projects and accounts to the audit log. */
import { Effect } from "effect"
import { type DirectoryState, projectNamed, scopeOf } from "../../domain/project/Directory.ts"
import type { AccountAdmin } from "../AccountAdmin.ts"
import type { ApiKeys, CreatedKey, KeyDetails } from "../ApiKeys.ts"
import { limitChange, type Projects } from "../Projects.ts"
import type { AuditLog } from "./AuditLog.ts"
import { logged } from "./AuditLog.ts"

const byOperator = { by: "operator", subject: "", projectId: null, environment: null } as const

export const auditedKeys = (
  keys: ApiKeys["Service"],
  log: AuditLog,
  directory: Effect.Effect<DirectoryState>,
): ApiKeys["Service"] => {
  const where = (
    state: DirectoryState,
    { environment, id, project }: Pick<CreatedKey, "environment" | "id" | "project">,
  ) => ({
    ...byOperator,
    subject: id,
    projectId: projectNamed(state, project)?.id ?? null,
    environment,
  })
  /** The creation of a key, whose project may be new. */
  const created = (
    action: "key.create" | "key.rotate",
    work: ReturnType<ApiKeys["Service"]["create"]>,
    before: string,
  ) =>
    Effect.map(
      logged(
        log,
        Effect.flatMap(work, (key) => Effect.map(directory, (state) => ({ key, state }))),
        ({ key, state }) => ({
          ...where(state, key),
          action,
          detail: `${before}${scopeOf(key)}`,
        }),
      ),
      ({ key }) => key,
    )
  return {
    ...keys,
    create: (request, by) => created("key.create", keys.create(request, by), ""),
    rotate: (keyId, overlap, by) =>
      created("key.rotate", keys.rotate(keyId, overlap, by), `in place of ${keyId}, `),
    revoke: (keyId, by) =>
      Effect.gen(function* () {
        const key = (yield* keys.list).find(({ id }): boolean => id === keyId)
        const state = yield* directory
        const found = (one: KeyDetails) => ({ ...where(state, one), detail: scopeOf(one) })
        yield* logged(log, keys.revoke(keyId, by), () => ({
          ...(key === undefined ? { ...byOperator, subject: keyId, detail: "" } : found(key)),
          action: "key.revoke",
        }))
      }),
  }
}

export const auditedProjects = (
  projects: Projects["Service"],
  log: AuditLog,
  directory: Effect.Effect<DirectoryState>,
): Projects["Service"] => ({
  ...projects,
  limit: (by, projectId, request) =>
    Effect.flatMap(directory, (before) =>
      logged(log, projects.limit(by, projectId, request), (after) => ({
        ...byOperator,
        action: "project.limit",
        detail: limitChange(before.projects.get(projectId), after),
        projectId,
      })),
    ),
})

export const auditedAccounts = (
  admin: AccountAdmin["Service"],
  log: AuditLog,
): AccountAdmin["Service"] => ({
  list: admin.list,
  createLink: (request) => {
    const { email, project, purpose, role } = request
    const access = project === undefined ? role : `${role} of ${project}`
    return logged(log, admin.createLink(request), () => ({
      ...byOperator,
      action: purpose === "reset" ? "account.create_reset_link" : "invitation.create",
      detail: [access, email].filter(Boolean).join(", "),
    }))
  },
  remove: (email) =>
    logged(log, admin.remove(email), () => ({
      ...byOperator,
      action: "account.remove",
      detail: email,
    })),
})
