/**
 * LMDB writes its lock file through a mapping: without space for it, the process dies of SIGBUS. So the space is taken
 * before.
 */
import path from "node:path"
import { Effect } from "effect"
import { type DiskError, withFile } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"

const lockBytes = 65_536

/** Takes the space of the lock in `folder` where no lock is there yet. */
export const reserveLock = Effect.fnUntraced(function* (
  folder: string,
): Effect.fn.Return<void, DiskError> {
  if ((yield* nodeDisk.list(folder)).includes("lock.mdb")) return
  yield* withFile(nodeDisk, path.join(folder, "lock.mdb"), "create", (file) =>
    file.write(0, [Buffer.alloc(lockBytes)]),
  )
})
