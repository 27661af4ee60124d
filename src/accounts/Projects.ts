/**
 * Managing projects: owners on the dashboard, the operator on the command line. `by` is the session
 * of the owner, or `operator`.
 */
import { Context, Effect, Schema } from "effect"
import type { Asker } from "../domain/accounts/Account.ts"
import type { Partitions } from "../domain/decide/decideProjects.ts"
import { limitOf, type Project, tiers } from "../domain/project/Directory.ts"
import { type LaurelError, laurelError } from "../domain/values/Errors.ts"
import { isoTime } from "../domain/values/isoTime.ts"

/**
 * A requested limit. `rateLimit` is requests per minute, `null` for no limit; only `enterprise` may
 * have it.
 */
export const LimitRequest = Schema.Struct({
  tier: Schema.Literals(tiers),
  rateLimit: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
})
export type LimitRequest = typeof LimitRequest.Type

/** A project as lists show it. Times are ISO 8601. */
export const ProjectDetails = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  tier: Schema.Literals(tiers),
  rateLimit: Schema.NullOr(Schema.Int),
  createdAt: Schema.String,
  archivedAt: Schema.NullOr(Schema.String),
})
export type ProjectDetails = typeof ProjectDetails.Type

export const projectDetails = (project: Project): ProjectDetails => {
  const { archivedAt, createdAt, id, name } = project
  const { requestsPerMinute, tier } = limitOf(project)
  return {
    id,
    name,
    tier,
    rateLimit: requestsPerMinute,
    createdAt: isoTime(createdAt),
    archivedAt: archivedAt === undefined ? null : isoTime(archivedAt),
  }
}

/** A limit in words: `enterprise, no limit`. */
export const limitText = ({
  rateLimit,
  tier,
}: Pick<ProjectDetails, "rateLimit" | "tier">): string =>
  `${tier}, ${rateLimit === null ? "no limit" : `${rateLimit} requests a minute`}`

/** What the audit log says about a changed limit. */
export const limitChange = (before: Project | undefined, after: ProjectDetails): string => {
  const was = before === undefined ? "" : `${limitText(projectDetails(before))} → `
  return `${after.name}: ${was}${limitText(after)}`
}

/** The partitions over which new projects are spread; `undefined` without a cluster. */
export const ProjectPartitions = Context.Reference<() => Partitions>("accounts/ProjectPartitions", {
  defaultValue: () => () => undefined,
})

export class Projects extends Context.Service<
  Projects,
  {
    /**
     * Creates a project without keys; `invalid_request` for a malformed name, `conflict` for a name
     * in use.
     */
    readonly create: (by: Asker, name: string) => Effect.Effect<void, LaurelError>
    /** Also changes the addresses of the project's pages. Its keys stay. */
    readonly rename: (
      by: Asker,
      projectId: string,
      name: string,
    ) => Effect.Effect<void, LaurelError>
    /** Ends the project's streams and refuses its keys from the answer on. Nothing is deleted. */
    readonly archive: (by: Asker, projectId: string) => Effect.Effect<void, LaurelError>
    readonly unarchive: (by: Asker, projectId: string) => Effect.Effect<void, LaurelError>
    /** Sets the tier and the rate limit of a project, from the next request on. */
    readonly limit: (
      by: Asker,
      projectId: string,
      request: LimitRequest,
    ) => Effect.Effect<ProjectDetails, LaurelError>
    /** All projects, oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<ProjectDetails>>
  }
>()("accounts/Projects") {}

/** Sets the limit of the project of this name, for the operator. */
export const limitNamed = (
  projects: Projects["Service"],
  name: string,
  request: LimitRequest,
): Effect.Effect<ProjectDetails, LaurelError> =>
  Effect.flatMap(projects.list, (all) => {
    const project = all.find((one) => one.name === name)
    return project === undefined
      ? Effect.fail(laurelError("project_not_found", `No project has the name ${name}.`))
      : projects.limit("operator", project.id, request)
  })
