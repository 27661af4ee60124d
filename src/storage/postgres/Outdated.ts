/** When a copy that follows has to be opened again: PostgreSQL's journal is not the one that it has the beginning of. */
import { Data } from "effect"
import type { JournalPosition } from "../journal/SegmentFormat.ts"
import { Broken, Damaged } from "../Storage.ts"
import type { PartitionState } from "./PgJournal.ts"

/** The copy is to be closed, and opened again: it is not on the way to where PostgreSQL is. */
export class Outdated extends Data.TaggedError("Outdated")<{ readonly words: string }> {
  override get message(): string {
    return this.words
  }
}

/** Why a copy that ends here cannot take over what PostgreSQL has; `undefined`: it can. */
export const outdatedBy = (
  { checksum, lastSequence, lineage }: JournalPosition & { readonly lineage: string },
  remote: PartitionState | undefined,
): string | undefined => {
  if (remote === undefined) return "PostgreSQL has no such partition any more"
  if (remote.lineage !== lineage) return "PostgreSQL has the journal of another cluster"
  if (remote.lastSequence < lastSequence) {
    return `the copy has record ${lastSequence}, and PostgreSQL ends with ${remote.lastSequence}`
  }
  if (remote.lastSequence === lastSequence) {
    return remote.checksum === checksum ? undefined : "the copy's last record is not PostgreSQL's"
  }
  return remote.firstSequence > lastSequence + 1
    ? `the copy ends with record ${lastSequence}, and PostgreSQL begins with ${remote.firstSequence}`
    : undefined
}

/** The journal looks so, too, where it was replaced while it was read. */
export const looksDamaged = (error: unknown): boolean =>
  error instanceof Broken && error.cause instanceof Damaged
