/** The projects of a data directory that no server has open. */
import { Effect } from "effect"
import { makeWorkerHost } from "../../engine/archive/WorkerHost.ts"
import { jobFailure, withProgressBar } from "../output/JobWords.ts"

export const projectsIn = (directory: string) =>
  withProgressBar((progress) =>
    Effect.scoped(
      Effect.gen(function* () {
        const host = yield* makeWorkerHost({ background: false })
        return yield* host.run("projects", { directory }, { progress })
      }),
    ),
  ).pipe(
    Effect.mapError(jobFailure),
    Effect.map(({ projects }) => projects),
  )
