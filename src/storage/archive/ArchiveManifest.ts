/**
 * An archive is a data directory as of one record, in a folder that can be copied anywhere and
 * started:
 *
 *     <archives>/<time>-<sequence>/
 *       manifest.json       contents: size and SHA-256 of every file
 *       verification.json   result of the last check
 *       live/data.mdb       a copy of the database
 *       journal/            all segments of the journal, and its clean mark. Archives share the files by hard links
 *       gathered/<n>/       journals of a cluster's partitions, where there are any (`GatheredJournals.ts`); shared, too
 *
 * A folder gets this name only once all of it is durable and checked; `<…>.draft` is an archive in
 * creation, and `<…>.removed` one in removal. `manifest.json` is `{ "sha256", "manifest" }`: the
 * checksum is that of the JSON text of `manifest`, without spaces.
 */
import { type Result, Schema } from "effect"
import { dataFormat } from "../format.ts"
import { openSealedJson, sealJson } from "./SealedJson.ts"

export const manifestName = "manifest.json"
export const verificationName = "verification.json"
/** Of a journal of a hundred thousand segments. */
export const manifestBytesMax = 32 * 1_024 * 1_024

export const Manifest = Schema.Struct({
  format: Schema.Literal(dataFormat),
  id: Schema.String,
  /** ISO times: of the archive, and of its last record (`null`: it has none). */
  createdAt: Schema.String,
  recordedAt: Schema.NullOr(Schema.String),
  reason: Schema.Literals(["schedule", "request"]),
  /**
   * The last record, and the checksum of the journal's batch that ends with it: archives and
   * journals of one history agree on it.
   */
  sequence: Schema.Int,
  checksum: Schema.Int,
  /** Up to this record the snapshot is complete. */
  watermark: Schema.Int,
  /** Counts by name: `users`, `records`… */
  counts: Schema.Record(Schema.String, Schema.Int),
  /** Sums by name, as decimal numbers of any length: `xp`. */
  sums: Schema.Record(Schema.String, Schema.String),
  files: Schema.Array(
    Schema.Struct({
      path: Schema.String,
      bytes: Schema.Int,
      sha256: Schema.String,
      /**
       * Of a segment that changes no more: when the journal wrote it. With the same time, the next
       * archive takes it unread.
       */
      modifiedMs: Schema.optionalKey(Schema.Finite),
    }),
  ),
  /**
   * Of the segments that change no more: how many are links, and how many are copies because hard
   * links could not be made.
   */
  segments: Schema.Struct({ linked: Schema.Int, copied: Schema.Int }),
})
export type Manifest = typeof Manifest.Type

const decodeManifest = Schema.decodeUnknownOption(Manifest)

/** The text of `manifest.json`. */
export const encodeManifest = (manifest: Manifest): string =>
  `${JSON.stringify(sealJson("manifest", manifest), null, 2)}\n`

/** Decodes a manifest, or returns its fault, in words that follow "The manifest". */
export const decodeManifestText = (text: string): Result.Result<Manifest, string> =>
  openSealedJson(text, "manifest", dataFormat, decodeManifest)

/** The result of a check of an archive. */
const Verification = Schema.fromJsonString(
  Schema.Struct({
    format: Schema.Literal(1),
    at: Schema.String,
    /** Empty for a good archive. */
    faults: Schema.Array(Schema.String),
    faultCount: Schema.Int,
  }),
)
export type Verification = typeof Verification.Type

export const encodeVerification = Schema.encodeSync(Verification)
export const decodeVerification = Schema.decodeUnknownOption(Verification)

/** The name of an archive made at `at` (epoch milliseconds) that ends with record `sequence`. */
export const archiveId = (at: number, sequence: number): string =>
  `${new Date(at).toISOString().replaceAll(":", "-")}-${sequence}`

const idPattern = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)-(\d{1,16})$/

/** Creation time and last record in the name of an archive; `undefined` for other names. */
export const parseArchiveId = (
  id: string,
): { readonly at: number; readonly sequence: number } | undefined => {
  const found = idPattern.exec(id)
  if (found === null) return undefined
  const at = Date.parse(`${found[1]}:${found[2]}:${found[3]}`)
  return Number.isNaN(at) ? undefined : { at, sequence: Number(found[4]) }
}

/** The order of archives: oldest first. */
export const byAge = (
  one: { readonly at: number; readonly sequence: number },
  other: { readonly at: number; readonly sequence: number },
): number => one.at - other.at || one.sequence - other.sequence
