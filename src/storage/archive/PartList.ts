/** The list of an archive's parts (`PartFile.ts`), which lies beside them; its checksum is in the manifest. */
import path from "node:path"
import { Option, Schema } from "effect"
import { type OnDisk, replaceFile } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"

export const partsFolder = "parts"
const listName = "list.json"
/** Where the list is in the folder of an archive. */
export const partListPath = `${partsFolder}/${listName}`
/** Of a hundred million records in parts of `archivePartBytes`, several times over. */
export const partListBytesMax = 64 * 1_024 * 1_024

const sha256 = Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))

export const Part = Schema.Struct({
  table: Schema.Literal("history"),
  /** The partition of its records. */
  partition: Schema.Int,
  /** Its first key, in hex. Those of a partition are in order of them. */
  first: Schema.String,
  sha256,
  bytes: Schema.Int,
  /** When the file was written: one that is as it was need not be read again. */
  modifiedMs: Schema.Finite,
  /** Its entries, and the sum of their digests (`storage/lmdb/Sums.ts`). */
  entries: Schema.Int,
  sum: Schema.Int,
  /** Its records, those of them with a caller's id, and the sum of what those weigh (`engine/archive/IdCheck.ts`). */
  records: Schema.Int,
  ids: Schema.Int,
  weight: Schema.Int,
})
export type Part = typeof Part.Type

const PartList = Schema.fromJsonString(
  Schema.Struct({ format: Schema.Literal(1), parts: Schema.Array(Part) }),
)

/** Writes the list of the archive in `folder`. */
export const writePartList = (folder: string, parts: ReadonlyArray<Part>): OnDisk<void> =>
  replaceFile(nodeDisk, path.join(folder, partsFolder), listName, encode({ format: 1, parts }))

const encode = Schema.encodeSync(PartList)
const decode = Schema.decodeUnknownOption(PartList)

/** `undefined`: the text is no list of parts. */
export const decodePartList = (text: string): ReadonlyArray<Part> | undefined =>
  Option.getOrUndefined(decode(text))?.parts

/** The name of a part in the folder of parts. */
export const partName = ({ sha256 }: Pick<Part, "sha256">): string => `${sha256}.part`

/** The path of a part within the folder of an archive. */
export const partFile = (part: Pick<Part, "sha256">): string => `${partsFolder}/${partName(part)}`

/** Where a part of the archive in `folder` is. */
export const partPath = (folder: string, part: Pick<Part, "sha256">): string =>
  path.join(folder, partFile(part))
