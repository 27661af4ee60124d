/** Finds a project by its name in a data directory. Fails where the database is damaged, or there is no such project. */
import { Effect } from "effect"
import { projectNamed } from "../../domain/project/Directory.ts"
import { rebuildHint } from "../../storage/lmdb/environment.ts"
import { type JobCode, JobFailed } from "./Jobs.ts"
import { SavedState } from "./SavedState.ts"

export const findProject: JobCode<"project"> = Effect.fnUntraced(function* ({ directory, name }) {
  const faults: Array<string> = []
  const saved = yield* Effect.catchTag(
    SavedState.open({ folder: directory, fault: (words) => faults.push(words) }),
    "JobFailed",
    ({ detail }) => damaged(detail),
  )
  const found = projectNamed(saved.readDirectory(), name)
  if (faults[0] !== undefined) return yield* damaged(faults[0])
  if (found !== undefined) return { id: found.id }
  return yield* new JobFailed({ kind: "refused", detail: `There is no project ${name}` })
})

const damaged = (words: string) =>
  new JobFailed({ kind: "damaged", detail: `${words}. Restore first. ${rebuildHint}` })
