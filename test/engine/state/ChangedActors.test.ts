import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { ChangedActors } from "../../../src/engine/state/ChangedActors.ts"
import { limits } from "../../../src/Limits.ts"
import { anEnvironment } from "../fixture.ts"

const max = limits.snapshotRecordsMax

/**
 * Engines that share the bound of records before a snapshot; each has one user, who gets the
 * records.
 */
const engines = (count: number) => {
  const shared = { count: 0, engines: 0 }
  const made = Array.from({ length: count }, () => {
    const mark = { watermark: 0, at: 0 }
    const changed = new ChangedActors(mark, shared)
    const actor = anEnvironment().newUser("u")
    const commit = (records: number) => {
      for (let n = 0; n < records; n++) {
        changed.committed(actor, changed.lastDurable + 1)
      }
    }
    let asked = false
    const watched = Effect.map(changed.requested, () => {
      asked = true
    })
    const isAsked = Effect.gen(function* () {
      for (let turn = 0; turn < 10 && !asked; turn++) yield* Effect.yieldNow
      return asked
    })
    return { changed, commit, isAsked, watched }
  })
  return { made, shared }
}

describe("Engines that share the bound of records before a snapshot", () => {
  it.effect("ask for one at the bound: the engine that has its share of the records does", () =>
    Effect.gen(function* () {
      const { made, shared } = engines(2)
      const [one, other] = made as [(typeof made)[0], (typeof made)[0]]
      for (const { watched } of made) yield* Effect.forkChild(watched, { startImmediately: true })
      one.commit(max - 11)
      other.commit(10)
      expect([yield* one.isAsked, yield* other.isAsked]).toEqual([false, false])
      other.commit(1)
      expect(one.changed.pendingOfAll).toBe(max)
      expect([yield* one.isAsked, yield* other.isAsked]).toEqual([false, false])
      one.commit(1)
      expect([yield* one.isAsked, yield* other.isAsked]).toEqual([true, false])
      const actors = one.changed.begin()
      expect([one.changed.pending, other.changed.pendingOfAll]).toEqual([0, 11])
      one.changed.failed(actors, 0)
      expect(other.changed.pendingOfAll).toBe(max + 1)
      one.changed.leave()
      expect(shared).toEqual({ count: 11, engines: 1 })
    }),
  )
})
