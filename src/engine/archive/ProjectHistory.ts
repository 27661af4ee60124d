/**
 * One project that goes back while all others stay. The journal is written anew: the project's records after a given
 * one become records that say nothing. So snapshot and journal lead to the project as it was and to everything else as it
 * is, from this archive as from any other that is older; numbers of records are not used again; and archives that have
 * what was given up do not fit the new journal, since batches name the checksum of the one before.
 *
 * Keys belong to the directory, whose records stay: what was revoked stays revoked.
 */
import { environmentId, environmentNames } from "../../domain/project/Directory.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { batchOf, batchRecords } from "../../storage/Frames.ts"
import type { JournalBatch } from "../../storage/Storage.ts"
import { decodeRecord } from "../records/Codec.ts"

/** A project, and the last record of its own that it keeps. */
export interface ProjectGoesBack {
  readonly id: string
  readonly name: string
  readonly after: number
}

/** Whether a record is of one of the environments of a project. */
export const isOfProject = (id: string, { subject }: JournalRecord): boolean =>
  subject.actor !== "directory" &&
  environmentNames.some((name) => subject.environment === environmentId(id, name))

/** A record in the place of another: it says nothing, and belongs to nobody. */
export const emptyRecord = ({ at, sequence }: JournalRecord): JournalRecord => ({
  sequence,
  at,
  subject: { actor: "directory" },
  cause: { kind: "request" },
  facts: [],
})

/** The batch without what the project has done after the last record that it keeps. */
export const without = (batch: JournalBatch, { after, id }: ProjectGoesBack): JournalBatch => {
  const { count, firstSequence } = batch
  if (firstSequence + count - 1 <= after) return batch
  let changed = false
  const bodies = (batchRecords(batch, firstSequence) ?? []).map(({ body, sequence }) => {
    if (sequence <= after) return body
    const record = decodeRecord(body)
    if (!isOfProject(id, record)) return body
    changed = true
    return Buffer.from(JSON.stringify(emptyRecord(record)))
  })
  return changed ? batchOf(firstSequence, bodies) : batch
}
