/**
 * The file `journal/flushed` names the last record that is known to be flushed: evidence for a
 * start after a crash. A batch is acknowledged after its flush, so a journal that ends before the
 * mark has lost acknowledged records. That is damage, not an interrupted write. Batches after the
 * mark may or may not be flushed.
 *
 * The mark is written every `flushedMarkMs` while records arrive. A mark for each commit would cost
 * a second flush. Two slots in different sectors are written in turn, so that a power cut leaves
 * one of them intact:
 *
 *     slot   8 magic and version · 8 last sequence · 4 checksum of these
 */
import path from "node:path"
import { crc32 } from "node:zlib"
import { Effect, Option, Schema, Semaphore } from "effect"
import {
  type Disk,
  type DiskError,
  type DiskFile,
  ifThere,
  type OnDisk,
  readSmallFile,
  replaceFile,
  withFile,
} from "../disk/Disk.ts"

const name = "flushed"
const magic = Buffer.from("LAURFLS\u0001", "latin1")
const slotBytes = 20
const slots = [0, 512] as const
const fileBytes = 1_024

const encodeFlushed = (sequence: number): Buffer => {
  const bytes = Buffer.alloc(slotBytes)
  magic.copy(bytes)
  bytes.writeBigUInt64LE(BigInt(sequence), 8)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 16)), 16)
  return bytes
}

/** The sequence in a slot; 0 if the slot is empty or damaged. */
const decodeFlushed = (bytes: Buffer): number =>
  bytes.subarray(0, magic.length).equals(magic) &&
  crc32(bytes.subarray(0, 16)) === bytes.readUInt32LE(16)
    ? Number(bytes.readBigUInt64LE(8))
    : 0

const readSlots = (file: DiskFile): OnDisk<ReadonlyArray<number>> => {
  const bytes = Buffer.alloc(fileBytes)
  return Effect.map(file.read(0, bytes), () =>
    slots.map((at) => decodeFlushed(bytes.subarray(at, at + slotBytes))),
  )
}

/** The last record in the journal's `folder` that is known to be flushed; 0 if unknown. */
export const readFlushed = (disk: Disk, folder: string): OnDisk<number> =>
  Effect.map(
    ifThere(withFile(disk, path.join(folder, name), "read", readSlots)),
    (sequences = [0]) => Math.max(...sequences),
  )

export class FlushedMark {
  readonly #disk: Disk
  readonly #folder: string
  readonly #writing = Semaphore.makeUnsafe(1)
  #written = 0

  constructor(disk: Disk, folder: string) {
    this.#disk = disk
    this.#folder = folder
  }

  /**
   * Marks that all records up to `sequence` are flushed. The caller must make this uninterruptible.
   */
  readonly write = (sequence: number): OnDisk<void> =>
    Semaphore.withPermit(this.#writing, this.#write(sequence))

  readonly #write = Effect.fnUntraced(function* (
    this: FlushedMark,
    sequence: number,
  ): Effect.fn.Return<void, DiskError> {
    if (sequence === this.#written) return
    const where = path.join(this.#folder, name)
    const isThere = (yield* this.#disk.list(this.#folder)).includes(name)
    yield* withFile(this.#disk, where, isThere ? "write" : "create", (file) =>
      Effect.gen(function* () {
        const [first = 0, second = 0] = yield* readSlots(file)
        yield* file.write(first <= second ? slots[0] : slots[1], [encodeFlushed(sequence)])
        yield* file.sync
      }),
    )
    if (!isThere) yield* this.#disk.syncFolder(this.#folder)
    this.#written = sequence
  }).bind(this)
}

/** The fault of a journal that ends with `lastSequence` although the mark is later. */
export const acknowledgedMissing = (lastSequence: number, flushed: number): string =>
  `records up to ${flushed} were flushed and acknowledged, and the whole batches end with ${lastSequence}`

/*
 * The mark of a clean shutdown, `journal/clean`: the last record and the checksum of its batch.
 * While the mark exists, the journal must end exactly there, so a damaged tail is damage, not an
 * interrupted write. The first append of the next run removes the mark durably.
 */

const CleanMark = Schema.fromJsonString(
  Schema.Struct({ format: Schema.Literal(1), lastSequence: Schema.Int, checksum: Schema.Int }),
)
export type CleanMark = typeof CleanMark.Type

const encodeClean = Schema.encodeSync(CleanMark)
const decodeClean = Schema.decodeUnknownOption(CleanMark)
const bytesMax = 1_024

const markPath = (folder: string) => path.join(folder, "clean")

export const readCleanMark = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
): Effect.fn.Return<CleanMark | undefined, DiskError> {
  const text = yield* ifThere(readSmallFile(disk, markPath(folder), bytesMax))
  if (text === undefined) return undefined
  const mark = Option.getOrUndefined(decodeClean(text))
  if (mark === undefined) yield* Effect.logWarning("The mark of the last shutdown is unreadable")
  return mark
})

export const writeCleanMark = (disk: Disk, folder: string, mark: CleanMark): OnDisk<void> =>
  replaceFile(disk, folder, "clean", encodeClean(mark))

export const removeCleanMark = (disk: Disk, folder: string): OnDisk<void> =>
  Effect.andThen(disk.remove(markPath(folder)), disk.syncFolder(folder))
