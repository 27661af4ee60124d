import { spawn } from "node:child_process"
import { copyFile, mkdir, open, readFile, stat, truncate } from "node:fs/promises"
import path from "node:path"
import { createInterface } from "node:readline"
import { describe, expect, it, onTestFinished } from "@effect/vitest"
import { Effect } from "effect"
import { copyLive } from "../../../src/engine/archive/LiveCopy.ts"
import { compositeKey } from "../../../src/storage/Keys.ts"
import { checkPages, dataFile } from "../../../src/storage/lmdb/LmdbPages.ts"
import { openLmdbStore } from "../../../src/storage/lmdb/LmdbStore.ts"
import { type Entry, type Table, tables } from "../../../src/storage/Storage.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const pageBytes = 4_096
/** Time for processes on a busy machine. */
const patience = 60_000

const faultOf = (folder: string, whole = true): string | undefined => {
  const check = checkPages(folder, { whole })
  let step = check.next()
  while (step.done !== true) step = check.next()
  return step.value.fault
}

/** Some entries of a table, long ones among them, and some that go again. */
const slice = (random: Random, table: Table): ReadonlyArray<Entry> =>
  Array.from({ length: random.integer(1, 300) }, () => {
    const key = compositeKey("e", random.integer(0, 2_000))
    const size = random.chance(0.05) ? random.integer(2_000, 20_000) : random.integer(0, 300)
    return { table, key, value: random.chance(0.3) ? null : Buffer.alloc(size, "v") }
  })

/** An environment with everything that LMDB has: branches, long values, free pages. */
const grown = Effect.fnUntraced(function* (random: Random, slices: number) {
  const folder = yield* temporaryFolder
  yield* Effect.scoped(
    Effect.gen(function* () {
      const store = yield* openLmdbStore({ folder, freeSpaceBytesMin: 0 })
      for (let n = 0; n < slices; n++) {
        yield* store.writeEntries(slice(random, tables[n % tables.length]!))
        // While it is open too, as the server has it.
        expect(faultOf(folder)).toBeUndefined()
      }
    }),
  )
  return folder
})

/** A copy of the environment in a folder of its own within `within`. */
const copyOf = async (folder: string, within: string, name: string): Promise<string> => {
  const copy = path.join(within, name)
  await mkdir(copy)
  await copyFile(dataFile(folder), dataFile(copy))
  return copy
}

const flipBit = async (file: string, at: number, bit: number): Promise<void> => {
  const handle = await open(file, "r+")
  try {
    const byte = Buffer.alloc(1)
    await handle.read(byte, 0, 1, at)
    byte[0]! ^= 1 << bit
    await handle.write(byte, 0, 1, at)
  } finally {
    await handle.close()
  }
}

interface Survived {
  readonly folder: string
  readonly found: ReadonlyArray<string>
}

/** What a process makes of environments that LMDB opens in it; fewer than were asked for where it has died. */
const readAll = async (folders: ReadonlyArray<string>): Promise<ReadonlyArray<Survived>> => {
  const script = path.join(import.meta.dirname, "../readAll.ts")
  const child = spawn(process.execPath, [script])
  onTestFinished(() => {
    child.kill("SIGKILL")
  })
  child.stdin.on("error", () => {})
  child.stdin.end(folders.join("\n"))
  const survived: Array<Survived> = []
  for await (const line of createInterface({ input: child.stdout })) {
    survived.push(JSON.parse(line))
  }
  return survived
}

describe("The check of LMDB's pages", () => {
  for (const seed of seeds(1)) {
    it.live(
      `finds nothing wrong with what LMDB has written (seed ${seed})`,
      () =>
        Effect.gen(function* () {
          const random = new Random(seed)
          const folder = yield* grown(random, 60)
          const copy = yield* temporaryFolder
          yield* copyLive(folder, copy, "", { progress: () => {}, rest: () => Effect.void })
          expect(faultOf(copy)).toBeUndefined()
          expect(faultOf(path.join(copy, "nothing"))).toBeUndefined()
        }),
      patience,
    )

    it.live(
      `finds a file that is cut at a page, wherever that is (seed ${seed})`,
      () =>
        Effect.gen(function* () {
          const random = new Random(seed)
          const folder = yield* grown(random, 20)
          const within = yield* temporaryFolder
          const { size } = yield* Effect.promise(() => stat(dataFile(folder)))
          const passed: Array<string> = []
          for (let at = size - pageBytes; at > 0; at -= pageBytes) {
            const copy = yield* Effect.promise(() => copyOf(folder, within, String(at)))
            yield* Effect.promise(() => truncate(dataFile(copy), at))
            const fault = faultOf(copy, false)
            if (fault === undefined) passed.push(copy)
            else expect(fault).toMatch(/is missing: the file has|ends within its first two pages/)
          }
          // Only pages that are free may be missing.
          const survived = yield* Effect.promise(() => readAll([folder, ...passed]))
          expect(survived.length).toBe(1 + passed.length)
          for (const { found } of survived) expect(found).toEqual(survived[0]!.found)
          expect(passed.length * pageBytes).toBeLessThan(size / 2)
        }),
      patience,
    )

    it.live(
      `finds a flipped bit in the flags of the trees that all others hang on (seed ${seed})`,
      () =>
        Effect.gen(function* () {
          const folder = yield* grown(new Random(seed), 2)
          for (const at of [52, 53, 100, 101, 52 + pageBytes, 53 + pageBytes]) {
            for (let bit = 0; bit < 8; bit++) {
              const flip = () => flipBit(dataFile(folder), at, bit)
              yield* Effect.promise(flip)
              expect(faultOf(folder, false)).toMatch(/ has the flags \d+, which none of ours has/)
              yield* Effect.promise(flip)
            }
          }
          expect(faultOf(folder)).toBeUndefined()
        }),
    )

    it.live(
      `finds a flipped bit wherever LMDB would die of it or miss a page (seed ${seed})`,
      () =>
        Effect.gen(function* () {
          const random = new Random(seed)
          const folder = yield* grown(random, 20)
          const bytes = yield* Effect.promise(() => readFile(dataFile(folder)))
          const within = yield* temporaryFolder
          const passed: Array<string> = []
          const places: Array<number> = []
          for (let page = 0; page * pageBytes < bytes.length; page++) {
            const begin = page * pageBytes
            const lower = bytes.readUInt16LE(begin + 20)
            // Heads, the places of nodes, and the nodes' own heads; of the first two pages all.
            if (page < 2) for (let n = 0; n < 8; n++) places.push(begin + random.integer(0, 160))
            else places.push(begin + random.integer(0, 23))
            if (lower === 0 || lower > pageBytes - 24) continue
            places.push(begin + 24 + random.integer(0, lower - 1))
            const offset = bytes.readUInt16LE(begin + 24 + 2 * random.integer(0, (lower >> 1) - 1))
            if (offset + 32 < pageBytes) places.push(begin + 24 + offset + random.integer(0, 7))
          }
          let tried = 0
          let faults = 0
          for (const [index, at] of places.entries()) {
            if (index > 24 && !random.chance(150 / places.length)) continue
            tried++
            const copy = yield* Effect.promise(() => copyOf(folder, within, String(index)))
            yield* Effect.promise(() => flipBit(dataFile(copy), at, random.integer(0, 7)))
            if (faultOf(copy) === undefined) passed.push(copy)
            else faults++
          }
          expect(faults).toBeGreaterThan(tried / 4)
          const [truth, ...survived] = yield* Effect.promise(() => readAll([folder, ...passed]))
          for (const { folder, found } of survived) {
            const isOlder = found.length !== truth!.found.length
            const at = places[Number(path.basename(folder))]!
            // One of the two that lead to all others may lead to what was there before the last transaction.
            if (isOlder) expect(at).toBeLessThan(2 * pageBytes)
            else {
              const isOther = (entry: string, index: number) => {
                const expected = truth!.found[index]!
                // One byte of a value that counts as its key's: what it should be rounds up to the same length.
                const longer = entry.startsWith(expected) && entry.length === expected.length + 2
                return entry !== expected && !longer
              }
              const other = found.filter(isOther)
              expect({ page: Math.floor(at / pageBytes), byte: at % pageBytes, other }).toEqual({
                page: Math.floor(at / pageBytes),
                byte: at % pageBytes,
                other: [],
              })
            }
          }
          expect(survived.length).toBe(passed.length)
        }),
      patience,
    )
  }
})
