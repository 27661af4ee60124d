/** Finds a project by its name in a data directory. Fails where the database is damaged, or there is no such project. */
import path from "node:path"
import { Effect } from "effect"
import { projectNamed } from "../../domain/Directory.ts"
import { makeAnew } from "../../storage/lmdb/LmdbPages.ts"
import { JobFailed } from "./Jobs.ts"
import type { JobCode } from "./jobTable.ts"
import { findPageFault } from "./pageFault.ts"
import { SavedState } from "./SavedState.ts"

export const findProject: JobCode<"project"> = Effect.fnUntraced(function* ({ directory, name }) {
  const faults: Array<string> = []
  const fault = findPageFault(path.join(directory, "live"))
  if (fault !== undefined) return yield* damaged(fault)
  const saved = yield* SavedState.open({ folder: directory, fault: (words) => faults.push(words) })
  const found = projectNamed(saved.readDirectory(), name)
  if (faults[0] !== undefined) return yield* damaged(faults[0])
  if (found !== undefined) return { id: found.id }
  return yield* new JobFailed({ kind: "refused", detail: `There is no project ${name}` })
})

const damaged = (words: string) =>
  new JobFailed({ kind: "damaged", detail: `${words}. First, all has to be whole. ${makeAnew}` })
