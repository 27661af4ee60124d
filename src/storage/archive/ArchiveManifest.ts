/**
 * An archive has all data as of one record, in a folder that can be copied anywhere and started:
 *
 *     <archives>/<time>-<sequence>/
 *       manifest.json       contents, and the checksum of every file but the parts
 *       verification.json   result of the last check
 *       snapshot/data.mdb   the snapshot (LMDB), without the history that the parts have
 *       parts/list.json     the parts, and the checksum of each (`PartFile.ts`)
 *       parts/              history that changes no more (`PartFile.ts`). Archives share the files by hard links
 *       journal/            the records after the snapshot's watermark, and its clean mark
 *
 * A folder gets this name only once all of it is durable and checked; `<…>.draft` is an archive in creation, and
 * `<…>.removed` one in removal. `manifest.json` is `{ "sha256", "manifest" }`: the checksum is that of the
 * JSON text of `manifest`, without spaces.
 */
import { type Result, Schema } from "effect"
import { dataFormat } from "../format.ts"
import { openSealedJson, sealJson } from "./SealedJson.ts"

export const manifestName = "manifest.json"
export const verificationName = "verification.json"
export const manifestBytesMax = 256 * 1_024

export const Manifest = Schema.Struct({
  format: Schema.Literal(dataFormat),
  id: Schema.String,
  /** ISO times: of the archive, and of its last record (`null`: it has none). */
  createdAt: Schema.String,
  recordedAt: Schema.NullOr(Schema.String),
  reason: Schema.Literals(["schedule", "request"]),
  /** The last record, and the checksum of the journal's batch that ends with it: archives and journals of one history agree on it. */
  sequence: Schema.Int,
  checksum: Schema.Int,
  /** Up to this record the snapshot is complete; the archive's journal has the rest. */
  watermark: Schema.Int,
  /** Counts by name: `users`, `records`… */
  counts: Schema.Record(Schema.String, Schema.Int),
  /** Sums by name, as decimal numbers of any length: `xp`. */
  sums: Schema.Record(Schema.String, Schema.String),
  files: Schema.Array(
    Schema.Struct({ path: Schema.String, bytes: Schema.Int, sha256: Schema.String }),
  ),
  /**
   * Number and size of the parts, how many of them are files of an earlier archive, and how many are copies of such files
   * because hard links could not be made.
   */
  parts: Schema.Struct({
    files: Schema.Int,
    bytes: Schema.Int,
    linked: Schema.Int,
    copied: Schema.Int,
  }),
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
