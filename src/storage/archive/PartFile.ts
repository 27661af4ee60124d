/**
 * A part: a file of entries of one table in the order of their keys, that never changes and is named after its SHA-256. So
 * archives can share it by a link.
 *
 *     offset 0  "LAURELP" and the format
 *            8  entries: key length (uint16), value length (uint32), key, value; little-endian
 *               sections, JSON: of each the first key (hex), where it begins, and its entries
 *       end - 4  bytes of the sections, uint32
 *
 * A section has the entries whose keys begin alike, as those of a partition and an environment do: other files and the
 * database may have entries between two sections, and none within one.
 *
 * The reader trusts no length. It checks no checksum: the values have their own, and the file's is in the list of parts
 * (`PartFile.ts`).
 */
import fs from "node:fs"
import path from "node:path"
import { Option, Result, Schema } from "effect"
import { limits } from "../../Limits.ts"
import { type OnDisk, replaceFile } from "../disk/Disk.ts"
import { nodeDisk } from "../disk/NodeDisk.ts"
import { dataFormat } from "../format.ts"
import { asBuffer } from "../Keys.ts"
import type { StoredEntry } from "../Storage.ts"
import { sha256Of } from "./SealedJson.ts"

const header = Buffer.concat([Buffer.from("LAURELP"), Buffer.of(dataFormat)])
const entryHeadBytes = 6
const lengthBytes = 4

export interface Section {
  readonly first: Buffer
  readonly start: number
  readonly entries: number
}

const Sections = Schema.fromJsonString(
  Schema.Array(Schema.Tuple([Schema.String, Schema.Int, Schema.Int])),
)
const decodeSections = Schema.decodeUnknownResult(Sections)

/** The file is none of Laurel's, or not whole; the message follows its path. */
class DamagedPart extends Error {}

/** Builds a part in memory. */
export class PartBuilder {
  readonly #prefixOf: (key: Uint8Array) => Uint8Array
  #bytes = Buffer.allocUnsafe(limits.archivePartBytes + limits.archivePartBytes / 4)
  #used = 0
  #sections: Array<{ readonly first: Buffer; readonly start: number; entries: number }> = []
  #prefix: Uint8Array | undefined

  /** `prefixOf`: what the keys of a section begin with. */
  constructor(prefixOf: (key: Uint8Array) => Uint8Array) {
    this.#prefixOf = prefixOf
    this.clear()
  }

  clear(): void {
    this.#used = header.copy(this.#bytes)
    this.#sections = []
    this.#prefix = undefined
  }

  get isEmpty(): boolean {
    return this.#sections.length === 0
  }

  /** Of what was added. */
  get firstKey(): Uint8Array {
    return this.#sections[0]!.first
  }

  get isFull(): boolean {
    return this.#used >= limits.archivePartBytes
  }

  /** Adds an entry after all before it. */
  add(key: Uint8Array, value: Uint8Array): void {
    this.#reserve(entryHeadBytes + key.length + value.length)
    const prefix = this.#prefixOf(key)
    if (this.#prefix === undefined || Buffer.compare(this.#prefix, prefix) !== 0) {
      this.#prefix = Buffer.from(prefix)
      this.#sections.push({ first: Buffer.from(key), start: this.#used, entries: 0 })
    }
    this.#sections.at(-1)!.entries++
    let at = this.#bytes.writeUInt16LE(key.length, this.#used)
    at = this.#bytes.writeUInt32LE(value.length, at)
    this.#bytes.set(key, at)
    this.#bytes.set(value, at + key.length)
    this.#used = at + key.length + value.length
  }

  /** The file, as a view that is good until the next call, and its checksum. */
  end(): { readonly bytes: Uint8Array; readonly sha256: string } {
    const text = Buffer.from(
      JSON.stringify(
        this.#sections.map(({ entries, first, start }) => [first.toString("hex"), start, entries]),
      ),
    )
    this.#reserve(text.length + lengthBytes)
    this.#bytes.set(text, this.#used)
    const end = this.#bytes.writeUInt32LE(text.length, this.#used + text.length)
    const bytes = this.#bytes.subarray(0, end)
    return { bytes, sha256: sha256Of(bytes) }
  }

  #reserve(size: number): void {
    if (this.#used + size <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(2 * (this.#used + size))
    this.#bytes.copy(larger, 0, 0, this.#used)
    this.#bytes = larger
  }
}

/** The sections of the file `where`. Throws `DamagedPart`, or what the system throws. */
export const readSections = (where: string): ReadonlyArray<Section> => {
  const file = fs.openSync(where, "r")
  try {
    const { size } = fs.fstatSync(file)
    const head = readAt(file, 0, header.length)
    if (!head.equals(header)) throw new DamagedPart("is no part of an archive")
    const length = readAt(file, size - lengthBytes, lengthBytes).readUInt32LE()
    const start = size - lengthBytes - length
    if (start < header.length) throw new DamagedPart("is not whole")
    const sections = decodeSections(readAt(file, start, length).toString("utf8"))
    if (Result.isFailure(sections)) throw new DamagedPart("is not whole")
    return sections.success.map(([first, start, entries]) => ({
      first: Buffer.from(first, "hex"),
      start,
      entries,
    }))
  } finally {
    fs.closeSync(file)
  }
}

const readAt = (file: number, position: number, length: number): Buffer => {
  const bytes = Buffer.alloc(length)
  if (position < 0 || fs.readSync(file, bytes, 0, length, position) < length) {
    throw new DamagedPart("is not whole")
  }
  return bytes
}

/** The entries of a section of the file `where`, in order. Throws `DamagedPart`, or what the system throws. */
export function* readSection(where: string, section: Section): Generator<StoredEntry> {
  const file = fs.openSync(where, "r")
  try {
    let memory: Buffer = Buffer.alloc(0)
    let position = section.start
    let at = 0
    /** Makes `bytes` from `at` on available. */
    const have = (bytes: number): void => {
      if (memory.length - at >= bytes) return
      const { size } = fs.fstatSync(file)
      position += at
      const left = size - position
      if (left < bytes) throw new DamagedPart("is not whole")
      // A buffer of its own: the entries are views of it.
      memory = readAt(file, position, Math.min(left, Math.max(bytes, limits.archiveReadBytes)))
      at = 0
    }
    for (let n = 0; n < section.entries; n++) {
      have(entryHeadBytes)
      const keyBytes = memory.readUInt16LE(at)
      const valueBytes = memory.readUInt32LE(at + 2)
      have(entryHeadBytes + keyBytes + valueBytes)
      at += entryHeadBytes
      const key = memory.subarray(at, at + keyBytes)
      at += keyBytes
      const value = memory.subarray(at, at + valueBytes)
      at += valueBytes
      yield [asBuffer(key), asBuffer(value)]
    }
  } finally {
    fs.closeSync(file)
  }
}

/* The list of an archive's parts (`PartFile.ts`), which lies beside them; its checksum is in the manifest. */

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
