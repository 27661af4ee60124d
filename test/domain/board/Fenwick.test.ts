import { describe, expect, it } from "vitest"
import { Fenwick } from "../../../src/domain/board/ChunkIndex.ts"
import { randomOf } from "../../simulation/random.ts"
import { runSeed } from "./leaderboardModel.ts"

describe("A row of counts", () => {
  it("sums and finds like a plain array through random changes", () => {
    const random = randomOf(runSeed)
    const integer = (below: number): number => Math.floor(random() * below)
    const fenwick = new Fenwick()
    const counts: Array<number> = []
    for (let step = 0; step < 2_000; step++) {
      const position = integer(counts.length)
      const chance = random()
      if (counts.length === 0 || chance < 0.3) {
        const place = integer(counts.length + 1)
        const count = integer(5)
        fenwick.insert(place, count)
        counts.splice(place, 0, count)
      } else if (chance < 0.5) {
        fenwick.remove(position)
        counts.splice(position, 1)
      } else if (chance < 0.51) {
        fenwick.reset(Uint32Array.from(counts.reverse()))
      } else {
        const delta = counts[position]! > 0 && random() < 0.5 ? -1 : 1
        fenwick.add(position, delta)
        counts[position]! += delta
      }
      const things = counts.flatMap((count, place) => new Array<number>(count).fill(place))
      const offset = integer(things.length + 2)
      const place = integer(counts.length + 1)
      expect(
        {
          length: fenwick.length,
          found: fenwick.find(offset),
          before: fenwick.before(place),
          counts: counts.map((_, index) => fenwick.at(index)),
        },
        `seed ${runSeed}, step ${step}`,
      ).toEqual({
        length: counts.length,
        found: things[offset] ?? counts.length,
        before: counts.slice(0, place).reduce((sum, count) => sum + count, 0),
        counts,
      })
    }
  })
})
