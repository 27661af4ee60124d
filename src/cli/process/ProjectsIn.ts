/** The projects of a data directory that no server has open. */
import { Effect } from "effect"
import { runJob } from "./CommandJob.ts"

export const projectsIn = (directory: string) =>
  Effect.map(runJob("projects", { directory }), ({ projects }) => projects)
