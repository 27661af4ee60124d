/**
 * Decides whether a data directory is a copy of the partition in PostgreSQL. Both have the id of
 * their lineage, and the chain of checksums proves the rest: the copy must end where a batch in
 * PostgreSQL ends, with the same checksum.
 *
 *     directory             partition        at a start
 *     without lineage       none             becomes the partition (`begin`)
 *     with lineage          none             refused: probably another database
 *     on the chain          any              caught up (`follow`)
 *     ends before what PostgreSQL has:
 *       empty, or with lineage               filled from an archive (`refill`)
 *       without lineage                      refused: nothing says that PostgreSQL ever had its records
 *     ahead, or not on the chain, or of another lineage:
 *       with lineage                         moved aside, and filled from PostgreSQL (`discard`), or where
 *                                            that begins later than record 1 from an archive (`refill`)
 *       without lineage                      refused, as above
 *     restored, with lineage                 refused: PostgreSQL would undo the restore (`ReplacePartition.ts` makes it the partition)
 *
 * A record is acknowledged only if PostgreSQL has it. But after the promotion of a standby that was
 * behind, or after the restore of a backup, a directory that is ahead may be the last place that
 * has acknowledged records. So it is moved aside, not removed.
 */
import { lineageName } from "../durable/LineageFile.ts"
import type { JournalPosition } from "../journal/SegmentFormat.ts"
import type { PartitionState } from "./PgJournal.ts"

export interface LocalCopy extends JournalPosition {
  /** The data directory. */
  readonly directory: string
  /** `undefined` if the directory never belonged to a cluster. */
  readonly lineage: string | undefined
  /** A restore replaced the data since the directory was last open. */
  readonly isRestored: boolean
}

export type LineageDecision =
  | { readonly kind: "begin" }
  | { readonly kind: "follow" }
  | { readonly kind: "discard"; readonly why: string }
  /** `remedy`: what the operator should do if there is no archive to fill the copy from. */
  | { readonly kind: "refill"; readonly why: string; readonly remedy: string }
  | { readonly kind: "refuse"; readonly why: string }

/**
 * `link` is the checksum that PostgreSQL has where the copy ends; `undefined` if no batch ends
 * there, or if that part was pruned.
 */
export const decideLineage = (
  local: LocalCopy,
  remote: PartitionState | undefined,
  link: number | undefined,
): LineageDecision => {
  const { checksum, directory, isRestored, lastSequence, lineage } = local
  if (remote === undefined) {
    if (lineage === undefined) return { kind: "begin" }
    return refuse(
      `${directory} is a copy of the cluster ${lineage}, but the database has no such partition. Is LAUREL_CLUSTER the right one? To begin a new cluster with this copy, remove ${directory}/${lineageName}.`,
    )
  }
  if (isRestored && lineage !== undefined) {
    return refuse(
      `${directory} was restored to record ${lastSequence}, but PostgreSQL has records up to ${remote.lastSequence} and would undo the restore. To keep the restored data, run \`laurel cluster install\`. To discard it and catch up with PostgreSQL, remove ${directory}/${lineageName}.`,
    )
  }
  const before = `PostgreSQL begins with record ${remote.firstSequence}`
  const pruned = lastSequence + 1 < remote.firstSequence
  const isOther = lineage !== undefined && lineage !== remote.lineage
  const isAhead = lastSequence > remote.lastSequence
  if (!isOther && !isAhead && pruned) {
    const why = `${before}, but ${directory} ends with record ${lastSequence}.`
    const remedy = `Restore an archive of this cluster that has record ${remote.firstSequence - 1} or a later one, then start again.`
    const isForeign = lineage === undefined && lastSequence > 0
    return isForeign ? refuse(`${why} ${remedy}`) : { kind: "refill", why, remedy }
  }
  if (!isOther && !isAhead && link === checksum) return { kind: "follow" }
  const why = isOther
    ? `it is a copy of another cluster, ${lineage}`
    : isAhead
      ? `it ends with record ${lastSequence}, and PostgreSQL with ${remote.lastSequence}`
      : `its records up to ${lastSequence} are not those of PostgreSQL`
  if (lineage === undefined) {
    return refuse(
      `${directory} is no copy of this cluster: ${why}. Start with an empty data directory to join the cluster. To replace the partition's data in PostgreSQL with this directory, run \`laurel cluster install\`.`,
    )
  }
  if (remote.firstSequence > 1) {
    return {
      kind: "refill",
      why: `${directory} is no copy of this cluster any more: ${why}. ${before}.`,
      remedy:
        "Move the directory away, restore an archive of this cluster in its place, then start again.",
    }
  }
  return { kind: "discard", why }
}

const refuse = (why: string): LineageDecision => ({ kind: "refuse", why })
