/** How many partitions are opened at once, and in which order. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { OpeningTurns } from "../../src/cluster/Opening.ts"

const setUp = (max: number) => {
  const turns = new OpeningTurns(max)
  const begun: Array<number> = []
  /** Opens a partition until `end`, or an interruption. */
  const open = Effect.fnUntraced(function* (partition: number) {
    const ended = yield* Deferred.make<void>()
    const opening = Effect.suspend(() => {
      begun.push(partition)
      return Deferred.await(ended)
    })
    const fiber = yield* Effect.forkChild(turns.within(partition, opening), {
      startImmediately: true,
    })
    return {
      end: Effect.andThen(Deferred.succeed(ended, undefined), Fiber.join(fiber)),
      interrupt: Fiber.interrupt(fiber),
    }
  })
  return { begun, open }
}

describe("The turns of openings", () => {
  it.effect("are so many at once, and then the lowest number's", () =>
    Effect.gen(function* () {
      const { begun, open } = setUp(2)
      const [nine, eight] = [yield* open(9), yield* open(8)]
      const [seven, five] = [yield* open(7), yield* open(5)]
      expect(begun).toEqual([9, 8])
      yield* nine.end
      expect(begun).toEqual([9, 8, 5])
      yield* five.end
      yield* open(2)
      yield* seven.interrupt
      yield* eight.end
      expect(begun).toEqual([9, 8, 5, 7, 2])
    }),
  )

  it.effect("are not waited for by partition 1, which counts", () =>
    Effect.gen(function* () {
      const { begun, open } = setUp(2)
      const [two, three] = [yield* open(2), yield* open(3)]
      yield* open(4)
      const one = yield* open(1)
      expect(begun).toEqual([2, 3, 1])
      yield* two.end
      expect(begun).toEqual([2, 3, 1])
      yield* one.end
      yield* three.end
      expect(begun).toEqual([2, 3, 1, 4])
    }),
  )

  it.effect("end with an interruption, and are not taken after one", () =>
    Effect.gen(function* () {
      const { begun, open } = setUp(1)
      const two = yield* open(2)
      const three = yield* open(3)
      yield* open(4)
      yield* three.interrupt
      yield* two.interrupt
      expect(begun).toEqual([2, 4])
    }),
  )
})
