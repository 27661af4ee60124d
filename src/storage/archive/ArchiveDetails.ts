/** An archive as scripts and other servers of a cluster get it: from its manifest alone. Times are ISO 8601. */
import { Result, Schema } from "effect"
import { isoTime } from "../../domain/values/isoTime.ts"
import { bytesOf, type ListedArchive } from "./ArchiveCatalog.ts"
import { Manifest } from "./ArchiveManifest.ts"

export const ArchiveDetails = Schema.Struct({
  /** Where there are several. */
  partition: Schema.optionalKey(Schema.Int),
  id: Schema.String,
  /** `null`: the archive is not on this machine. */
  folder: Schema.NullOr(Schema.String),
  /** The server of the cluster that has the archive, where it is not on this machine. */
  server: Schema.optionalKey(Schema.String),
  /** Whether it is in the bucket; `null`: none is set, or it did not answer. */
  inBucket: Schema.NullOr(Schema.Boolean),
  createdAt: Schema.String,
  /** Time of its last record; `null`: it has no records, or its manifest cannot be read. */
  recordedAt: Schema.NullOr(Schema.String),
  sequence: Schema.Int,
  users: Schema.NullOr(Schema.Int),
  bytes: Schema.NullOr(Schema.Int),
  reason: Schema.NullOr(Manifest.fields.reason),
  /** Time of the last successful check, and the faults of a failed one. */
  verifiedAt: Schema.NullOr(Schema.String),
  faults: Schema.Array(Schema.String),
})
export type ArchiveDetails = typeof ArchiveDetails.Type

export const detailsOf = (
  { at, folder, id, manifest, sequence, verification }: ListedArchive,
  { isHere = true, inBucket = null as boolean | null } = {},
): ArchiveDetails => {
  const named = {
    ...{ id, folder: isHere ? folder : null, inBucket },
    ...{ createdAt: isoTime(at), sequence },
  }
  if (Result.isFailure(manifest)) {
    const unknown = { recordedAt: null, users: null, bytes: null, reason: null, verifiedAt: null }
    return { ...named, ...unknown, faults: [`The manifest ${manifest.failure}`] }
  }
  const { counts, recordedAt, reason } = manifest.success
  const faults = verification?.faults ?? []
  return {
    ...named,
    recordedAt,
    users: counts.users ?? null,
    bytes: bytesOf(manifest.success),
    reason,
    // An archive gets its name only after a first check.
    verifiedAt: faults.length > 0 ? null : (verification?.at ?? isoTime(at)),
    faults,
  }
}
