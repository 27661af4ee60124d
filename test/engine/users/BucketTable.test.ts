import { describe, expect, it } from "vitest"
import { Names } from "../../../src/engine/records/Names.ts"
import { BadState } from "../../../src/engine/records/StateBytes.ts"
import { encodeUser } from "../../../src/engine/records/UserCodec.ts"
import type { Bucket } from "../../../src/engine/users/Bucket.ts"
import { BucketTable, type Hashed, prefixesEnd } from "../../../src/engine/users/BucketTable.ts"
import { BucketLoader, bucketEntries, storedBytes } from "../../../src/engine/users/StoredBucket.ts"
import { limits } from "../../../src/Limits.ts"
import { checksumOf, openValue } from "../../../src/storage/Values.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { plainUser } from "../records/users.ts"

const secret = Buffer.from("a secret of 16 b")
const environment = "prj_1:sandbox"

type Table = BucketTable<Hashed>
const newTable = (bytes = { bytes: 0 }): Table => new BucketTable(secret, bytes)

/** What a table holds, in any order. */
const contents = (table: Table): Map<string, string> => {
  const found = new Map<string, string>()
  for (const bucket of table.buckets()) {
    for (let n = 0; n < bucket.count; n++) {
      const state = bucket.bytes.toString("latin1", bucket.stateStart(n), bucket.stateEnd(n))
      found.set(bucket.idOf(n), state)
    }
    for (const [id, { bytes }] of bucket.large ?? []) found.set(id, bytes.toString("latin1"))
  }
  return found
}

/** Every invariant of a table, against a `Map`. */
const check = (table: Table, model: ReadonlyMap<string, string>): void => {
  expect(contents(table)).toEqual(model)
  expect(table.size).toBe(model.size)
  let end = 0
  let count = 0
  let dirty = 0
  for (const bucket of table.buckets()) {
    expect(bucket.prefix).toBe(end)
    end = bucket.end
    count++
    dirty += Number(bucket.isDirty)
    const isSplit = bucket.used <= limits.bucketBytesMax
    const isLeft = bucket.count < limits.bucketSplitUsersMin
    expect(isSplit || isLeft || bucket.depth === limits.bucketDepthMax).toBe(true)
  }
  expect([end, count, dirty]).toEqual([prefixesEnd, table.count, table.dirty])
  for (const [id, state] of model) expect(table.get(id)?.toString("latin1")).toBe(state)
}

const idOf = (random: Random): string =>
  `${random.pick(["user", "ä", "🦊", ""])}-${random.integer(0, 3_000)}`

const stateOf = (random: Random): string =>
  String.fromCharCode(random.integer(33, 126)).repeat(
    random.chance(0.02)
      ? random.integer(limits.stateInlineBytesMax - 3, limits.stateInlineBytesMax + 500)
      : random.integer(1, 400),
  )

/** Changes a user; returns its id. */
const change = (random: Random, table: Table, model: Map<string, string>): string => {
  const id = idOf(random)
  if (random.chance(0.15)) {
    table.remove(id)
    model.delete(id)
    return id
  }
  const state = stateOf(random)
  table.put(id, Buffer.from(state, "latin1"))
  model.set(id, state)
  return id
}

/** The values of a database, by key. */
type Stored = Map<string, Uint8Array>

const writeBucket = (stored: Stored, table: Table, bucket: Bucket<Hashed>): void => {
  table.written(bucket)
  for (const { key, value } of bucketEntries(environment, bucket)) {
    const name = Buffer.from(key).toString("hex")
    if (value === null) stored.delete(name)
    else stored.set(name, Uint8Array.from(value))
  }
}

/** Writes up to `most` dirty buckets as a snapshot does: from the highest prefix down. */
const snapshot = (stored: Stored, table: Table, most = Number.POSITIVE_INFINITY): void => {
  let bucket = table.dirtyBelow(prefixesEnd)
  for (let n = 0; n < most && bucket !== undefined; n++) {
    writeBucket(stored, table, bucket)
    bucket = table.dirtyBelow(bucket.prefix)
  }
}

const load = (stored: Stored): Table => {
  const loader = new BucketLoader<Hashed>()
  for (const [name, value] of stored) {
    const body = openValue(value)
    if (typeof body === "string") throw new Error(body)
    loader.add(Buffer.from(name, "hex"), body, checksumOf(value))
  }
  const table = newTable()
  loader.finish(table)
  return table
}

describe("A table of buckets", () => {
  for (const seed of seeds(3)) {
    it(`holds what a map holds, over splits and removals; LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      const bytes = { bytes: 0 }
      const table = newTable(bytes)
      const model = new Map<string, string>()
      for (let step = 0; step < 8_000; step++) {
        change(random, table, model)
        if (step % 1_000 === 0) check(table, model)
      }
      check(table, model)
      expect(table.count).toBeGreaterThan(8)
      const kept = [...model].reduce((sum, [id, state]) => sum + id.length + state.length, 0)
      expect(bytes.bytes).toBeGreaterThan(kept)
      expect(bytes.bytes).toBeLessThan(2 * kept + limits.bucketBytesMax)
    })

    it(`is read from its values as it was, whatever of a snapshot was written; LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      const stored: Stored = new Map()
      let table = newTable()
      const model = new Map<string, string>()
      /** The last whole snapshot, and each user's states since. */
      let whole: ReadonlyMap<string, string> = new Map()
      const since = new Map<string, Set<string | undefined>>()
      for (let round = 0; round < 12; round++) {
        for (let step = 0; step < 500; step++) {
          const id = change(random, table, model)
          if (!since.has(id)) since.set(id, new Set())
          since.get(id)!.add(model.get(id))
        }
        const isWhole = random.chance(0.3)
        snapshot(stored, table, isWhole ? undefined : random.integer(0, table.dirty))
        table = load(stored)
        const found = contents(table)
        if (isWhole) {
          expect(found).toEqual(model)
          whole = found
          since.clear()
        }
        for (const id of new Set([...found.keys(), ...model.keys()])) {
          const possible = [whole.get(id), ...(since.get(id) ?? [])]
          expect(possible, `of ${id}`).toContain(found.get(id))
          // The journal has what the values lack.
          const state = model.get(id)
          if (state === undefined) table.remove(id)
          else table.put(id, Buffer.from(state, "latin1"))
        }
        check(table, model)
      }
    })
  }

  it("with a skewed hash is one large bucket, as deep as the limit", () => {
    const table = newTable()
    const prefix = table.hashOf("user-0") >>> (32 - 8)
    const ids: Array<string> = []
    for (let n = 0; ids.length < 1_000; n++) {
      if (table.hashOf(`user-${n}`) >>> (32 - 8) === prefix) ids.push(`user-${n}`)
    }
    for (const id of ids) table.put(id, Buffer.alloc(500, id))
    const skewed = [...table.buckets()].filter(({ count }) => count > 0)
    expect(skewed.reduce((sum, { count }) => sum + count, 0)).toBe(1_000)
    expect(Math.min(...skewed.map(({ depth }) => depth))).toBeGreaterThan(8)
    for (const id of ids) expect(table.get(id)).toEqual(Buffer.alloc(500, id))
    expect(contents(load(stored(table)))).toEqual(contents(table))
  })

  it("does not split below the least number of users", () => {
    const table = newTable()
    const state = Buffer.alloc(limits.stateInlineBytesMax, 1)
    for (let n = 1; n < limits.bucketSplitUsersMin; n++) table.put(`user-${n}`, state)
    expect(table.count).toBe(1)
    for (let n = 0; n < 20; n++) table.put(`more-${n}`, state)
    expect(table.count).toBeGreaterThan(1)
  })

  it("takes a state at the bound into the bucket, and one above as a value of its own", () => {
    const table = newTable()
    const most = limits.stateInlineBytesMax
    table.put("inline", Buffer.alloc(most, 1))
    table.put("large", Buffer.alloc(most + 1, 2))
    const [bucket] = table.buckets()
    expect([bucket!.count, bucket!.large?.size]).toEqual([1, 1])
    const values = stored(table)
    expect(values.size).toBe(2)
    table.put("large", Buffer.alloc(3, 3))
    snapshot(values, table)
    expect(values.size).toBe(1)
    expect(contents(load(values))).toEqual(contents(table))
  })

  it("tells the last record of each user in the order of the ids, large states included", () => {
    const table = newTable()
    const users = Array.from({ length: 6 }, (_, n) => ({
      ...plainUser,
      id: `user-${n}`,
      sequence: 100 + n,
      profile: { ...plainUser.profile, displayName: "x".repeat(n < 4 ? 3 : 3_000) },
    }))
    for (const user of users) table.put(user.id, encodeUser(user, 0, new Names()))
    const [bucket] = table.buckets()
    expect([bucket!.count, bucket!.large?.size]).toEqual([4, 2])
    const sequences = [...bucket!.sequences()]
    const told = [...bucket!.ids()].map((id, place) => [id, sequences[place]])
    expect(new Map(told as Array<[string, number]>)).toEqual(
      new Map(users.map(({ id, sequence }) => [id, sequence])),
    )
    expect(sequences).toHaveLength(users.length)
  })

  it("takes an id of the most characters, and refuses a longer one", () => {
    const table = newTable()
    const id = "🦊".repeat(limits.idCharactersMax)
    table.put(id, Buffer.of(1))
    expect(table.get(id)).toEqual(Buffer.of(1))
    expect(() => table.get(`${id}a`)).toThrow("too long")
  })

  it("brings the states of changed users together before a bucket is written", () => {
    const table = newTable()
    const users = Array.from({ length: 300 }, (_, n) => {
      const id = `user-${n}`
      return { id, hash: table.hashOf(id), size: 1 + (n % 3) * 100 }
    })
    for (const { id } of users) table.put(id, Buffer.of(9))
    for (const user of users) table.change(user)
    table.unchange(users[5]!)
    for (let end = prefixesEnd; ; ) {
      const bucket = table.dirtyBelow(end)
      if (bucket === undefined) break
      if (bucket.changed.length > 0) {
        table.settle(bucket.prefix, (user) => {
          const { id, size } = user as (typeof users)[number]
          table.put(id, Buffer.alloc(size, 4))
        })
        continue
      }
      table.written(bucket)
      end = bucket.prefix
    }
    expect(table.dirty).toBe(0)
    expect(table.get("user-5")).toEqual(Buffer.of(9))
    for (const { id, size } of users) {
      if (id !== "user-5") expect(table.get(id)).toEqual(Buffer.alloc(size, 4))
    }
  })
})

const stored = (table: Table): Stored => {
  const values: Stored = new Map()
  snapshot(values, table)
  return values
}

describe("The stored value of a bucket", () => {
  it("fills a run of LMDB's pages, without the bytes that LMDB needs of the first", () => {
    expect(storedBytes(0)).toBe(4_096 - 24)
    expect(storedBytes(4_058)).toBe(4_096 - 24)
    expect(storedBytes(4_059)).toBe(2 * 4_096 - 24)
    const table = newTable()
    for (let n = 0; n < 200; n++) table.put(`user-${n}`, Buffer.alloc(n))
    for (const value of stored(table).values()) expect((value.length + 24) % 4_096).toBe(0)
  })

  it("is refused with any flipped bit", () => {
    const table = newTable()
    table.put("ada", Buffer.from("state"))
    const [value] = stored(table).values()
    for (let bit = 0; bit < 8 * value!.length; bit += 7) {
      const wrong = Uint8Array.from(value!)
      wrong[bit >>> 3]! ^= 1 << (bit & 7)
      expect(typeof openValue(wrong)).toBe("string")
    }
  })

  it("is refused where its numbers do not add up", () => {
    const table = newTable()
    for (let n = 0; n < 500; n++) table.put(`user-${n}`, Buffer.alloc(200, n))
    const values = stored(table)
    const [name, value] = [...values][0]!
    const body = Buffer.from(openValue(value) as Uint8Array)
    const key = Buffer.from(name, "hex")
    const wrong = (change: (bytes: Buffer) => void) => () => {
      const bytes = Buffer.from(body)
      change(bytes)
      new BucketLoader<Hashed>().add(key, bytes, 0)
    }
    expect(wrong(() => {})).not.toThrow()
    expect(wrong((bytes) => bytes.writeUInt8(31, 0))).toThrow("is 31 deep")
    expect(wrong((bytes) => bytes.writeUInt8(0, 0))).toThrow()
    expect(wrong((bytes) => bytes.writeUInt32LE(bytes.readUInt32LE(1) + 1, 1))).toThrow(BadState)
    expect(wrong((bytes) => bytes.writeUInt32LE(bytes.readUInt32LE(1) - 1, 1))).toThrow(
      "more bytes",
    )
    expect(wrong((bytes) => bytes.writeUInt32LE(1e6, 5))).toThrow("ends early")
    expect(wrong((bytes) => bytes.writeUInt32LE(0, 9))).toThrow("another bucket's user")
  })
})
