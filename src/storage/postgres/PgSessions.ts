/**
 * The sessions of PostgreSQL that the partitions of a process share: as many, however many partitions it has.
 *
 * - No session belongs to a partition. The statements of the fence name partition, epoch and place, and PostgreSQL checks
 *   them under the lock of the partition's row. That holds for a repeated append, too, whose first attempt may still run in a
 *   session that was cut: the later one of both finds another place, and changes nothing.
 * - Appends have sessions of their own, and so have the reads of the partitions' rows, by which a runner knows that it is the
 *   owner: neither waits for a large write or an upload.
 * - A named statement has the same text in all files: a session prepares it once, for all partitions.
 */
import { Effect, type Scope } from "effect"
import { limits } from "../../Limits.ts"
import { PartitionRows } from "./PartitionRows.ts"
import { PgConnection, type PgConnectionOptions, type Sessions } from "./PgConnection.ts"
import { PgPool } from "./PgPool.ts"
import { inIndexOrder } from "./PgTables.ts"

export interface PgSessions {
  readonly appends: Sessions
  readonly rows: PartitionRows
  /** For all else. */
  readonly others: Sessions
}

/** They end with the scope. */
export const openSessions = (
  options: PgConnectionOptions,
): Effect.Effect<PgSessions, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { postgresAppendSessions, postgresOtherSessions } = limits
    const closed = <A extends { readonly close: Effect.Effect<void> }>(make: () => A) =>
      Effect.acquireRelease(Effect.sync(make), (opened) => opened.close)
    const checks = yield* closed(() => new PgConnection(options))
    return {
      appends: yield* closed(() => new PgPool({ ...options, sessions: postgresAppendSessions })),
      rows: new PartitionRows(checks),
      others: yield* closed(
        () => new PgPool({ ...options, session: inIndexOrder, sessions: postgresOtherSessions }),
      ),
    }
  })
