/**
 * Replaces the partition in PostgreSQL by a data directory: after a restore, which the partition's
 * journal would otherwise undo.
 *
 * - One transaction removes journal, tables of webhooks and directory from PostgreSQL, and uploads
 *   the journal and the tables of webhooks of the data directory under a new lineage: all or
 *   nothing.
 * - The epoch continues, so a running owner is fenced. The records that it acknowledged until then
 *   are lost, as are all records that the directory lacks. Its appends, and claims of other
 *   servers, wait for the transaction.
 * - Copies of the old lineage are moved aside at their next opening (`Lineage`), and filled from
 *   PostgreSQL, or from an archive if PostgreSQL lacks records. A claim names the lineage of the
 *   copy, so no server with an old copy becomes the owner of the new journal.
 * - The new lineage is written into the mark of the restore before the transaction begins, and into
 *   the data directory last. After a crash in between, a start is refused and the command can be
 *   repeated: the mark tells whether the transaction was committed, so that it never runs twice. A
 *   second run would lose the records that servers have appended since.
 */
import { randomUUID } from "node:crypto"
import path from "node:path"
import { Effect, type Scope } from "effect"
import { noteInstalled, noteInstalling, readInstalling } from "../archive/ArchiveSwap.ts"
import type { DiskError } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import * as DurableStorage from "../durable/DurableStorage.ts"
import { writeLineage } from "../durable/LineageFile.ts"
import { scanJournal } from "../journal/JournalScan.ts"
import type { JournalPosition } from "../journal/SegmentFormat.ts"
import type { StorageError } from "../Storage.ts"
import { CopiedTables } from "./CopiedTables.ts"
import type { PgFailure, Run } from "./PgConnection.ts"
import { PgJournal } from "./PgJournal.ts"
import { openSessions } from "./PgPool.ts"
import { PgTables } from "./PgTables.ts"
import { migrate } from "./schema.ts"

export interface ReplaceOptions<E> {
  /** `postgres://…` */
  readonly url: string
  readonly partition: number
  /** The data directory. The caller holds the lock of the cluster's directory. */
  readonly directory: string
  /** Further changes in the same transaction. */
  readonly also?: (run: Run, end: JournalPosition) => Effect.Effect<void, E>
}

/** Replaces the partition. Returns its end. */
export const replacePartition = <E = never>({
  also = () => Effect.void,
  directory,
  partition,
  url,
}: ReplaceOptions<E>): Effect.Effect<
  JournalPosition,
  PgFailure | DiskError | StorageError | E,
  Scope.Scope
> =>
  Effect.gen(function* () {
    // Recovers and checks the directory: damaged data replaces nothing.
    const { position, storage } = yield* DurableStorage.open({ directory })
    const sessions = yield* openSessions({ url })
    const journal = new PgJournal({ sessions, partition })
    yield* migrate(sessions.others)
    const begun = yield* readInstalling(nodeDisk, directory)
    const isThere = begun !== undefined && begun === (yield* journal.read)?.lineage
    const lineage = isThere ? begun : randomUUID()
    const options = { disk: nodeDisk, folder: path.join(directory, "journal") }
    const webhooks = new CopiedTables(storage, new PgTables(sessions.others, partition))
    const replace = journal.replace<PgFailure | DiskError | StorageError | E>(
      lineage,
      (insert) => scanJournal(options, insert),
      (run, epoch) => Effect.andThen(webhooks.claimIn(run, epoch), also(run, position())),
    )
    if (!isThere) {
      yield* noteInstalling(nodeDisk, directory, lineage)
      yield* replace
    }
    yield* writeLineage(nodeDisk, directory, lineage)
    yield* noteInstalled(nodeDisk, directory, lineage)
    return position()
  })
