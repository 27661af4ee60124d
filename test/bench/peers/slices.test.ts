import { describe, expect, it } from "vitest"

// Scripts of the peers are JavaScript without types.
const { href } = new URL("../../../bench/peers/slices.mjs", import.meta.url)
const { slicesOf } = (await import(href)) as {
  readonly slicesOf: (iterator: Iterable<number>) => Iterable<ReadonlyArray<number>>
}

const lengthsOf = (count: number) =>
  [...slicesOf(Array.from({ length: count }, (_, n) => n).values())].map(({ length }) => length)

describe("slicesOf", () => {
  it("gives all, in lists of a thousand", () => {
    expect([0, 1, 999, 1_000, 1_001, 2_500].map(lengthsOf)).toEqual([
      [],
      [1],
      [999],
      [1_000],
      [1_000, 1],
      [1_000, 1_000, 500],
    ])
  })
})
