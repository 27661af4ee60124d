/**
 * Compares the keys of restored data with those of the data that it replaced: finds keys that had
 * ended there and are in force again. Fails where the replaced data cannot be read, or is not of
 * the same data directory.
 */
import { Effect } from "effect"
import {
  type ApiKey,
  type DirectoryState,
  isArchived,
  isKeyInForce,
} from "../../../domain/project/Directory.ts"
import { limits } from "../../../Limits.ts"
import { SavedState } from "../check/SavedState.ts"
import { damaged, type JobCode, JobFailed, type ReturnedKey } from "../jobs/Jobs.ts"

export const findReturnedKeys: JobCode<"returnedKeys"> = Effect.fnUntraced(function* (
  { at, replaced, restored },
  { progress },
) {
  const faults: Array<string> = []
  const fault = (words: string) => faults.push(words)
  const before = yield* SavedState.open({
    folder: replaced,
    fault,
    onScanning: (done, total) => progress({ activity: "Checking", done, total }),
  })
  // The restored data has passed its check.
  const after = yield* SavedState.open({ folder: restored, fault, isScanned: true })
  const old = before.readDirectory()
  const now = after.readDirectory()
  if (faults[0] !== undefined) return yield* damaged(faults[0])
  if (old.hashSecret !== now.hashSecret || old.partition !== now.partition)
    return yield* otherDirectory
  const isLater = before.lastSequence >= after.lastSequence
  const found = [...now.keys.values()].flatMap((key) => {
    if (!isInForce(now, key, at)) return []
    const was = endOf(old, old.keys.get(key.id), isLater, at)
    return was === undefined ? [] : [shown(now, key, was)]
  })
  return { keys: found.slice(0, limits.restoreListedMax), count: found.length }
})

const otherDirectory = new JobFailed({
  kind: "refused",
  detail: "The replaced data is of another data directory",
})

const isInForce = (state: DirectoryState, key: ApiKey, at: number): boolean =>
  isKeyInForce(key, at) && !isArchived(state, key)

/**
 * How the key had ended in the replaced data; `undefined`: it was in force there, or did not exist
 * yet.
 */
const endOf = (
  old: DirectoryState,
  key: ApiKey | undefined,
  isLater: boolean,
  at: number,
): ReturnedKey["was"] | undefined => {
  if (key === undefined) return isLater ? "unlisted" : undefined
  if (key.revokedAt !== null) return "revoked"
  if (!isKeyInForce(key, at)) return "expired"
  return isArchived(old, key) ? "archived" : undefined
}

const shown = (state: DirectoryState, key: ApiKey, was: ReturnedKey["was"]): ReturnedKey => ({
  id: key.id,
  name: key.name ?? "",
  hint: key.hint,
  project: state.projects.get(key.projectId)?.name ?? key.projectId,
  environment: key.environment,
  was,
})
