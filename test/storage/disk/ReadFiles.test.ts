import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { limits } from "../../../src/Limits.ts"
import { ReadFiles } from "../../../src/storage/disk/ReadFiles.ts"
import { SimulatedDisk } from "../../simulation/SimulatedDisk.ts"

const count = 2 * limits.historyFilesOpenMax

/** A disk with files `/0`, `/1` and so on, each with its name. */
const filled = Effect.gen(function* () {
  const disk = new SimulatedDisk()
  for (let name = 0; name < count; name++) {
    const file = yield* disk.open(`/${name}`, "create")
    yield* file.write(0, [Buffer.from(`${name}`)])
    yield* file.close
  }
  const files = new ReadFiles(disk)
  const read = (path: string) =>
    files.use(path, (file) => {
      const bytes = Buffer.alloc(8)
      return Effect.map(file.read(0, bytes), (length) => bytes.toString("utf8", 0, length))
    })
  return { disk, files, read }
})

describe("Files that stay open for reads", () => {
  it.effect("are at most historyFilesOpenMax, and one that is open is not opened again", () =>
    Effect.gen(function* () {
      const { disk, files, read } = yield* filled
      for (let name = 0; name < count; name++) {
        expect(yield* read(`/${name}`)).toBe(`${name}`)
        expect(disk.openFiles).toBe(Math.min(name + 1, limits.historyFilesOpenMax))
      }
      const opens = () => disk.log.filter((line) => line.startsWith("open")).length
      const before = opens()
      yield* read(`/${count - 1}`)
      expect(opens()).toBe(before)
      yield* read("/0")
      expect(opens()).toBe(before + 1)
      yield* files.close
      expect(disk.openFiles).toBe(0)
      yield* read("/0")
      expect(disk.openFiles).toBe(0)
    }),
  )

  it.effect("have at most historyReadsAtOnce reads under way, and none beside a change", () =>
    Effect.gen(function* () {
      const { files } = yield* filled
      const gate = yield* Deferred.make<void>()
      let running = 0
      let most = 0
      const slow = files.use("/0", () =>
        Effect.gen(function* () {
          most = Math.max(most, ++running)
          yield* Deferred.await(gate)
          running--
        }),
      )
      const readers = yield* Effect.forEach(Array(5), () =>
        Effect.forkChild(slow, { startImmediately: true }),
      )
      let seen: number | undefined
      const change = Effect.sync(() => {
        seen = running
      })
      const changing = yield* Effect.forkChild(files.alone(change), { startImmediately: true })
      expect([running, seen]).toEqual([limits.historyReadsAtOnce, undefined])
      yield* Deferred.succeed(gate, undefined)
      for (const reader of readers) yield* Fiber.join(reader)
      yield* Fiber.join(changing)
      expect([most, seen]).toEqual([limits.historyReadsAtOnce, 0])
    }),
  )

  it.effect("are read anew after they were forgotten, also if a read was under way", () =>
    Effect.gen(function* () {
      const { disk, files, read } = yield* filled
      expect(yield* read("/0")).toBe("0")
      const replaced = (text: string) =>
        Effect.gen(function* () {
          const file = yield* disk.open("/new", "create")
          yield* file.write(0, [Buffer.from(text)])
          yield* file.close
          yield* disk.rename("/new", "/0")
          yield* files.forget
        })
      yield* replaced("a")
      expect(yield* read("/0")).toBe("a")
      yield* files.use("/0", () => replaced("b"))
      expect(yield* read("/0")).toBe("b")
    }),
  )
})
