/** The storage of a partition: PostgreSQL and the data directory that follows it. */
import { cp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises"
import path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { limits } from "../../../src/Limits.ts"
import { installDraft } from "../../../src/storage/archive/ArchiveSwap.ts"
import { type Disk, DiskError, type DiskFile } from "../../../src/storage/disk/Disk.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import * as DurableStorage from "../../../src/storage/durable/DurableStorage.ts"
import { lineageName } from "../../../src/storage/durable/LineageFile.ts"
import type { JournalPosition } from "../../../src/storage/journal/SegmentFormat.ts"
import { compositeKey } from "../../../src/storage/Keys.ts"
import type { ClusterStorageOptions } from "../../../src/storage/postgres/ClusterStorage.ts"
import { removeLeftovers } from "../../../src/storage/postgres/Leftovers.ts"
import { damageName } from "../../../src/storage/postgres/Mirror.ts"
import type { Outdated, Refill, RefillCopy } from "../../../src/storage/postgres/OpenCopy.ts"
import type { Refused } from "../../../src/storage/postgres/OutageRetry.ts"
import { encodeValue } from "../../../src/storage/SealedValue.ts"
import { Broken, Fenced, type StorageError } from "../../../src/storage/Storage.ts"
import { storageContract } from "../contract.ts"
import { appendAll, expectRecords, numbered } from "../records.ts"
import { temporaryFolder } from "../temporaryFolder.ts"
import { open } from "./owned.ts"
import { Postgres } from "./Postgres.ts"

let server: Postgres
let schemas = 0
beforeAll(async () => {
  server = await Postgres.make()
})
afterAll(() => server.remove())

const cluster = Effect.promise(() => server.schema(`cluster_${++schemas}`))

const options = (url: string, directory: string): ClusterStorageOptions => ({
  url,
  directory,
  partition: 1,
  owner: "test",
})

type Opening = Partial<ClusterStorageOptions>
const opened = (url: string, directory: string, more: Opening = {}) =>
  open({ ...options(url, directory), ...more })

/** Opens, runs `use`, and closes again. */
const within = <A>(
  url: string,
  directory: string,
  use: (
    storage: DurableStorage.OpenedStorage["storage"],
    opened: DurableStorage.OpenedStorage,
  ) => Effect.Effect<A, unknown, Scope.Scope>,
  more: Opening = {},
) => Effect.scoped(Effect.flatMap(opened(url, directory, more), (one) => use(one.storage, one)))

const refusal = (opening: Effect.Effect<unknown, StorageError | Refused | Outdated, Scope.Scope>) =>
  Effect.map(Effect.flip(Effect.scoped(opening)), (error) => {
    expect(error._tag).toBe("Refused")
    return error.message
  })

const query = (url: string, text: string) => {
  const [, schema] = /search_path="(.+)"/.exec(decodeURIComponent(url))!
  return Effect.promise(() => server.query(text, schema))
}

const pending = (name: string) => ({
  table: "deliveries" as const,
  key: compositeKey(name),
  value: encodeValue(name) as Uint8Array | null,
})

const namesIn = (directory: string) => Effect.promise(() => readdir(directory))

/** Takes PostgreSQL back to record 2 and what `p` and `t` have of the heads. */
const goBack = (url: string) =>
  query(
    url,
    `DELETE FROM laurel_journal WHERE first > 2;
    DELETE FROM laurel_partition; INSERT INTO laurel_partition SELECT * FROM p;
    DELETE FROM laurel_tables; INSERT INTO laurel_tables SELECT * FROM t`,
  )

storageContract(
  "ClusterStorage",
  Effect.gen(function* () {
    const [url, directory] = [yield* cluster, yield* temporaryFolder]
    const failed = Effect.mapError((error: StorageError | Refused | Outdated) => {
      throw error
    })
    return { open: Effect.map(failed(opened(url, directory)), ({ storage }) => storage) }
  }),
)

describe("The local copy", () => {
  it.effect("is a complete data directory with the same end as PostgreSQL", () =>
    Effect.gen(function* () {
      const [url, directory] = [yield* cluster, yield* temporaryFolder]
      yield* within(url, directory, (storage) => appendAll(storage, [1, 2, 3]))
      const { position, storage } = yield* DurableStorage.open({ directory })
      yield* expectRecords(storage, 1, 6)
      const [row] = yield* query(url, "SELECT last, checksum FROM laurel_partition")
      expect(row).toEqual({ last: "6", checksum: String(position().checksum) })
    }),
  )

  it.effect("is filled from PostgreSQL if it is empty, and catches up if it is behind", () =>
    Effect.gen(function* () {
      const url = yield* cluster
      const [one, two] = [yield* temporaryFolder, yield* temporaryFolder]
      yield* within(url, one, (storage) => appendAll(storage, [1, 2]))
      yield* within(url, two, (storage) =>
        Effect.andThen(expectRecords(storage, 1, 3), appendAll(storage, Array(40).fill(1))),
      )
      yield* within(url, one, (storage) => expectRecords(storage, 1, 43))
      const [row] = yield* query(url, "SELECT epoch, owner FROM laurel_partition")
      expect(row).toEqual({ epoch: "3", owner: "test" })
    }),
  )

  it.effect(
    "is moved aside if it is ahead of PostgreSQL, not on its chain, or of another cluster",
    () =>
      Effect.gen(function* () {
        const url = yield* cluster
        const base = yield* temporaryFolder
        const at = (name: string) => path.join(base, name)
        const copy = (from: string, to: string) =>
          Effect.promise(() => cp(at(from), at(to), { recursive: true }))
        yield* within(url, at("one"), (storage) => appendAll(storage, [2]))
        yield* query(
          url,
          "CREATE TABLE p AS SELECT * FROM laurel_partition; CREATE TABLE t AS SELECT * FROM laurel_tables",
        )
        yield* copy("one", "fork")
        yield* within(url, at("one"), (storage) => appendAll(storage, [1, 1, 1]))
        // PostgreSQL goes back to record 2, as after the loss of a standby, and another server
        // appends.
        yield* goBack(url)
        yield* within(url, at("one"), (storage) => expectRecords(storage, 1, 2))
        expect(yield* namesIn(at("one"))).toContain("discarded-1")
        const aside = yield* DurableStorage.open({ directory: at("one/discarded-1") })
        yield* expectRecords(aside.storage, 1, 5)
        // The fork takes another third record, the first copy has one of its own.
        yield* copy("one", "two")
        yield* within(url, at("one"), (storage) => storage.append(numbered(3, 2)))
        yield* goBack(url)
        yield* within(url, at("fork"), (storage) => appendAll(storage, [1, 1, 1]))
        yield* within(url, at("one"), (storage) => expectRecords(storage, 1, 5))
        expect(yield* namesIn(at("one"))).toContain("discarded-2")
        // Another cluster.
        const other = yield* cluster
        yield* within(other, at("other"), (storage) => appendAll(storage, [7]))
        yield* within(other, at("one"), (storage) => expectRecords(storage, 1, 7))
        const names = yield* namesIn(at("one"))
        expect(names.filter((name) => name.startsWith("discarded")).sort()).toEqual([
          "discarded-2",
          "discarded-3",
        ])
      }),
  )

  it.effect(
    "that belongs to no cluster becomes the first partition, and can leave the cluster again",
    () =>
      Effect.gen(function* () {
        const url = yield* cluster
        const base = yield* temporaryFolder
        const [one, two] = [path.join(base, "one"), path.join(base, "two")]
        const key = compositeKey("e", "k")
        const value = encodeValue("kept")
        const embedded = <A>(
          use: (store: DurableStorage.OpenedStorage["storage"]) => Effect.Effect<A, unknown>,
        ) =>
          Effect.scoped(
            Effect.flatMap(DurableStorage.open({ directory: one }), ({ storage }) => use(storage)),
          )
        yield* embedded((storage) =>
          Effect.andThen(
            appendAll(storage, [3, 1, 2]),
            storage.writeEntries([{ table: "expiry", key, value }]),
          ),
        )
        yield* within(url, one, (storage) => appendAll(storage, [1]))
        yield* within(url, two, (storage) =>
          Effect.andThen(expectRecords(storage, 1, 7), appendAll(storage, [1])),
        )
        yield* within(url, one, () => Effect.void)
        yield* embedded((storage) =>
          Effect.gen(function* () {
            yield* expectRecords(storage, 1, 8)
            expect(Buffer.from((yield* storage.readEntry("expiry", key))!)).toEqual(value)
            yield* appendAll(storage, [1])
          }),
        )
        // Out, and with records of its own: without the lineage it is no copy, and is not touched.
        yield* Effect.promise(() => rm(path.join(one, lineageName)))
        expect(yield* refusal(opened(url, one))).toContain("is no copy of this cluster")
        yield* embedded((storage) => expectRecords(storage, 1, 9))
        const fresh = yield* cluster
        yield* within(fresh, one, (storage) => expectRecords(storage, 1, 9))
      }),
  )

  it.effect(
    "of a pruned journal uploads the kept records; only a copy that reaches them joins",
    () =>
      Effect.gen(function* () {
        const url = yield* cluster
        const base = yield* temporaryFolder
        const [one, two] = [path.join(base, "one"), path.join(base, "two")]
        const padding = "x".repeat(9_000)
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { storage } = yield* DurableStorage.open({
              directory: one,
              segmentBytes: 100_000,
            })
            yield* appendAll(storage, Array(40).fill(1), padding)
            yield* storage.prune(30)
            expect(yield* storage.firstSequence).toBeGreaterThan(10)
          }),
        )
        yield* within(url, one, () => Effect.void)
        expect(yield* refusal(opened(url, two))).toContain("Restore an archive of this cluster")
        yield* Effect.promise(() => cp(one, two, { recursive: true }))
        yield* Effect.promise(() => rm(path.join(two, lineageName)))
        yield* within(url, two, (storage) => appendAll(storage, [1], padding))
        yield* within(url, one, (storage) => expectRecords(storage, 30, 41, padding))
      }),
  )

  it.effect("is filled from an archive if PostgreSQL begins later, wherever the archive ends", () =>
    Effect.gen(function* () {
      const url = yield* cluster
      const base = yield* temporaryFolder
      const at = (name: string) => path.join(base, name)
      const copy = (from: string, to: string) =>
        Effect.promise(() => cp(at(from), at(to), { recursive: true }))
      yield* within(url, at("one"), (storage) => appendAll(storage, [2]))
      yield* copy("one", "behind")
      yield* within(url, at("one"), (storage) =>
        Effect.andThen(appendAll(storage, [1, 1]), storage.writeEntries([pending("old")])),
      )
      yield* copy("one", "archive")
      yield* within(url, at("one"), (storage) =>
        Effect.andThen(
          appendAll(storage, [1]),
          storage.writeEntries([{ ...pending("old"), value: null }, pending("new")]),
        ),
      )
      yield* query(url, "DELETE FROM laurel_journal WHERE first < 4")
      const [row] = yield* query(url, "SELECT lineage, checksum FROM laurel_partition")
      const wishes: Array<Pick<Refill, "lineage" | "record">> = []
      /** As a restore builds it. */
      const draft = (name: string) =>
        Effect.promise(async () => {
          for (const part of ["journal", "live"]) {
            await cp(at(`archive/${part}`), at(`${name}/restore.draft/${part}`), {
              recursive: true,
            })
          }
        })
      const filling =
        (name: string, stop?: "draft" | "room" | "swap"): RefillCopy<string> =>
        ({ isFollowed, lineage, makeRoom, record }) =>
          Effect.gen(function* () {
            wishes.push({ lineage, record })
            const last = { lastSequence: 5, checksum: Number(row!.checksum) }
            expect(yield* isFollowed(last)).toBe(true)
            expect(yield* isFollowed({ ...last, checksum: 7 })).toBe(false)
            expect(yield* isFollowed({ ...last, lastSequence: 2 })).toBe(false)
            yield* draft(name)
            if (stop === "draft") return yield* Effect.fail("a crash")
            yield* makeRoom
            if (stop === "room") return yield* Effect.fail("a crash")
            const replaced = "replaced-x"
            const intent = { format: 1, replaced, lineage }
            if (stop === "swap") {
              const file = path.join(at(name), "restore.json")
              yield* Effect.promise(() => writeFile(file, JSON.stringify(intent)))
              return yield* Effect.fail("a crash")
            }
            yield* Effect.orDie(installDraft(nodeDisk, at(name), 0, { lineage }))
            return undefined
          })
      const filled = (name: string, stop?: "draft" | "room" | "swap") =>
        within(
          url,
          at(name),
          (storage) =>
            Effect.gen(function* () {
              yield* expectRecords(storage, 3, 5)
              expect(yield* storage.readEntry("deliveries", pending("new").key)).toBeDefined()
              expect(yield* storage.readEntry("deliveries", pending("old").key)).toBeUndefined()
            }),
          { refill: filling(name, stop) as RefillCopy<never> },
        )
      const namesOf = (name: string) =>
        Effect.map(namesIn(at(name)), (names) =>
          names.filter((found) => !/^(journal|live|lineage.json|lock)$/.test(found)),
        )
      for (const stop of [undefined, "draft", "room", "swap"] as const) {
        const name = `${stop}`
        if (stop !== undefined) {
          yield* copy("behind", name)
          expect(yield* Effect.flip(filled(name, stop))).toBe("a crash")
        }
        // The restored data alone needs no archive any more.
        if (stop !== "swap") yield* filled(name)
        // A copy as any other.
        yield* within(url, at(name), (storage) => expectRecords(storage, 3, 5))
        expect(yield* namesOf(name)).toEqual(stop === undefined ? [] : ["discarded-1"])
      }
      expect(new Set(wishes.map((wish) => JSON.stringify(wish)))).toEqual(
        new Set([JSON.stringify({ lineage: row!.lineage, record: 3 })]),
      )
      const aside = yield* DurableStorage.open({ directory: at("draft/discarded-1") })
      yield* expectRecords(aside.storage, 1, 2)
      const missing = () => Effect.succeed("There is none.")
      expect(yield* refusal(opened(url, at("nowhere"), { refill: missing }))).toContain(
        "ends with record 0. There is none. Restore an archive",
      )
    }),
  )

  it.effect("that was restored refuses to catch up", () =>
    Effect.gen(function* () {
      const [url, directory] = [yield* cluster, yield* temporaryFolder]
      yield* within(url, directory, (storage) => appendAll(storage, [2]))
      yield* Effect.promise(() => writeFile(path.join(directory, "restored"), ""))
      expect(yield* refusal(opened(url, directory))).toContain("would undo the restore")
      yield* Effect.promise(() => rm(path.join(directory, lineageName)))
      yield* within(url, directory, (storage) => expectRecords(storage, 1, 2))
      // It has caught up: nothing was restored.
      yield* within(url, directory, (storage) => expectRecords(storage, 1, 2))
    }),
  )

  it.effect("of a cluster does not begin another cluster in an empty database", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryFolder
      yield* within(yield* cluster, directory, (storage) => appendAll(storage, [2]))
      const empty = yield* cluster
      expect(yield* refusal(opened(empty, directory))).toContain("has no such partition")
      expect(yield* query(empty, "SELECT * FROM laurel_partition")).toEqual([])
    }),
  )

  it.effect("that a power cut tore loses unflushed records, and reads them from PostgreSQL", () =>
    Effect.gen(function* () {
      const url = yield* cluster
      const base = yield* temporaryFolder
      const [one, torn] = [path.join(base, "one"), path.join(base, "torn")]
      yield* within(url, one, (storage) => appendAll(storage, [1, 1]))
      yield* within(url, one, (storage) =>
        Effect.gen(function* () {
          yield* appendAll(storage, [1, 1, 1])
          // The mark of the flushed end is as old as the opening: time stands still here.
          yield* storage.writeEntries([])
          yield* Effect.promise(() => cp(one, torn, { recursive: true }))
        }),
      )
      const tear = (sequence: number) =>
        Effect.promise(async () => {
          const [name] = (await readdir(path.join(torn, "journal"))).filter((file) =>
            /^\d+\.segment$/.test(file),
          )
          const file = path.join(torn, "journal", name!)
          const bytes = await readFile(file)
          const at = bytes.indexOf(`record ${sequence}`)
          bytes.fill(0, at - 10, at + 5)
          await writeFile(file, bytes)
        })
      yield* tear(4)
      yield* within(url, torn, (storage) => expectRecords(storage, 1, 5))
      // What was flushed is damaged, not torn: that is no power cut.
      yield* tear(2)
      yield* Effect.promise(() => rm(path.join(torn, "journal", "clean")))
      yield* within(url, torn, (storage) => expectRecords(storage, 1, 5))
      expect(yield* namesIn(torn)).toContain("discarded-1")
    }),
  )
})

describe("A damaged copy", () => {
  /** A copy with three records, closed, and the folder of its database. */
  const made = Effect.gen(function* () {
    const [url, directory] = [yield* cluster, yield* temporaryFolder]
    yield* within(url, directory, (storage) =>
      Effect.andThen(appendAll(storage, [1, 2]), storage.writeEntries([pending("kept")])),
    )
    return { url, directory, live: path.join(directory, "live") }
  })
  const damage = (where: string) =>
    Effect.promise(async () => {
      const bytes = await readFile(where)
      await writeFile(where, bytes.fill(0x5a, 0, 64))
    })
  const journalIn = (directory: string) =>
    Effect.promise(async () => {
      const folder = path.join(directory, "journal")
      const name = (await readdir(folder)).find((file) => /^\d+\.segment$/.test(file))
      return path.join(folder, name!)
    })

  for (const part of ["journal", "database"] as const) {
    it.live(`is moved aside and filled from PostgreSQL if its ${part} is damaged`, () =>
      Effect.gen(function* () {
        const { directory, live, url } = yield* made
        const where = part === "journal" ? yield* journalIn(directory) : path.join(live, "data.mdb")
        yield* damage(where)
        yield* within(url, directory, (storage) =>
          Effect.andThen(expectRecords(storage, 1, 3), appendAll(storage, [1])),
        )
        const aside = yield* namesIn(path.join(directory, "discarded-1"))
        expect(aside).toEqual(expect.arrayContaining(["journal", "live", lineageName]))
        yield* within(url, directory, (storage) => expectRecords(storage, 1, 4))
        expect(yield* namesIn(directory)).not.toContain("discarded-2")
      }),
    )
  }

  it.live("that was found while open takes no more entries, and the next opening fills it", () =>
    Effect.gen(function* () {
      const { directory, url } = yield* made
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { noteDamage, storage } = yield* opened(url, directory)
          noteDamage("a value is damaged")
          const error = yield* Effect.flip(storage.writeEntries([]))
          expect(error._tag).toBe("Broken")
        }),
      )
      expect(yield* namesIn(directory)).toContain(damageName)
      yield* within(url, directory, (storage) => expectRecords(storage, 1, 3))
      const aside = yield* namesIn(path.join(directory, "discarded-1"))
      expect(aside).toContain(damageName)
      expect(yield* namesIn(directory)).not.toContain(damageName)
    }),
  )

  it.live("is filled from an archive if PostgreSQL begins later", () =>
    Effect.gen(function* () {
      const { directory, url } = yield* made
      yield* query(url, "DELETE FROM laurel_journal WHERE first = 1")
      yield* damage(yield* journalIn(directory))
      const why = yield* refusal(opened(url, directory))
      expect(why).toContain("damaged")
      expect(yield* namesIn(directory)).not.toContain("discarded-1")
      let wish: Refill | undefined
      const refill: RefillCopy<never> = (asked) => {
        wish = asked
        return Effect.succeed("No archive.")
      }
      expect(yield* refusal(opened(url, directory, { refill }))).toContain("No archive.")
      expect(wish).toMatchObject({ record: 1 })
    }),
  )

  it.live("is not moved, and fails the start, if PostgreSQL may lack its records", () =>
    Effect.gen(function* () {
      const { directory, url } = yield* made
      yield* damage(yield* journalIn(directory))
      const expectDamaged = (to: string) =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(Effect.scoped(opened(to, directory)))
          expect(error).toMatchObject({
            _tag: "Broken",
            message: expect.stringContaining("damaged"),
          })
          expect(yield* namesIn(directory)).toContain("journal")
        })
      yield* expectDamaged(yield* cluster)
      yield* Effect.promise(() => rm(path.join(directory, lineageName)))
      yield* expectDamaged(url)
    }),
  )
})

/** A disk whose files take nothing while it is full. */
const fillingDisk = () => {
  const state = { isFull: false }
  const full = Effect.suspend(() =>
    state.isFull
      ? Effect.fail(new DiskError({ operation: "write", path: "", code: "ENOSPC" }))
      : Effect.void,
  )
  const disk: Disk = {
    ...nodeDisk,
    open: (where, mode, how) =>
      Effect.map(nodeDisk.open(where, mode, how), (file): DiskFile => {
        const write: DiskFile["write"] = (position, pieces) =>
          Effect.andThen(full, file.write(position, pieces))
        return { ...openFile(file), write }
      }),
  }
  return { state, disk }
}

/** The parts of a file, to replace some. */
const openFile = (file: DiskFile): DiskFile => ({
  path: file.path,
  read: (position, into) => file.read(position, into),
  write: (position, pieces) => file.write(position, pieces),
  truncate: (bytes) => file.truncate(bytes),
  size: file.size,
  sync: file.sync,
  close: file.close,
})

/** A disk that notes the writes and flushes of segments. */
const notedDisk = () => {
  const calls: Array<"write" | "sync"> = []
  const noted = <A, E>(call: "write" | "sync", done: Effect.Effect<A, E>) =>
    Effect.tap(done, () => Effect.sync(() => calls.push(call)))
  const disk: Disk = {
    ...nodeDisk,
    open: (where, mode, how) =>
      Effect.map(nodeDisk.open(where, mode, how), (file): DiskFile => {
        if (!where.endsWith("segment")) return file
        expect(how?.durable ?? false).toBe(false)
        const write: DiskFile["write"] = (position, pieces) =>
          noted("write", file.write(position, pieces))
        return { ...openFile(file), write, sync: noted("sync", file.sync) }
      }),
  }
  const until = (isSo: () => boolean) =>
    Effect.promise(async () => {
      while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
    })
  /** The calls since, equal ones in a row once. */
  const taken = () => calls.splice(0).filter((call, at, all) => call !== all[at - 1])
  return { calls, disk, taken, until }
}

describe("The flush of the local files", () => {
  it.effect("happens before entries, the flushed mark and the close; no append waits for it", () =>
    Effect.gen(function* () {
      const [url, directory] = [yield* cluster, yield* temporaryFolder]
      const { calls, disk, taken, until } = notedDisk()
      const use = (storage: DurableStorage.OpenedStorage["storage"]) =>
        Effect.gen(function* () {
          yield* appendAll(storage, [1, 1])
          // Two batches, and the zeros of two segments that are prepared.
          yield* until(() => calls.length === 4)
          expect(taken()).toEqual(["write"])
          yield* storage.writeEntries([])
          expect(taken()).toEqual(["sync"])
          yield* storage.writeEntries([])
          expect(taken()).toEqual([])
          yield* storage.append(numbered(3, 1))
          yield* until(() => calls.length === 1)
          yield* TestClock.adjust(limits.flushedMarkMs)
          yield* until(() => calls.includes("sync"))
          expect(taken()).toEqual(["write", "sync"])
          yield* storage.append(numbered(4, 1))
        })
      yield* within(url, directory, use, { disk })
      expect(taken()).toEqual(["write", "sync"])
    }),
  )
})

describe("A full local disk", () => {
  it.live("stops no append until too many bytes wait; all records can be read", () =>
    Effect.gen(function* () {
      const [url, directory] = [yield* cluster, yield* temporaryFolder]
      const { disk, state } = fillingDisk()
      yield* within(
        url,
        directory,
        (storage) =>
          Effect.gen(function* () {
            yield* appendAll(storage, [1, 2])
            state.isFull = true
            const padding = "x".repeat(4_000_000)
            const each = numbered(4, 1, padding).frames.length
            const taken = Math.ceil(limits.mirrorPendingBytesMax / each)
            yield* storage.append(numbered(4, 1, padding))
            for (let next = 5; next < 4 + taken; next++) {
              yield* storage.append(numbered(next, 1, padding))
            }
            const refused = yield* Effect.flip(storage.append(numbered(4 + taken, 1)))
            expect(refused).toMatchObject({ _tag: "Unavailable" })
            yield* expectRecords(storage, 4, 3 + taken, padding)
            const written = yield* Effect.flip(storage.writeEntries([]))
            expect(written).toMatchObject({ _tag: "Unavailable" })
            state.isFull = false
            while (Exit.isFailure(yield* Effect.exit(storage.writeEntries([])))) {
              yield* Effect.sleep(5)
            }
            yield* storage.append(numbered(4 + taken, 1))
          }),
        { disk },
      )
      const { position, storage } = yield* DurableStorage.open({ directory })
      const { lastSequence } = position()
      yield* expectRecords(storage, lastSequence, lastSequence)
      const [row] = yield* query(url, "SELECT last FROM laurel_partition")
      expect(row).toEqual({ last: String(lastSequence) })
    }),
  )
})

describe("Ownership", () => {
  it.live(
    "goes to the later start with all acknowledged records; the earlier owner notices without an append",
    () =>
      Effect.gen(function* () {
        const url = yield* cluster
        const [one, two] = [yield* temporaryFolder, yield* temporaryFolder]
        let isFenced = false
        const first = yield* opened(url, one, {
          onFenced: () => {
            isFenced = true
          },
        })
        let acknowledged = 0
        const writer = yield* Effect.forkChild(
          Effect.gen(function* () {
            while (true) {
              const append = first.storage.append(numbered(acknowledged + 1, 1))
              // A busy machine may take longer than the deadline of a statement.
              yield* Effect.retry(append, { while: ({ _tag }) => _tag === "Unavailable" })
              acknowledged++
            }
          }),
        )
        while (acknowledged < 50) yield* Effect.sleep(1)
        const second = yield* opened(url, two)
        expect(yield* Effect.flip(Fiber.join(writer))).toMatchObject({ _tag: "Fenced" })
        expect(second.storage.lastSequence).toBe(acknowledged)
        yield* appendAll(second.storage, [2])
        yield* expectRecords(second.storage, 1, acknowledged + 2)
        while (!isFenced) yield* Effect.sleep(10)
        const { lastSequence } = first.position()
        expect(lastSequence).toBeLessThanOrEqual(acknowledged)
      }),
  )

  it.live("stays with the owner if a start is refused", () =>
    Effect.gen(function* () {
      const url = yield* cluster
      const [one, two] = [yield* temporaryFolder, yield* temporaryFolder]
      const first = yield* opened(url, one)
      yield* appendAll(first.storage, [1])
      yield* Effect.scoped(
        Effect.flatMap(DurableStorage.open({ directory: two }), ({ storage }) =>
          appendAll(storage, [5]),
        ),
      )
      yield* refusal(opened(url, two))
      const looked: Array<number> = []
      const beforeClaim = ({ lastSequence }: { readonly lastSequence: number }) => {
        looked.push(lastSequence)
        return Effect.fail("its clock is wrong")
      }
      const three = yield* temporaryFolder
      const unfit = open({ ...options(url, three), beforeClaim })
      expect(yield* Effect.flip(Effect.scoped(unfit))).toBe("its clock is wrong")
      expect(looked).toEqual([1])
      yield* first.storage.append(numbered(2, 1))
    }),
  )

  it.live("of an empty database goes to one of two concurrent starts; both have one lineage", () =>
    Effect.gen(function* () {
      const url = yield* cluster
      const folders = [yield* temporaryFolder, yield* temporaryFolder]
      const start = (folder: string) =>
        Effect.catchIf(
          within(url, folder, () => Effect.void),
          // The other start may take the partition over before this one has claimed the tables.
          (error) => error instanceof Broken && error.cause instanceof Fenced,
          () => Effect.void,
        )
      yield* Effect.forEach(folders, start, { concurrency: 2 })
      const files = yield* Effect.forEach(folders, (folder) =>
        Effect.promise(() => readFile(path.join(folder, lineageName), "utf8")),
      )
      expect(files[0]).toBe(files[1])
      expect(yield* query(url, "SELECT id, epoch FROM laurel_partition")).toEqual([
        { id: 1, epoch: "2" },
      ])
    }),
  )
})

describe("PostgreSQL", () => {
  it.live("keeps records that no archive has, and records that the snapshot lacks", () =>
    Effect.gen(function* () {
      const [url, directory] = [yield* cluster, yield* temporaryFolder]
      let ends: ReadonlyArray<number> = []
      const checksums = new Map<number, number>()
      const archives = Effect.sync(() =>
        ends.map((lastSequence) => ({ lastSequence, checksum: checksums.get(lastSequence) ?? 7 })),
      )
      const { position, storage } = yield* opened(url, directory, { archives })
      for (const count of [1, 1, 2, 1, 1]) {
        yield* storage.append(numbered((checksums.size && position().lastSequence) + 1, count))
        yield* storage.writeEntries([])
        checksums.set(position().lastSequence, position().checksum)
      }
      const first = Effect.map(
        query(url, "SELECT min(first) AS first FROM laurel_journal"),
        ([row]) => Number(row?.first),
      )
      const pruned = (below: number, ...archived: ReadonlyArray<number>) => {
        ends = archived
        return Effect.andThen(storage.prune(0, 0, below - 1), first)
      }
      expect(yield* pruned(6)).toBe(1)
      expect(yield* pruned(6, 4)).toBe(1)
      // The one that ends within a batch is of another journal.
      expect(yield* pruned(6, 3, 4)).toBe(1)
      expect(yield* pruned(6, 1, 2, 4)).toBe(3)
      expect(yield* pruned(5, 4, 5, 6)).toBe(5)
      expect(yield* pruned(1, 4, 5, 6)).toBe(5)
    }),
  )

  it.live("and all files have no data of an erased user after all retention times", () =>
    Effect.gen(function* () {
      const user = "ada-who-was-erased"
      const [url, directory] = [yield* cluster, yield* temporaryFolder]
      const archived: Array<JournalPosition> = []
      const options = { archives: Effect.sync(() => archived) }
      const tables = ["laurel_journal", "laurel_entries", "laurel_directory", "laurel_partition"]
      const found = Effect.gen(function* () {
        const places: Array<string> = []
        for (const name of tables) {
          const rows = yield* query(url, `SELECT row_to_json(t)::text AS row FROM ${name} t`)
          const hex = Buffer.from(user).toString("hex")
          if (JSON.stringify(rows).includes(user) || JSON.stringify(rows).includes(hex))
            places.push(name)
        }
        const files = yield* Effect.promise(() =>
          readdir(directory, { recursive: true, withFileTypes: true }),
        )
        for (const file of files.filter((each) => each.isFile())) {
          const where = path.join(file.parentPath, file.name)
          const bytes = yield* Effect.promise(() => readFile(where))
          if (bytes.includes(user)) places.push(path.relative(directory, where))
        }
        return places.toSorted()
      })
      // The user, and a copy that was set aside with a part of a write.
      yield* within(url, directory, (storage) => storage.append(numbered(1, 1, user)), options)
      yield* Effect.scoped(Effect.map(opened(url, directory), ({ noteDamage }) => noteDamage("")))
      const cut = `cut-${new Date().toISOString().replaceAll(":", "-")}-1.bytes`
      yield* Effect.promise(() => writeFile(path.join(directory, "journal", cut), user))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { position, storage } = yield* opened(url, directory, options)
          yield* storage.prune(0, 1)
          for (const sequence of [2, 3]) {
            yield* storage.append(numbered(sequence, 1))
            archived.push(position())
          }
          yield* storage.append(numbered(4, 1))
          yield* storage.writeEntries([])
          const aside = path.join("discarded-1", "journal")
          const segment = "00000000000000000001.segment"
          expect(yield* found).toEqual(
            [
              path.join(aside, segment),
              path.join(aside, cut),
              path.join("journal", segment),
              "laurel_journal",
            ].toSorted(),
          )
          yield* storage.prune(3, 0, 2)
          const old = new Date(Date.now() - limits.leftoverKeptMs - 60_000)
          yield* Effect.promise(async () => {
            const everything = await readdir(directory, { recursive: true })
            for (const name of everything) await utimes(path.join(directory, name), old, old)
          })
          const over = yield* Deferred.make<void>()
          yield* Effect.raceFirst(
            removeLeftovers({
              directories: new Map([[1, directory]]),
              whileClosed: () => Effect.asVoid(Deferred.succeed(over, undefined)),
              isOwner: () => true,
              archivesKeptMs: undefined,
            }),
            Deferred.await(over),
          )
          expect(yield* found).toEqual([])
        }),
      )
    }),
  )

  it.live("that is away delays a start; a refused user fails it", () =>
    Effect.gen(function* () {
      const [url, directory] = [yield* cluster, yield* temporaryFolder]
      yield* Effect.promise(() => server.stop())
      const reasons: Array<string> = []
      const starting = yield* Effect.forkChild(
        within(url, directory, (storage) => appendAll(storage, [1]), {
          onWaiting: (why) => reasons.push(why),
        }),
      )
      while (reasons.length === 0) yield* Effect.sleep(5)
      yield* Effect.promise(() => server.start())
      expect(yield* Fiber.join(starting)).toBe(1)
      expect(reasons[0]).toContain("ECONNREFUSED")
      const nowhere = url.replace("postgres?", "nowhere?")
      expect(yield* refusal(opened(nowhere, directory))).toContain('"nowhere" does not exist')
    }),
  )

  it.live("with a damaged or lost row fails the start of a server that needs the row", () =>
    Effect.gen(function* () {
      const url = yield* cluster
      const [one, two] = [yield* temporaryFolder, yield* temporaryFolder]
      yield* within(url, one, (storage) => appendAll(storage, [1, 1, 1]))
      const failure = Effect.map(
        Effect.flip(Effect.scoped(opened(url, two))),
        ({ message }) => message,
      )
      yield* query(url, "CREATE TABLE kept AS SELECT * FROM laurel_journal")
      for (const fault of [
        "UPDATE laurel_journal SET frames = set_byte(frames, 6, 90) WHERE first = 2",
        "DELETE FROM laurel_journal WHERE first = 2",
        "DELETE FROM laurel_journal WHERE first = 3",
      ]) {
        yield* query(url, fault)
        expect(yield* failure).toContain("The journal in PostgreSQL is damaged")
        yield* query(
          url,
          "DELETE FROM laurel_journal; INSERT INTO laurel_journal SELECT * FROM kept",
        )
      }
      // The copy that has the records does not read the rows.
      yield* query(
        url,
        "UPDATE laurel_journal SET frames = set_byte(frames, 6, 90) WHERE first = 2",
      )
      yield* within(url, one, (storage) => appendAll(storage, [1]))
    }),
  )
})
