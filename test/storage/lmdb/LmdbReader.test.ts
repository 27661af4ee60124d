import { readdir } from "node:fs/promises"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { compositeKey, rangeOf } from "../../../src/storage/Keys.ts"
import { LmdbReader } from "../../../src/storage/lmdb/LmdbReader.ts"
import { entries, withReader, written } from "../environments.ts"
import { text } from "../records.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

describe("LmdbReader", () => {
  it.live("reads written entries in order, and nothing from unused tables", () =>
    Effect.gen(function* () {
      const folder = yield* written(entries(2_500, 10, "x"), [
        { table: "meta", key: compositeKey("m"), value: Buffer.from("mark") },
      ])
      yield* withReader(folder, (reader) => {
        const all = [...reader.entries({ table: "boards", ...rangeOf(compositeKey("e")) })]
        expect(all.map(([key]) => key)).toEqual(entries(2_500, 0, "").map(({ key }) => key))
        expect(reader.count("boards")).toBe(2_500)
        expect(text(reader.get("meta", compositeKey("m")))).toBe("mark")
        expect(reader.get("meta", compositeKey("n"))).toBeUndefined()
        expect(reader.count("eventIds")).toBe(0)
        expect([...reader.entries({ table: "eventIds", ...rangeOf(new Uint8Array()) })]).toEqual([])
      })
    }),
  )

  it.live("fails if there is no environment, and creates none", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      expect(() => new LmdbReader(folder)).toThrow()
      expect(yield* Effect.promise(() => readdir(folder))).toEqual([])
    }),
  )
})
