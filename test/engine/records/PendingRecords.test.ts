import { describe, expect, it } from "@effect/vitest"
import { PendingRecords } from "../../../src/engine/records/PendingRecords.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { anEnvironment } from "../fixture.ts"

describe("Pending records", () => {
  for (const seed of seeds(5)) {
    it(`are found along their actor's list, however many wait; LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      const start = random.integer(0, 10_000)
      const pending = new PendingRecords(start)
      const environment = anEnvironment()
      const actors = Array.from({ length: 20 }, (_, n) => environment.newUser(`u${n}`))
      const all: Array<{ actor: number; sequence: number; hash: number | undefined }> = []
      let watermark = start
      for (let sequence = start + 1; sequence <= start + 6_000; sequence++) {
        const actor = random.integer(0, actors.length - 1)
        const hash = random.chance(0.5) ? random.integer(1, 0xffff_ffff) : undefined
        pending.texts.append(JSON.stringify({ sequence, facts: [] }), actors[actor]!.lastAppended)
        pending.link(actors[actor]!, hash)
        all.push({ actor, sequence, hash })
        // They become durable some time later, and a snapshot has them later still.
        const durable = all[all.length - 50]
        if (durable !== undefined) actors[durable.actor]!.lastDurable = durable.sequence
        if (random.chance(1 / 2_000)) {
          watermark = Math.max(watermark, sequence - random.integer(50, 3_000))
          pending.release(watermark)
        }
      }
      const waiting = all.filter(({ sequence }) => sequence > watermark)
      const through = all.at(-500)!.sequence
      for (const [n, actor] of actors.entries()) {
        const own = waiting.filter((record) => record.actor === n)
        const found: typeof all = []
        for (let at = actor.lastVisible; at > watermark; at = pending.previousOf(at)) {
          expect(pending.decode(at).sequence).toBe(at)
          found.unshift({ actor: n, sequence: at, hash: pending.hashOf(at) })
        }
        expect(found).toEqual(own)
        for (const after of [0, through - 1_000]) {
          expect(pending.backFrom(actor.lastDurable, after, through)).toEqual(
            own
              .map(({ sequence }) => sequence)
              .filter((sequence) => sequence > after && sequence <= through),
          )
        }
      }
    })
  }
})
