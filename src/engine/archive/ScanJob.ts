/** Scans the database of a data directory, also beside the server that writes it. */
import path from "node:path"
import { Effect } from "effect"
import { findDamage } from "../../storage/lmdb/DatabaseCheck.ts"
import type { JobCode } from "./Jobs.ts"

/** Scans twice before it reports damage, since the report ends a server. */
export const scanDatabase: JobCode<"scan"> = Effect.fnUntraced(function* (
  { directory },
  { progress },
) {
  const find = findDamage(path.join(directory, "live"), (done, total) =>
    progress({ activity: "Checking", done, total }),
  )
  if ((yield* find) === undefined) return null
  return (yield* find) ?? null
})
