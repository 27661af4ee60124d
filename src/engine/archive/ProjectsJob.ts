/** Lists the projects of a data directory. Fails where the database is damaged. */
import { Effect } from "effect"
import { rebuildHint } from "../../storage/lmdb/environment.ts"
import { type JobCode, JobFailed } from "./Jobs.ts"
import { SavedState } from "./SavedState.ts"

export const listProjects: JobCode<"projects"> = Effect.fnUntraced(function* ({ directory }) {
  const faults: Array<string> = []
  const saved = yield* Effect.catchTag(
    SavedState.open({ folder: directory, fault: (words) => faults.push(words) }),
    "JobFailed",
    ({ detail }) => damaged(detail),
  )
  const { projects } = saved.readDirectory()
  if (faults[0] !== undefined) return yield* damaged(faults[0])
  return { projects: [...projects.values()].map(({ id, name }) => ({ id, name })) }
})

const damaged = (words: string) =>
  new JobFailed({ kind: "damaged", detail: `${words}. Restore first. ${rebuildHint}` })
