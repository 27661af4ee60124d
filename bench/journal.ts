/**
 * The cost of storage: durable appends, slices of entries, reading all entries, and checking a
 * journal.
 */
import fs from "node:fs/promises"
import os from "node:os"
import path from "node:path"
import { crc32 } from "node:zlib"
import { Effect, Stream } from "effect"
import { open } from "lmdb"
import * as DurableStorage from "../src/storage/durable/DurableStorage.ts"
import { batchOf } from "../src/storage/Frames.ts"
import { compositeKey, rangeOf } from "../src/storage/Keys.ts"
import type { Storage } from "../src/storage/Storage.ts"
import { encodeValue, firstDamaged } from "../src/storage/Values.ts"
import { type BenchLine, formatLine } from "./Line.ts"

type Store = Storage["Service"]

const recordBytes = 200
const valueBytes = 200
const values = 1_000_000
const sliceEntries = 500
const roundMs = 400
const rounds = 4
const journalBytes = 256 * 1024 * 1024

const withFolder = async <A>(use: (folder: string) => Promise<A>): Promise<A> => {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "laurel-bench-"))
  try {
    return await use(folder)
  } finally {
    await fs.rm(folder, { recursive: true, force: true })
  }
}

const withStore = <A>(directory: string, use: (store: Store) => Promise<A>): Promise<A> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.flatMap(DurableStorage.make({ directory }), (store) =>
        Effect.promise(() => use(store)),
      ),
    ),
  )

const secondsOf = async (run: () => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  await run()
  return (performance.now() - start) / 1_000
}

/** How often `once` ends within `ms`, one after another. */
const repeats = async (ms: number, once: () => Promise<unknown>): Promise<number> => {
  const end = performance.now() + ms
  let count = 0
  for (; performance.now() < end; count++) await once()
  return count
}

/**
 * Durable records per second with batches of `size`; both sides in turn, since the speed of a disk
 * varies.
 */
const appends = (size: number): Promise<BenchLine> =>
  withFolder((folder) =>
    withStore(folder, async (store) => {
      const bodies = Array.from({ length: size }, () => Buffer.alloc(recordBytes, 0x61))
      const { frames } = batchOf(1, bodies)
      const bare = await fs.open(path.join(folder, "bare"), "w")
      let next = store.lastSequence + 1
      let ours = 0
      let theirs = 0
      const append = async () => {
        await Effect.runPromise(store.append({ firstSequence: next, count: size, frames }))
        next += size
      }
      const writeAndSync = async () => {
        await bare.write(frames)
        await bare.datasync()
      }
      for (let round = 0; round < rounds; round++) {
        ours += await repeats(roundMs, append)
        theirs += await repeats(roundMs, writeAndSync)
      }
      await bare.close()
      const perSecond = (count: number) => (count * size * 1_000) / (rounds * roundMs)
      return {
        question: `durable records in batches of ${size}`,
        value: perSecond(ours),
        unit: "records/s",
        reference: { name: "write + fdatasync", value: perSecond(theirs), unit: "records/s" },
        ratio: ours / theirs,
      }
    }),
  )

const slice = (from: number) =>
  Array.from({ length: sliceEntries }, (_, index) => ({
    table: "userIds" as const,
    key: compositeKey("environment", from + index),
    value: encodeValue(Buffer.alloc(valueBytes, from + index)),
  }))

const readBare = (folder: string) => {
  const binary = { encoding: "binary", keyEncoding: "binary" } as const
  const root = open({ ...binary, path: path.join(folder, "live"), maxDbs: 32 })
  const table = root.openDB<Uint8Array, Uint8Array>("userIds", binary)
  let count = 0
  const start = performance.now()
  for (const _ of table.getRange({})) count++
  const seconds = (performance.now() - start) / 1_000
  return root.close().then(() => ({ count, seconds }))
}

const entries = (): Promise<ReadonlyArray<BenchLine>> =>
  withFolder(async (folder) => {
    const writeSeconds = await withStore(folder, async (store) => {
      let seconds = 0
      for (let from = 0; from < values; from += sliceEntries) {
        const made = slice(from)
        seconds += await secondsOf(() => Effect.runPromise(store.writeEntries(made)))
      }
      return seconds
    })
    let count = 0
    const readSeconds = await withStore(folder, (store) =>
      secondsOf(() =>
        Effect.runPromise(
          Stream.runForEach(
            store.readEntries({ table: "userIds", ...rangeOf(compositeKey("environment")) }),
            (chunk) =>
              Effect.sync(() => {
                count += chunk.length
              }),
          ),
        ),
      ),
    )
    let inBlocks = 0
    const blockSeconds = await withStore(folder, (store) =>
      secondsOf(() =>
        Effect.runPromise(
          Stream.runForEach(
            store.readBlocks({ table: "userIds", ...rangeOf(compositeKey("environment")) }),
            (block) =>
              Effect.sync(() => {
                if (firstDamaged(block) < 0) inBlocks += block.count
              }),
          ),
        ),
      ),
    )
    const bare = await readBare(folder)
    for (const read of [count, inBlocks, bare.count]) {
      if (read !== values) throw new Error(`read ${read} of ${values}`)
    }
    const reference = {
      name: "lmdb getRange, one loop",
      value: values / bare.seconds,
      unit: "entries/s",
    }
    return [
      {
        question: `durable entries in slices of ${sliceEntries}`,
        value: values / writeSeconds,
        unit: "entries/s",
      },
      {
        question: `entries read in order, of ${values.toLocaleString("en-US")}`,
        value: values / readSeconds,
        unit: "entries/s",
        reference,
        ratio: bare.seconds / readSeconds,
      },
      {
        question: `entries read in blocks and checked, of ${values.toLocaleString("en-US")}`,
        value: values / blockSeconds,
        unit: "entries/s",
        reference,
        ratio: bare.seconds / blockSeconds,
      },
    ]
  })

const opening = (): Promise<BenchLine> =>
  withFolder(async (folder) => {
    await withStore(folder, async (store) => {
      const bodies = Array.from({ length: 256 }, () => Buffer.alloc(recordBytes, 0x61))
      const { frames } = batchOf(1, bodies)
      for (let written = 0, next = 1; written < journalBytes; written += frames.length) {
        const batch = { firstSequence: next, count: bodies.length, frames }
        await Effect.runPromise(store.append(batch))
        next += bodies.length
      }
    })
    const seconds = await secondsOf(() => withStore(folder, async () => {}))
    const journal = path.join(folder, "journal")
    const buffer = Buffer.alloc(1024 * 1024)
    let read = 0
    const readSeconds = await secondsOf(async () => {
      for (const name of await fs.readdir(journal)) {
        const file = await fs.open(path.join(journal, name))
        while (true) {
          const { bytesRead } = await file.read(buffer, 0, buffer.length, null)
          if (bytesRead === 0) break
          read += bytesRead
          crc32(buffer.subarray(0, bytesRead))
        }
        await file.close()
      }
    })
    if (read < journalBytes) throw new Error(`the journal holds only ${read} bytes`)
    const mebibytes = journalBytes / (1024 * 1024)
    return {
      question: `opening and proving a journal of ${mebibytes} MiB`,
      value: mebibytes / seconds,
      unit: "MiB/s",
      reference: {
        name: "read + CRC-32 of the files",
        value: mebibytes / readSeconds,
        unit: "MiB/s",
      },
      ratio: readSeconds / seconds,
    }
  })

/** Measures all lines; about 25 seconds. */
export const journal = async (): Promise<ReadonlyArray<BenchLine>> => [
  await appends(1),
  await appends(64),
  await appends(1_024),
  ...(await entries()),
  await opening(),
]

if (import.meta.main) for (const line of await journal()) console.log(formatLine(line))
