import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { compositeKey } from "../../../src/storage/Keys.ts"
import { findDamage } from "../../../src/storage/lmdb/DatabaseCheck.ts"
import { digestOf, hashKey } from "../../../src/storage/lmdb/Sums.ts"
import { checksumOf, encodeValue } from "../../../src/storage/SealedValue.ts"
import type { Entry } from "../../../src/storage/Storage.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { withStore } from "../environments.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

describe("The sums of a database", () => {
  for (const seed of seeds(1)) {
    it.live(
      `match its entries after any writes, removals and repetitions, also within one slice and by concurrent callers; again with LAUREL_TEST_SEED=${seed}`,
      () =>
        Effect.gen(function* () {
          const random = new Random(seed)
          const folder = yield* temporaryFolder
          let next = 0
          /**
           * By number, the checksums of entries that name what they replace, and the numbers of
           * this slice.
           */
          const stored = new Map<number, number>()
          const used = new Set<number>()
          const entry = (): Entry => {
            const table = random.pick(["userIds", "boards", "due"] as const)
            const value = encodeValue(Buffer.alloc(random.integer(0, 50), random.integer(0, 255)))
            if (random.chance(0.3)) {
              const isNew = random.chance(0.5)
              const n = isNew ? next++ : random.integer(0, next)
              if (!isNew && (used.has(n) || !stored.has(n))) return entry()
              used.add(n)
              const replaces = stored.get(n) ?? null
              stored.set(n, checksumOf(value))
              return { table: "userIds", key: compositeKey("known", n), value, replaces }
            }
            const key = compositeKey(random.integer(0, 40))
            return { table, key, value: random.chance(0.3) ? null : value }
          }
          for (let run = 0; run < 3; run++) {
            yield* withStore(folder, (store) =>
              Effect.forEach(
                Array.from({ length: 40 }, () => {
                  used.clear()
                  return Array.from({ length: random.integer(1, 30) }, entry)
                }),
                store.writeEntries,
                { concurrency: 8 },
              ),
            )
            expect(yield* findDamage(folder)).toBeUndefined()
          }
        }),
    )
  }

  it.live("never count fewer than 0 entries: the transaction fails", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* withStore(folder, (store) =>
        Effect.gen(function* () {
          const entry: Entry = { table: "userIds", key: compositeKey(1), value: null, replaces: 7 }
          const { message } = yield* Effect.flip(store.writeEntries([entry]))
          expect(message).toContain("table userIds would have -1 entries")
        }),
      )
    }),
  )

  it("differ for entries whose keys or values differ in a bit or are swapped", () => {
    const digest = (key: Uint8Array, value: Uint8Array) => digestOf(hashKey(key), checksumOf(value))
    const keys = Array.from({ length: 40 }, (_, n) => compositeKey("environment", `user${n}`))
    const values = keys.map((_, n) => encodeValue(`value ${n}`))
    const digests = new Set(keys.flatMap((key) => values.map((value) => digest(key, value))))
    expect(digests.size).toBe(keys.length * values.length)
    const sumOf = (shift: number) =>
      keys.reduce((sum, key, n) => (sum + digest(key, values[(n + shift) % values.length]!)) | 0, 0)
    expect(new Set(values.map((_, shift) => sumOf(shift))).size).toBe(values.length)
    const [key, value] = [keys[0]!, values[0]!]
    const flipped = Array.from({ length: 8 * key.length }, (_, bit) => {
      const other = Buffer.from(key)
      other[bit >> 3]! ^= 1 << (bit & 7)
      return digest(other, value)
    })
    expect(new Set([digest(key, value), ...flipped]).size).toBe(1 + flipped.length)
  })
})
