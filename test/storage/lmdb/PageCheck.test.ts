/** Single faults in the pages of a database; `damage.test.ts` has random ones. */
import { readFileSync, truncateSync, writeFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { limits } from "../../../src/Limits.ts"
import { dataFile, openTable, openWritable } from "../../../src/storage/lmdb/environment.ts"
import { checkPages } from "../../../src/storage/lmdb/PageCheck.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const pageBytes = 4_096

/** A database of a table with branches, a long value and free pages. */
const grown = Effect.fnUntraced(function* () {
  const folder = yield* temporaryFolder
  yield* Effect.promise(async () => {
    const root = openWritable(folder)
    const users = openTable(root, "userIds")!
    for (let turn = 0; turn < 5; turn++) {
      await root.transaction(() => {
        for (let n = 0; n < 200; n++) users.put(Buffer.from(`key${n}`), Buffer.alloc(200, turn))
        users.put(Buffer.from("long"), Buffer.alloc(3 * pageBytes, turn))
      })
    }
    await root.close()
  })
  return dataFile(folder)
})

/** Offsets in the file, of parts of the newest snapshot. */
const placesIn = (bytes: Buffer) => {
  const pageAt = (at: number) => Number(bytes.readBigUInt64LE(at)) * pageBytes
  const nodeAt = (page: number, n: number) => page + 24 + bytes.readUInt16LE(page + 24 + 2 * n)
  const valueAt = (node: number) => node + 8 + bytes.readUInt16LE(node + 6)
  const isOdd = bytes.readBigUInt64LE(pageBytes + 152) > bytes.readBigUInt64LE(152)
  const meta = isOdd ? pageBytes : 0
  const freed = nodeAt(pageAt(meta + 88), 0)
  const table = valueAt(nodeAt(pageAt(meta + 136), 0))
  const branch = pageAt(table + 40)
  const children = Array.from({ length: bytes.readUInt16LE(branch + 20) / 2 }, (_, n) =>
    bytes.readUInt32LE(nodeAt(branch, n)),
  )
  const leaf = children[0]! * pageBytes
  const last = children.at(-1)! * pageBytes
  const long = pageAt(valueAt(nodeAt(last, bytes.readUInt16LE(last + 20) / 2 - 1)))
  return {
    meta,
    freed,
    pages: valueAt(freed) + 8,
    table,
    branch,
    leaf,
    node: nodeAt(leaf, 0),
    long,
  }
}

type Places = ReturnType<typeof placesIn>

/** A part, its offset, the bits that change in its byte, and the message. */
const flips: ReadonlyArray<readonly [string, (places: Places) => number, number, RegExp]> = [
  ["number of a page", ({ leaf }) => leaf, 1, /^page \d+ of table userIds has a damaged header$/],
  ["transaction of a page", ({ leaf }) => leaf + 12, 1, /has a damaged header$/],
  ["kind of a page", ({ branch }) => branch + 18, 3, /has a damaged header$/],
  ["number of a page's entries", ({ leaf }) => leaf + 20, 1, /has damaged bounds$/],
  ["space of a page", ({ leaf }) => leaf + 22, 2, /has (damaged entries|entries that overlap)$/],
  ["place of an entry", ({ leaf }) => leaf + 25, 0x80, /has damaged entries$/],
  ["kind of an entry", ({ node }) => node + 4, 0x10, /has damaged entries$/],
  ["length of a value", ({ node }) => node, 8, /has entries that overlap$/],
  ["header of a long value", ({ long }) => long, 1, /is not the value that it should be$/],
  ["length of a long value", ({ long }) => long + 20, 1, /is not the value that it should be$/],
  ["depth of a tree", ({ table }) => table + 6, 1, /has a damaged header$/],
  ["flags of a tree", ({ table }) => table + 4, 2, /^the description of table userIds is damaged$/],
  ["count of a tree", ({ table }) => table + 33, 1, /^table userIds has 201 entries, not 457/],
  [
    "root of a tree",
    ({ table }) => table + 43,
    1,
    /^table userIds has page \d+, which does not exist$/,
  ],
  ["last page", ({ meta }) => meta + 147, 0x80, /^it has more pages than fit in \d+ bytes$/],
  ["count of free pages", ({ pages }) => pages - 5, 1, /^an entry of the free list is too short$/],
  [
    "key of free pages",
    ({ freed }) => freed + 14,
    1,
    /^an entry of the free list has a wrong key$/,
  ],
]

const checkFault = (file: string, whole = true): string | undefined => {
  try {
    checkPages(file, pageBytes, whole, () => {})
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

const faultOf = (file: string, change: (bytes: Buffer, places: Places) => void, whole = true) => {
  const bytes = readFileSync(file)
  change(bytes, placesIn(bytes))
  writeFileSync(file, bytes)
  return checkFault(file, whole)
}

describe("The check of pages", () => {
  it.live("accepts an intact database, and reads only the tables if asked to", () =>
    Effect.gen(function* () {
      const file = yield* grown()
      expect(faultOf(file, () => {})).toBe(undefined)
      expect(faultOf(file, (bytes, { leaf }) => bytes.fill(0, leaf, leaf + 1), false)).toBe(
        undefined,
      )
    }),
  )

  it.live.each(flips)("finds a damaged %s", ([, at, bits, message]) =>
    Effect.gen(function* () {
      const flip = (bytes: Buffer, places: Places) => {
        bytes[at(places)]! ^= bits
      }
      expect(faultOf(yield* grown(), flip)).toMatch(message)
    }),
  )

  it.live("finds a page that is in a tree and in the free list", () =>
    Effect.gen(function* () {
      const fault = faultOf(yield* grown(), (bytes, { leaf, pages }) => {
        bytes.writeBigUInt64LE(1n, pages - 8)
        bytes.writeBigUInt64LE(BigInt(leaf / pageBytes), pages)
      })
      expect(fault).toMatch(/^table userIds has page \d+, which is used already$/)
    }),
  )

  it.live("finds a used page after the last page", () =>
    Effect.gen(function* () {
      const fault = faultOf(yield* grown(), (bytes, { branch, meta }) =>
        bytes.writeBigUInt64LE(BigInt(branch / pageBytes - 1), meta + 144),
      )
      expect(fault).toMatch(/has page \d+, which does not exist$/)
    }),
  )

  it.live("finds that the end of the file is missing", () =>
    Effect.gen(function* () {
      const file = yield* grown()
      const { leaf } = placesIn(readFileSync(file))
      truncateSync(file, leaf)
      expect(() => checkPages(file, pageBytes, true, () => {})).toThrow(/ is missing$/)
    }),
  )

  it.live("accepts as many pages as fit in the address space, or twice the pages of the file", () =>
    Effect.gen(function* () {
      const first = limits.mapBytes / pageBytes
      for (const [fileBytes, most] of [
        [undefined, first],
        [limits.mapBytes, 2 * first],
      ] as const) {
        for (const [pages, fault] of [
          [most, undefined],
          [most + 1, expect.stringMatching(/^it has more pages than fit in \d+ bytes$/)],
        ] as const) {
          const file = yield* grown()
          faultOf(file, (bytes, { meta }) => bytes.writeBigUInt64LE(BigInt(pages - 1), meta + 144))
          if (fileBytes !== undefined) truncateSync(file, fileBytes)
          expect([fileBytes, pages, checkFault(file)]).toEqual([fileBytes, pages, fault])
        }
      }
    }),
  )
})
