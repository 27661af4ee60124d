/** Manages accounts for the operator, who names accounts by e-mail address and projects by name. */
import { Effect } from "effect"
import { type Access, type Account, accountWithEmail } from "../../domain/accounts/Account.ts"
import { type DirectoryState, projectNamed } from "../../domain/project/Directory.ts"
import {
  type Fault,
  invalidRequest,
  type LaurelError,
  laurelError,
} from "../../domain/values/Errors.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import { AccountAdmin, type AccountDetails, type LinkRequest } from "../AccountAdmin.ts"
import type { People } from "./People.ts"

export const makeAccountAdmin = (
  engine: Engine["Service"],
  people: People["Service"],
  prefix: string,
): AccountAdmin["Service"] => {
  const accountOf = (email: string): Effect.Effect<Account, LaurelError> =>
    Effect.flatMap(engine.readDirectory, (directory) => {
      const account = accountWithEmail(directory, email)
      return account === undefined
        ? Effect.fail(laurelError("account_not_found", "No account has this e-mail address."))
        : Effect.succeed(account)
    })
  const pathOf = (kind: string) => (token: string) => ({ path: `${prefix}/${kind}#${token}` })
  return AccountAdmin.of({
    list: Effect.map(engine.readDirectory, (directory) =>
      [...directory.accounts.values()]
        .sort((one, other) => one.createdAt - other.createdAt)
        .map((account) => detailsOf(account, directory)),
    ),
    createLink: (request) =>
      Effect.gen(function* () {
        if (request.purpose === "reset") {
          const { id } = yield* accountOf(request.email)
          return yield* Effect.map(people.reset("operator", id), pathOf("reset"))
        }
        const access = accessOf(request, yield* engine.readDirectory)
        if ("pointer" in access) return yield* Effect.fail(invalidRequest([access]))
        const made = people.invite("operator", { email: request.email, access })
        return yield* Effect.map(made, pathOf("join"))
      }),
    remove: (email) => Effect.flatMap(accountOf(email), ({ id }) => people.remove("operator", id)),
  })
}

const detailsOf = (account: Account, { projects }: DirectoryState): AccountDetails => ({
  id: account.id,
  email: account.email,
  name: account.name,
  roles: account.access.owner
    ? [{ role: "owner", project: null }]
    : account.access.projects.map(({ projectId, role }) => ({
        role,
        project: projects.get(projectId)?.name ?? projectId,
      })),
  createdAt: isoTime(account.createdAt),
})

const accessOf = ({ project, role }: LinkRequest, directory: DirectoryState): Access | Fault => {
  if (role === "owner") return { owner: true, projects: [] }
  if (role === undefined) {
    return { pointer: "/role", code: "missing", detail: "must be owner, admin or viewer" }
  }
  const found = project === undefined ? undefined : projectNamed(directory, project)
  return found === undefined
    ? { pointer: "/project", code: "invalid_value", detail: "must be the name of a project" }
    : { owner: false, projects: [{ projectId: found.id, role }] }
}
