/**
 * Makes a data directory the partition of a cluster in the place of what PostgreSQL has: after a restore, which the partition's
 * journal would otherwise undo.
 *
 * - One transaction removes journal, tables of webhooks and directory, and uploads the journal of the data directory under a new
 *   lineage: all or nothing. The next owner uploads its tables of webhooks.
 * - The epoch goes on: an owner that stood still meanwhile is fenced. The caller makes sure that no other runs: the records that
 *   it acknowledges until then are lost.
 * - Copies of the old lineage are moved aside at their next start (`Lineage`), and filled from PostgreSQL where it has all records.
 * - The new lineage is written to the data directory last, and into the mark of the restore. After a crash before that a start is
 *   refused, and this can be repeated.
 */
import { randomUUID } from "node:crypto"
import path from "node:path"
import { Effect, type Scope } from "effect"
import { noteInstalled } from "../archive/ArchiveSwap.ts"
import type { DiskError } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import * as DurableStorage from "../durable/DurableStorage.ts"
import { writeLineage } from "../durable/LineageFile.ts"
import { scanJournal } from "../journal/JournalScan.ts"
import type { JournalPosition } from "../journal/SegmentFormat.ts"
import type { StorageError } from "../Storage.ts"
import type { PgFailure } from "./PgConnection.ts"
import { PgJournal } from "./PgJournal.ts"
import { openSessions } from "./PgSessions.ts"
import { migrate } from "./schema.ts"

export interface ReplaceOptions {
  /** `postgres://…` */
  readonly url: string
  readonly partition: number
  /** The data directory; the caller holds the lock of the cluster's. */
  readonly directory: string
}

/** Returns where the partition ends now. */
export const replacePartition = ({
  directory,
  partition,
  url,
}: ReplaceOptions): Effect.Effect<
  JournalPosition,
  PgFailure | DiskError | StorageError,
  Scope.Scope
> =>
  Effect.gen(function* () {
    // Recovers the directory, and checks it: damaged data replaces nothing.
    const { position } = yield* DurableStorage.open({ directory })
    const sessions = yield* openSessions({ url })
    const journal = new PgJournal({ sessions, partition })
    yield* migrate(sessions.others)
    const lineage = randomUUID()
    const options = { disk: nodeDisk, folder: path.join(directory, "journal") }
    yield* journal.replace(lineage, (insert) => scanJournal(options, insert))
    yield* writeLineage(nodeDisk, directory, lineage)
    yield* noteInstalled(nodeDisk, directory, lineage)
    return position()
  })
