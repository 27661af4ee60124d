import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { limits } from "../../../src/Limits.ts"
import { Delivery, type LogPlace } from "../../../src/webhooks/store/Delivery.ts"
import { blocksOf, rowOf, SucceededLog } from "../../../src/webhooks/store/SucceededLog.ts"
import { Random, seeds } from "../../simulation/random.ts"
import * as MemoryStorage from "../../storage/MemoryStorage.ts"

const endpoint = 7
const everything = {
  table: "deliveries",
  from: Uint8Array.of(0),
  until: Uint8Array.of(255),
} as const

const inOrder = (one: LogPlace, other: LogPlace) =>
  one.sequence - other.sequence || one.index - other.index

const succeeded = (sequence: number, index: number, attempts: number): Delivery => {
  const name = { endpoint, sequence, index, at: 1_000 + sequence }
  const delivery = new Delivery(name, "xp.earned", `user-${sequence % 5}`)
  for (let attempt = 1; attempt <= attempts; attempt++) {
    delivery.record({
      at: attempt,
      durationMs: index,
      status: 204,
      error: null,
      body: `${attempt}`,
    })
  }
  delivery.status = "succeeded"
  return delivery
}

/** What a reader is to know of deliveries. */
const shown = (deliveries: ReadonlyArray<Delivery>) =>
  deliveries.map(({ at, attempts, index, kind, last, sequence, status, user }) => ({
    ...{ sequence, index, at, kind, user, status, attempts, last },
  }))

const made = () => {
  const state = new MemoryStorage.MemoryState()
  const storage = MemoryStorage.make({ state })
  const log = new SucceededLog(storage)
  const write = (deliveries: ReadonlyArray<Delivery>) =>
    storage.writeEntries(blocksOf(endpoint, deliveries.map(rowOf)))
  return { log, state, storage, write }
}

describe("The log of succeeded deliveries", () => {
  for (const seed of seeds(5)) {
    it.effect("returns all written deliveries that were not removed, in order", () =>
      Effect.gen(function* () {
        const random = new Random(seed)
        const { log, storage, write } = made()
        let model: ReadonlyArray<Delivery> = []
        const place = () => ({ sequence: random.integer(0, 2_100), index: random.integer(0, 2) })
        const without = (gone: ReadonlyArray<Delivery>) =>
          model.filter((one) => !gone.includes(one))
        for (let step = 0; step < 60; step++) {
          const action = random.integer(0, 5)
          if (action <= 2) {
            // They end a little out of order, and some much later.
            const start = random.integer(0, 1_800)
            const fresh = new Map<string, Delivery>()
            for (let n = random.pick([1, 20, 400]); n > 0; n--) {
              const one = succeeded(
                start + random.integer(0, 300),
                random.integer(0, 2),
                1 + (n % 3),
              )
              if (model.every(({ place: taken }) => taken !== one.place)) fresh.set(one.place, one)
            }
            yield* write([...fresh.values()])
            model = [...model, ...fresh.values()].sort(inOrder)
          } else if (action === 3) {
            const out = model.filter(() => random.chance(0.05))
            yield* storage.writeEntries(yield* log.without(endpoint, out))
            model = without(out)
          } else if (action === 4) {
            // Removed deliveries are written again, with their present state.
            const again = model.filter(() => random.chance(0.05))
            const entries = yield* log.without(endpoint, again)
            for (const one of again) one.record({ ...one.last!, at: step })
            yield* storage.writeEntries([...entries, ...blocksOf(endpoint, again.map(rowOf))])
          } else {
            const [most, until] = [random.integer(1, 500), random.integer(0, 2_100)]
            const going = model.slice(0, most).filter(({ sequence }) => sequence < until)
            const removal = yield* log.removal(endpoint, most, ({ sequence }) => sequence < until)
            expect(removal.count, `seed ${seed}`).toBe(going.length)
            expect(removal.retried.map(({ index, sequence }) => [sequence, index])).toEqual(
              going.filter((one) => one.attempts > 1).map((one) => [one.sequence, one.index]),
            )
            yield* storage.writeEntries(removal.entries)
            model = without(going)
          }

          const [limit, from, before] = [random.pick([1, 7, 300]), place(), place()]
          const [first, last] = [from.sequence, from.sequence + random.integer(0, 300)]
          const oldest = model.filter((one) => inOrder(one, from) >= 0).slice(0, limit)
          expect(shown(yield* log.oldest(endpoint, limit, from)), `seed ${seed}`).toEqual(
            shown(oldest),
          )
          const newest = model.filter((one) => inOrder(one, before) < 0).toReversed()
          const page = yield* log.newest(endpoint, limit, before)
          expect(shown(page), `seed ${seed}`).toEqual(shown(newest.slice(0, limit)))
          const between = model.filter(({ sequence }) => sequence >= first && sequence <= last)
          const found = yield* log.between(endpoint, first, last)
          expect(shown(found), `seed ${seed}`).toEqual(shown(between))
        }
        const all = yield* log.newest(endpoint, 10_000, undefined)
        expect(shown(all), `seed ${seed}`).toEqual(shown(model.toReversed()))
        expect(yield* log.newest(endpoint + 1, 10, undefined)).toEqual([])
      }),
    )
  }

  it.effect("has one block up to the size limit, and another beyond", () =>
    Effect.gen(function* () {
      const { state, write } = made()
      const most = limits.webhookBlockMax
      const entries = () => state.table("deliveries").entries(everything).length
      yield* write(Array.from({ length: most }, (_, n) => succeeded(n, 0, 1)))
      expect(entries()).toBe(1)
      // Of the next record, which is beyond the window.
      yield* write([succeeded(most, 0, 1), succeeded(most + 1, 0, 1)])
      expect(entries()).toBe(2)
      const facts = Array.from({ length: most + 1 }, (_, index) => succeeded(2 * most, index, 1))
      yield* write(facts)
      expect(entries()).toBe(4)
    }),
  )
})
