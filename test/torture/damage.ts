/** Damage to the journal of a server that does not run. */
import { open, readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import {
  batchHeaderBytes,
  batchSizeAt,
  decodeBatch,
  segmentHeaderBytes,
  sequenceOfName,
} from "../../src/storage/journal/SegmentFormat.ts"
import type { Random } from "../simulation/random.ts"

interface Segment {
  readonly path: string
  readonly bytes: Buffer
  /** Where its whole batches begin, and where the last one ends. */
  readonly batches: ReadonlyArray<number>
  readonly end: number
}

const readSegment = async (path: string): Promise<Segment> => {
  const bytes = await readFile(path)
  const batches: Array<number> = []
  let at = segmentHeaderBytes
  while (at + batchHeaderBytes <= bytes.length) {
    const size = batchSizeAt(bytes, at)
    if (size === 0 || at + size > bytes.length) break
    if (decodeBatch(bytes, at, size, at) === undefined) break
    batches.push(at)
    at += size
  }
  return { path, bytes, batches, end: at }
}

const segments = async (directory: string): Promise<ReadonlyArray<string>> => {
  const journal = join(directory, "journal")
  const names = (await readdir(journal)).filter((name) => sequenceOfName(name) !== undefined)
  return names.sort().map((name) => join(journal, name))
}

const overwrite = async (path: string, at: number, bytes: Uint8Array): Promise<void> => {
  const file = await open(path, "r+")
  try {
    await file.write(bytes, 0, bytes.length, at)
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * Appends the remains of a torn write behind the last batch: a part of a batch, or nonsense. Acknowledged batches
 * are not touched. Returns a description; `undefined`: no journal to damage.
 */
export const tearTail = async (directory: string, random: Random): Promise<string | undefined> => {
  const path = (await segments(directory)).at(-1)
  if (path === undefined) return undefined
  const { batches, bytes, end } = await readSegment(path)
  const last = batches.at(-1)
  if (last === undefined) return undefined
  const size = end - last
  const torn = Buffer.from(bytes.subarray(last, last + random.integer(1, size - 1)))
  // Sectors of a write reach the disk in any order: what is there may be wrong from the start.
  if (random.chance(0.5)) torn[random.integer(0, torn.length - 1)]! ^= 1 << random.integer(0, 7)
  await overwrite(path, end, torn)
  return `${torn.length} bytes of a batch behind the end`
}

export interface Flip {
  readonly words: string
  readonly undo: () => Promise<void>
}

/** Flips a bit of a batch that has another one behind it. */
export const flipBit = async (directory: string, random: Random): Promise<Flip | undefined> => {
  const paths = await segments(directory)
  const path = random.pick(paths)
  const { batches, bytes } = await readSegment(path)
  if (batches.length < 2) return undefined
  const batch = random.integer(0, batches.length - 2)
  const at = random.integer(batches[batch]!, batches[batch + 1]! - 1)
  const before = Buffer.from([bytes[at]!])
  await overwrite(path, at, Buffer.from([before[0]! ^ (1 << random.integer(0, 7))]))
  return {
    words: `bit in byte ${at} of ${path}`,
    undo: () => overwrite(path, at, before),
  }
}
