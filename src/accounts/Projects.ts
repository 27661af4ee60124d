/** Managing projects: owners do it on the dashboard. `by` is the session that asks, or the command line. */
import { Context, type Effect } from "effect"
import type { Asker } from "../domain/accounts/Account.ts"
import type { Partitions } from "../domain/decide/decideProjects.ts"
import type { LaurelError } from "../domain/values/Errors.ts"

/** The partitions among which new projects are spread now; `undefined` without a cluster. */
export const ProjectPartitions = Context.Reference<() => Partitions>("accounts/ProjectPartitions", {
  defaultValue: () => () => undefined,
})

export class Projects extends Context.Service<
  Projects,
  {
    /** Creates a project without keys; `invalid_request` or `conflict` for its name. */
    readonly create: (by: Asker, name: string) => Effect.Effect<void, LaurelError>
    /** The addresses of its pages change with the name; keys stay. */
    readonly rename: (
      by: Asker,
      projectId: string,
      name: string,
    ) => Effect.Effect<void, LaurelError>
    /** From the answer on, its keys are refused and its streams end. Nothing is deleted. */
    readonly archive: (by: Asker, projectId: string) => Effect.Effect<void, LaurelError>
    readonly unarchive: (by: Asker, projectId: string) => Effect.Effect<void, LaurelError>
  }
>()("accounts/Projects") {}
