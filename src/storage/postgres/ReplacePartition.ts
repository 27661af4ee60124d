/**
 * Makes a data directory the partition of a cluster in the place of what PostgreSQL has: after a
 * restore, which the partition's journal would otherwise undo.
 *
 * - One transaction removes journal, tables of webhooks and directory, and uploads journal and
 *   tables of webhooks of the data directory under a new lineage: all or nothing, whoever is the
 *   next owner.
 * - The epoch goes on: the owner is fenced, also one that runs meanwhile. What it acknowledged
 *   until then is lost, as all records that the directory does not have. Its appends and claims of
 *   others wait for the transaction.
 * - Copies of the old lineage are moved aside at their next opening (`Lineage`), and filled from
 *   PostgreSQL, or from an archive where that does not have all records. A claim names the lineage
 *   of the copy: none of them becomes the owner of the new one.
 * - The new lineage is written to the data directory last, and into the mark of the restore. After
 *   a crash before that a start is refused, and this can be repeated: the mark has the lineage
 *   before the transaction begins, so that one whose outcome was not known is not done twice. The
 *   records of servers since would be lost.
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
  /** The data directory; the caller holds the lock of the cluster's. */
  readonly directory: string
  /** Belongs to the transaction. */
  readonly also?: (run: Run, end: JournalPosition) => Effect.Effect<void, E>
}

/** Returns where the partition ends now. */
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
    // Recovers the directory, and checks it: damaged data replaces nothing.
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
