/**
 * Finds what is wrong with the pages of a database (`LmdbPages`), also beside the server that writes it. It imports
 * nothing of Effect: the last words of a server are said by a process that loads little.
 */
import { checkPages, type PagesFound } from "../../storage/lmdb/LmdbPages.ts"
import type { JobContext } from "./jobTable.ts"

/** A server that writes takes pages away under the check, at each of its transactions but not before the second. */
const attempts = 5

/** What is wrong with the pages of the database in `live`; `undefined`: nothing, or it changed too often to tell. */
export const findPageFault = (
  live: string,
  progress: JobContext["progress"] = () => {},
): string | undefined => {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const found = checkAll(live, progress)
    if (found.fault === undefined) return undefined
    const now = checkAll(live, () => {}, false)
    if (now.transaction === found.transaction) return found.fault
  }
  return undefined
}

const checkAll = (live: string, progress: JobContext["progress"], whole = true): PagesFound => {
  const check = checkPages(live, { whole })
  let step = check.next()
  for (; step.done !== true; step = check.next()) progress({ activity: "Checking", ...step.value })
  return step.value
}
