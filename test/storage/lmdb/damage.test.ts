/**
 * Damage anywhere in the file of a database: the check before a start finds it, or every entry is
 * as written, and stays so while transactions rewrite all pages.
 */
import { spawn } from "node:child_process"
import { cp, open, readFile, truncate } from "node:fs/promises"
import path from "node:path"
import { createInterface } from "node:readline"
import { describe, expect, it, onTestFinished } from "@effect/vitest"
import { Effect, Result } from "effect"
import { compositeKey } from "../../../src/storage/Keys.ts"
import { checkDatabase } from "../../../src/storage/lmdb/DatabaseCheck.ts"
import { dataFile } from "../../../src/storage/lmdb/environment.ts"
import { openLmdbStore } from "../../../src/storage/lmdb/LmdbStore.ts"
import { encodeValue } from "../../../src/storage/SealedValue.ts"
import { type Entry, type Table, tables } from "../../../src/storage/Storage.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const pageBytes = 4_096
/** A disk writes a sector as a whole. */
const sectorBytes = 512
const trials = 24
const slices = 30

/** Some entries of a table, long ones among them, and some that go again. */
const slice = (random: Random, table: Table): ReadonlyArray<Entry> =>
  Array.from({ length: random.integer(1, 300) }, () => {
    const key = compositeKey("e", `user-${random.integer(0, 2_000)}`)
    const size = random.chance(0.05) ? random.integer(2_000, 20_000) : random.integer(0, 300)
    const value = random.chance(0.3)
      ? null
      : encodeValue(Buffer.alloc(size, random.integer(0, 255)))
    return { table, key, value }
  })

/**
 * A database with branches, long values and free pages, and its file's bytes before and after the
 * last transactions.
 */
const grown = Effect.fnUntraced(function* (random: Random) {
  const folder = yield* temporaryFolder
  const read = Effect.promise(() => readFile(dataFile(folder)))
  const older = yield* Effect.scoped(
    Effect.gen(function* () {
      const store = yield* openLmdbStore({ folder, freeSpaceBytesMin: 0 })
      const write = () =>
        store.writeEntries(slice(random, random.chance(0.5) ? "userIds" : random.pick(tables)))
      for (let n = 1; n < slices; n++) yield* write()
      const before = yield* read
      yield* write()
      return before
    }),
  )
  return { folder, older, bytes: yield* read }
})

interface Versions {
  readonly older: Buffer
  readonly bytes: Buffer
}

/** Damages the file; returns a description of the damage. */
const damage = async (
  file: string,
  { bytes, older }: Versions,
  random: Random,
): Promise<string> => {
  const pages = bytes.length / pageBytes
  const page = random.chance(0.2) ? random.integer(0, 1) : random.integer(0, pages - 1)
  const write = async (at: number, piece: Uint8Array) => {
    const handle = await open(file, "r+")
    await handle.write(piece, 0, piece.length, at)
    await handle.close()
  }
  const flip = async (at: number) => {
    const bit = random.integer(0, 7)
    await write(at, Buffer.from([bytes[at]! ^ (1 << bit)]))
    return `bit ${bit} of byte ${at % pageBytes} of page ${Math.floor(at / pageBytes)} is flipped`
  }
  switch (random.integer(0, 8)) {
    case 0: {
      const from = random.integer(0, pageBytes - 2)
      const count = random.integer(1, pageBytes - from)
      await write(page * pageBytes + from, Buffer.alloc(count, random.pick([0, 0xff])))
      return `${count} bytes from ${from} on of page ${page} are lost`
    }
    case 1: {
      const other = random.integer(0, pages - 1)
      await write(page * pageBytes, bytes.subarray(other * pageBytes, (other + 1) * pageBytes))
      return `page ${page} is page ${other}`
    }
    case 2: {
      const other = random.integer(0, pages - 1)
      await write(page * pageBytes, bytes.subarray(other * pageBytes, (other + 1) * pageBytes))
      await write(other * pageBytes, bytes.subarray(page * pageBytes, (page + 1) * pageBytes))
      return `pages ${page} and ${other} are swapped`
    }
    case 3: {
      const length = random.integer(0, bytes.length)
      await truncate(file, length)
      return `cut to ${length} bytes`
    }
    case 4: {
      const pageOf = (all: Buffer, n: number) => all.subarray(n * pageBytes, (n + 1) * pageBytes)
      const numbers = Array.from({ length: older.length / pageBytes }, (_, n) => n)
      const torn = random.pick(numbers.filter((n) => !pageOf(older, n).equals(pageOf(bytes, n))))
      const from = random.integer(0, pageBytes / sectorBytes - 1) * sectorBytes
      await write(torn * pageBytes + from, pageOf(older, torn).subarray(from))
      return `page ${torn} is torn: from byte ${from} on it is as before the last transactions`
    }
    case 5:
      return flip(random.integer(0, bytes.length - 1))
    // Headers and offsets of entries.
    case 6:
      return flip(page * pageBytes + random.integer(0, page < 2 ? 200 : 23))
    default:
      return flip(page * pageBytes + random.integer(0, 200))
  }
}

interface Survived {
  readonly folder: string
  readonly found: ReadonlyArray<string>
  /** Entries that read otherwise than they were written. */
  readonly differs: ReadonlyArray<unknown>
}

/**
 * Reads, writes and reads again databases with LMDB in a process; fewer than asked for where the
 * process has died.
 */
const useAll = async (folders: ReadonlyArray<string>): Promise<ReadonlyArray<Survived>> => {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, "../readAll.ts")])
  onTestFinished(() => {
    child.kill("SIGKILL")
  })
  child.stdin.on("error", () => {})
  child.stdin.end(folders.join("\n"))
  const survived: Array<Survived> = []
  for await (const line of createInterface({ input: child.stdout })) survived.push(JSON.parse(line))
  return survived
}

describe("Damage anywhere in a database", () => {
  for (const seed of seeds(1)) {
    it.live(
      `is found before the start, or changes no entry; again with LAUREL_TEST_SEED=${seed}`,
      () =>
        Effect.gen(function* () {
          const random = new Random(seed)
          const { folder, ...versions } = yield* grown(random)
          const within = yield* temporaryFolder
          const passed = new Map<string, string>()
          for (let trial = 0; trial < trials; trial++) {
            const copy = path.join(within, String(trial))
            yield* Effect.promise(() => cp(folder, copy, { recursive: true }))
            const words = yield* Effect.promise(() => damage(dataFile(copy), versions, random))
            const checked = yield* Effect.result(checkDatabase(copy, false, undefined))
            if (Result.isSuccess(checked)) passed.set(copy, words)
            else
              expect([words, checked.failure.message]).toEqual([
                words,
                expect.stringMatching(/ is damaged: /),
              ])
          }
          const [truth] = yield* Effect.promise(() => useAll([folder]))
          const survived = yield* Effect.promise(() => useAll([...passed.keys()]))
          expect(survived.map((each) => passed.get(each.folder))).toEqual([...passed.values()])
          for (const each of survived) {
            const words = passed.get(each.folder)
            const other = each.found.filter((entry, index) => entry !== truth!.found[index])
            expect([words, each.found.length, other]).toEqual([words, truth!.found.length, []])
            expect([words, each.differs]).toEqual([words, []])
          }
          expect(passed.size).toBeLessThan(trials)
        }),
    )
  }
})
