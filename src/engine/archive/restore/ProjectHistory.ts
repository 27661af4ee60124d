/**
 * The restore of one project, while all others stay. The restore rewrites the journal: empty
 * records replace the project's records after a given one. Snapshot and journal then lead to the
 * project's old state and the current state of all others, from this archive and from every older
 * one. Record numbers are not reused. Archives that hold the lost records do not fit the new
 * journal, since batches name the checksum of the one before.
 *
 * Keys belong to the directory, whose records stay: a revoked key stays revoked.
 */
import { environmentId, environmentNames } from "../../../domain/project/Directory.ts"
import type { JournalRecord } from "../../../domain/record/Record.ts"
import { batchOfRecords, batchRecords, remainsIn } from "../../../storage/Frames.ts"
import type { JournalBatch, Table } from "../../../storage/Storage.ts"
import { decodeRecord } from "../../records/Codec.ts"
import type { ProjectGoesBack } from "../jobs/Jobs.ts"

/** Whether a record is of one of the environments of a project. */
export const isOfProject = (id: string, { subject }: JournalRecord): boolean =>
  subject.actor !== "directory" && isEnvironmentOf(id, subject.environment)

const isEnvironmentOf = (id: string, environment: string): boolean =>
  environmentNames.some((name) => environment === environmentId(id, name))

/** The empty record that replaces a lost one: without facts, of the directory. */
export const emptyRecord = ({
  at,
  sequence,
}: Pick<JournalRecord, "at" | "sequence">): JournalRecord => ({
  sequence,
  at,
  subject: { actor: "directory" },
  cause: { kind: "request" },
  facts: [],
})

/** The batch with empty records in place of the project's lost ones. */
export const without = (batch: JournalBatch, { after, id }: ProjectGoesBack): JournalBatch => {
  const { count, firstSequence } = batch
  if (firstSequence + count - 1 <= after) return batch
  let changed = false
  const records = (batchRecords(batch, firstSequence) ?? []).map((stored) => {
    if (stored.sequence <= after) return stored
    if (stored.body.length === 0) {
      // A tombstone stays: the user of an erased record is erased. What else it left is lost.
      const remains = remainsIn(stored)
      if (remains === undefined || !isEnvironmentOf(id, remains.environment)) return stored
      changed = true
      const { body, previous, sequence } = stored
      return { sequence, previous, body }
    }
    const record = decodeRecord(stored.body)
    if (!isOfProject(id, record)) return stored
    changed = true
    return { ...stored, body: Buffer.from(JSON.stringify(emptyRecord(record))) }
  })
  return changed ? batchOfRecords(records) : batch
}

/* Where an entry says whose it is. */

/** Index of the environment among a key's parts; missing tables belong to no environment. */
export const environmentAt: Partial<Record<Table, number>> = {
  meta: 1,
  actors: 1,
  buckets: 0,
  userIds: 0,
  teamMembers: 0,
  eventIds: 0,
  idempotency: 0,
  expiry: 1,
  boards: 1,
  erasures: 0,
}
