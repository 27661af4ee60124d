/** `laurel snapshots` */
import { Command } from "effect/cli"
import { createSnapshot } from "./snapshotsCreate.ts"
import { exportSnapshot } from "./snapshotsExport.ts"
import { importSnapshot } from "./snapshotsImport.ts"
import { listSnapshots } from "./snapshotsList.ts"
import { pruneSnapshots } from "./snapshotsPrune.ts"
import { restoreSnapshot } from "./snapshotsRestore.ts"
import { verifySnapshot } from "./snapshotsVerify.ts"

export const snapshots = Command.make("snapshots").pipe(
  Command.withDescription(
    "List, create, verify, restore, prune, export and import archives of the data directory",
  ),
  Command.withSubcommands([
    listSnapshots,
    createSnapshot,
    verifySnapshot,
    restoreSnapshot,
    pruneSnapshots,
    exportSnapshot,
    importSnapshot,
  ]),
)
