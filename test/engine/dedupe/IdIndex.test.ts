import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  BloomFilter,
  hashText,
  IdIndex,
  idSeed,
  type WriteGroup,
} from "../../../src/engine/dedupe/IdIndex.ts"
import { IdList, idPairs, idPlaceOf, isRunHead } from "../../../src/engine/dedupe/IdRun.ts"
import { type Storage, Unavailable } from "../../../src/storage/Storage.ts"
import { openValue } from "../../../src/storage/Values.ts"
import { Random, seeds } from "../../simulation/random.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"
import { event, rule, sandbox, start } from "../fixture.ts"

const everything = { table: "eventIds", from: new Uint8Array(), until: Uint8Array.of(255) } as const

type Known = Map<number, number>

/** A number of ids, of the records after `through`. */
const newIds = (random: Random, count: number, through: number): Known =>
  new Map(
    Array.from({ length: count }, (_, n) => [
      through + n + 1,
      Math.floor(random.next() * 0x1_0000_0000),
    ]),
  )

const listOf = (ids: Known): IdList => {
  const list = new IdList()
  for (const [sequence, hash] of ids) list.add(hash, sequence)
  return list
}

const stored = (state: MemoryStorage.MemoryState) =>
  state
    .table("eventIds")
    .entries(everything)
    .map(([key, value]) => ({ place: idPlaceOf(key), body: openValue(value) as Uint8Array }))

/** Every id in the table, as often as the table has it. */
const idsIn = (state: MemoryStorage.MemoryState) =>
  stored(state).flatMap(({ body }) => (isRunHead(body) ? [] : idPairs(body)))

const runsIn = (state: MemoryStorage.MemoryState): number =>
  new Set(stored(state).map(({ place }) => place.run)).size

const bySequence = (one: readonly [number, number], other: readonly [number, number]) =>
  one[1] - other[1]

const pairsOf = (ids: Known) => [...ids].map(([sequence, hash]) => [hash, sequence] as const)

const expectAll = Effect.fnUntraced(function* (index: IdIndex, ids: Known, seed: number) {
  for (const [sequence, hash] of ids) {
    expect(yield* index.candidates(sandbox, hash), `seed ${seed}`).toContain(sequence)
  }
})

const groupsTo = (storage: Storage["Service"]): WriteGroup => storage.writeEntries

/** An index in an empty store, with the random numbers of this seed. */
const empty = Effect.fnUntraced(function* (seed: number) {
  const state = new MemoryStorage.MemoryState()
  const storage = MemoryStorage.make({ state })
  const known: Known = new Map()
  return { known, opened: yield* IdIndex.open(storage), random: new Random(seed), state, storage }
})

describe("The index of callers' ids", () => {
  // With the last seed an id was once left twice.
  for (const seed of [...seeds(1), 3_378_408_399]) {
    it.effect(
      "finds the ids of many snapshots, each once and in few runs, also after a restart",
      () =>
        Effect.gen(function* () {
          const { known, opened, random, state, storage } = yield* empty(seed)
          let index = opened
          let watermark = 0
          for (let snapshot = 0; snapshot < 40; snapshot++) {
            const ids = newIds(random, random.integer(1, random.pick([3, 200, 1_500])), watermark)
            const through = watermark + ids.size
            yield* index.write(sandbox, listOf(ids), { through, watermark }, groupsTo(storage))
            index.ended()
            for (const [sequence, hash] of ids) known.set(sequence, hash)
            watermark = through
            if (random.chance(0.2)) index = yield* IdIndex.open(storage)
          }
          yield* expectAll(index, known, seed)
          expect([...idsIn(state)].sort(bySequence), `seed ${seed}`).toEqual(pairsOf(known))
          expect(runsIn(state)).toBeLessThanOrEqual(Math.ceil(Math.log2(known.size)))
          const filter = new BloomFilter(65_536)
          yield* index.fill(filter)
          for (const hash of known.values()) expect(filter.mayHave(hash)).toBe(true)
        }),
    )

    it.effect("costs the same after many failed snapshots, as when a disk is full for hours", () =>
      Effect.gen(function* () {
        const { opened: index, random, storage } = yield* empty(seed)
        const before = newIds(random, 3_000, 0)
        yield* index.write(
          sandbox,
          listOf(before),
          { through: 3_000, watermark: 0 },
          groupsTo(storage),
        )
        index.ended()
        const ids = newIds(random, 3_000, 3_000)
        const taken = (write: WriteGroup) =>
          index.write(sandbox, listOf(ids), { through: 6_000, watermark: 3_000 }, write)
        for (let attempt = 0; attempt < 12; attempt++) {
          yield* Effect.ignore(
            taken(() => new Unavailable({ operation: "write", reason: "disk_full" })),
          )
          index.failed()
        }
        let groups = 0
        let buckets = 0
        yield* taken((group) => {
          groups++
          buckets += group.filter(({ value }) => value !== null).length
          return storage.writeEntries(group)
        })
        index.ended()
        // The head, one part, and the merged runs: 6,000 ids, 100 in a bucket.
        expect([groups, buckets], `seed ${seed}`).toEqual([3, 1 + 64])
        yield* expectAll(index, new Map([...before, ...ids]), seed)
      }),
    )

    it.effect(
      "finds every id while it is written; after an interrupted write the next one leaves each once",
      () =>
        Effect.gen(function* () {
          const { known, opened, random, state, storage } = yield* empty(seed)
          let index = opened
          let watermark = 0
          for (let snapshot = 0; snapshot < 12; snapshot++) {
            const ids = newIds(random, random.integer(1, 30_000), watermark)
            const through = watermark + ids.size
            const looked = known.size === 0 ? undefined : random.pick([...known])
            const taken = Effect.fnUntraced(function* (groups: number) {
              let left = groups
              yield* index.write(sandbox, listOf(ids), { through, watermark }, (group) =>
                Effect.gen(function* () {
                  if (left-- === 0)
                    return yield* new Unavailable({ operation: "write", reason: "disk_full" })
                  yield* storage.writeEntries(group)
                  if (looked === undefined) return
                  const [sequence, hash] = looked
                  const found = yield* index.candidates(sandbox, hash)
                  expect(found, `seed ${seed}`).toContain(sequence)
                }),
              )
            })
            for (let attempt = 0; attempt < random.integer(0, 2); attempt++) {
              yield* Effect.ignore(taken(random.integer(0, 6)))
              if (random.chance(0.5)) index.failed()
              else index = yield* IdIndex.open(storage)
              if (looked !== undefined) yield* expectAll(index, new Map([looked]), seed)
            }
            yield* taken(Number.POSITIVE_INFINITY)
            index.ended()
            for (const [sequence, hash] of ids) known.set(sequence, hash)
            watermark = through
          }
          const found = [...idsIn(state)].sort(bySequence)
          expect(found.length, `seed ${seed}`).toBe(known.size)
          expect(found).toEqual(pairsOf(known))
        }),
    )
  }

  it.effect("lacks the removed ids and has all others", () =>
    Effect.gen(function* () {
      const random = new Random(7)
      const state = new MemoryStorage.MemoryState()
      const storage = MemoryStorage.make({ state })
      const index = yield* IdIndex.open(storage)
      const ids = newIds(random, 5_000, 0)
      yield* index.write(sandbox, listOf(ids), { through: 5_000, watermark: 0 }, groupsTo(storage))
      index.ended()
      for (const [sequence, hash] of ids) {
        if (sequence % 3 === 0) continue
        yield* index.remove(sandbox, hash, sequence)
        ids.delete(sequence)
        // Several ids of one bucket are removed in one transaction or in several.
        if (random.chance(0.01)) yield* storage.writeEntries(index.takeRemoved())
      }
      yield* storage.writeEntries(index.takeRemoved())
      expect([...idsIn(state)].sort(bySequence)).toEqual(pairsOf(ids))
    }),
  )

  it.effect("distinguishes ids with one hash by their records", () =>
    Effect.gen(function* () {
      const [one, other] = collision("u1")
      const state = new MemoryStorage.MemoryState()
      const send = (engine: Parameters<typeof eventOf>[0], id: string) => eventOf(engine, id)
      const first = yield* start(MemoryStorage.make({ state }))
      yield* first.engine.askProject(sandbox, rule("TAP", 1))
      expect(yield* send(first.engine, one)).toMatchObject({ duplicate: false })
      yield* first.close()
      const second = yield* start(MemoryStorage.make({ state }))
      expect(yield* send(second.engine, other)).toMatchObject({ duplicate: false })
      expect(yield* send(second.engine, one)).toMatchObject({ duplicate: true })
      yield* second.close()
      const third = yield* start(MemoryStorage.make({ state }))
      for (const id of [one, other]) {
        expect(yield* send(third.engine, id)).toMatchObject({ duplicate: true })
      }
      expect((yield* third.engine.readUser(sandbox, "u1"))?.xp).toBe(2)
      yield* third.close()
    }),
  )
})

const eventOf = Effect.fnUntraced(function* (
  engine: Effect.Success<ReturnType<typeof start>>["engine"],
  id: string,
) {
  const { reply } = yield* engine.askUser(sandbox, event("u1", "TAP", { id }))
  return reply
})

/** Two ids of one user whose events have the same hash. */
const collision = (userId: string): readonly [string, string] => {
  const seed = idSeed(sandbox, userId)
  const seen = new Map<number, string>()
  for (let n = 0; ; n++) {
    const id = `id-${n.toString(36)}`
    const hash = hashText(`e${id}`, seed)
    const other = seen.get(hash)
    if (other !== undefined) return [other, id]
    seen.set(hash, id)
  }
}
