/**
 * A copy that follows the owner in PostgreSQL: what it takes over, what makes it end, and its way
 * to be the owner.
 */
import { readdir } from "node:fs/promises"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, type Scope } from "effect"
import { limits } from "../../../src/Limits.ts"
import { type Disk, DiskError, type DiskFile } from "../../../src/storage/disk/Disk.ts"
import { nodeDisk } from "../../../src/storage/disk/NodeDisk.ts"
import * as DurableStorage from "../../../src/storage/durable/DurableStorage.ts"
import { type ClusterStorageOptions, follow } from "../../../src/storage/postgres/ClusterStorage.ts"
import { encodeValue } from "../../../src/storage/SealedValue.ts"
import type { StoredRecord } from "../../../src/storage/Storage.ts"
import { expectRecords, numbered } from "../records.ts"
import { temporaryFolder } from "../temporaryFolder.ts"
import { Postgres } from "./Postgres.ts"

let server: Postgres
let schemas = 0
beforeAll(async () => {
  server = await Postgres.make()
})
afterAll(() => server.remove())

const makeSchema = Effect.promise(() => server.schema(`follow_${++schemas}`))
const query = (text: string) => Effect.promise(() => server.query(text, `follow_${schemas}`))

/** Repeats what a busy machine answers late, as the product does. */
const patient = <A, E extends { readonly _tag: string }, R>(call: Effect.Effect<A, E, R>) =>
  Effect.retry(call, { while: ({ _tag }) => _tag === "Unavailable" })

/** A copy, and the records that it was given, in order. */
const copyAt = Effect.fnUntraced(function* (
  url: string,
  directory: string,
  more: Partial<ClusterStorageOptions> = {},
) {
  const opened = yield* follow({ url, directory, partition: 1, owner: directory, ...more })
  const folded: Array<number> = []
  const fold = (records: ReadonlyArray<StoredRecord>) =>
    Effect.sync(() => {
      folded.push(...records.map(({ sequence }) => sequence))
    })
  let last = 0
  /** Appends batches of so many records, as the owner. */
  const append = Effect.fnUntraced(function* (counts: ReadonlyArray<number>, padding = "") {
    for (const count of counts) {
      yield* patient(opened.storage.append(numbered(last + 1, count, padding)))
      last += count
    }
    return last
  })
  const claim = Effect.tap(patient(opened.claim(fold)), () =>
    Effect.sync(() => {
      last = opened.storage.lastSequence
    }),
  )
  const lookOnce = opened.look(fold)
  return {
    ...opened,
    claimBy: opened.claim,
    folded,
    lookOnce,
    look: patient(lookOnce),
    claim,
    append,
  }
})

const upTo = (last: number, first = 1) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index)

/** An owner with some records, and a copy that has them. */
const pair = Effect.gen(function* () {
  const url = yield* makeSchema
  const [one, two] = [yield* temporaryFolder, yield* temporaryFolder]
  const owner = yield* copyAt(url, one)
  yield* owner.claim
  yield* owner.append([2, 1])
  const follower = yield* copyAt(url, two)
  yield* follower.look
  expect(follower.folded).toEqual([1, 2, 3])
  return { url, one, two, owner, follower }
})

const outdated = <A, E extends { readonly _tag: string; readonly message: string }>(
  look: Effect.Effect<A, E, Scope.Scope>,
) =>
  Effect.map(Effect.flip(look), (error) => {
    expect(error._tag).toBe("Outdated")
    return error.message
  })

describe("A copy that follows", () => {
  it.live("takes over what the owner appends, and writes nothing to PostgreSQL", () =>
    Effect.gen(function* () {
      const { follower, one, owner } = yield* pair
      const last = yield* owner.append(Array(2 * limits.postgresReadRows).fill(1))
      expect(follower.progress()).toEqual({ lastSequence: 3, seen: 3, isTorn: false })
      yield* follower.look
      expect(follower.folded).toEqual(upTo(last))
      expect(follower.progress()).toEqual({ lastSequence: last, seen: last, isTorn: false })
      yield* expectRecords(follower.storage, 1, last)
      const refused = yield* Effect.flip(follower.storage.append(numbered(last + 1, 1)))
      expect(refused).toMatchObject({ _tag: "Broken", cause: { message: "not the owner" } })
      const before = yield* query("SELECT * FROM laurel_partition")
      // Pruning is for its own files.
      yield* follower.storage.writeEntries([])
      yield* follower.storage.prune(last, 0, last)
      expect(yield* query("SELECT * FROM laurel_partition")).toEqual(before)
      expect(before).toMatchObject([{ owner: one, epoch: "1", last: String(last) }])
      yield* owner.append([1])
    }),
  )

  it.live("takes over each change of the tables of webhooks, also of the next owner", () =>
    Effect.gen(function* () {
      const { follower, owner, url } = yield* pair
      const key = Buffer.from("key")
      const changes = (by: typeof owner, value: string) =>
        Effect.gen(function* () {
          const entry = { table: "outbox", key, value: encodeValue(Buffer.from(value)) } as const
          yield* patient(by.storage.writeEntries([entry]))
          while (true) {
            yield* follower.look
            const found = yield* follower.storage.readEntry("outbox", key)
            if (found !== undefined && Buffer.from(found).equals(entry.value)) return
          }
        })
      yield* changes(owner, "one")
      yield* changes(owner, "two")
      const next = yield* copyAt(url, yield* temporaryFolder)
      yield* next.claim
      yield* changes(next, "three")
    }),
  )

  it.live("is the owner after its claim, with all acknowledged records", () =>
    Effect.gen(function* () {
      const { follower, owner, two } = yield* pair
      let acknowledged = 3
      const writer = yield* Effect.forkChild(
        Effect.gen(function* () {
          while (true) acknowledged = yield* owner.append([1])
        }),
      )
      while (acknowledged < 40) yield* follower.look
      yield* follower.claim
      expect((yield* Effect.flip(Fiber.join(writer)))._tag).toBe("Fenced")
      expect(follower.folded).toEqual(upTo(acknowledged))
      yield* follower.append([2, 1])
      yield* expectRecords(follower.storage, 1, acknowledged + 3)
      const [row] = yield* query("SELECT epoch, owner FROM laurel_partition")
      expect(row).toEqual({ epoch: "2", owner: two })
    }),
  )

  it.live("is fenced by the next owner, and follows it as a new copy", () =>
    Effect.gen(function* () {
      const { follower, owner, url } = yield* pair
      yield* Effect.scoped(
        Effect.gen(function* () {
          const third = yield* copyAt(url, yield* temporaryFolder)
          yield* follower.claim
          yield* follower.append([1])
          yield* third.claim
          yield* third.append([1])
          for (const former of [owner, follower]) {
            expect((yield* Effect.flip(former.append([1])))._tag).toBe("Fenced")
          }
          const again = yield* copyAt(url, yield* temporaryFolder)
          yield* again.look
          expect(again.folded).toEqual(upTo(5))
        }),
      )
    }),
  )

  it.live("fails as unavailable during an outage, and then continues", () =>
    Effect.gen(function* () {
      const { follower, owner } = yield* pair
      yield* Effect.promise(() => server.stop())
      const failure = yield* Effect.flip(follower.lookOnce)
      expect(failure).toMatchObject({
        _tag: "Unavailable",
        reason: "database_away",
        detail: expect.any(String),
      })
      yield* Effect.promise(() => server.start())
      yield* owner.append([1])
      yield* follower.look
      expect(follower.folded).toEqual([1, 2, 3, 4])
    }),
  )

  it.live("is outdated if PostgreSQL lacks its records or the records that it needs next", () =>
    Effect.gen(function* () {
      const { follower, owner } = yield* pair
      yield* owner.append([1, 1])
      yield* query("CREATE TABLE p AS SELECT * FROM laurel_partition")
      const back = "DELETE FROM laurel_partition; INSERT INTO laurel_partition SELECT * FROM p"
      const faults = [
        ["UPDATE laurel_partition SET last = 2", "PostgreSQL ends with 2"],
        ["UPDATE laurel_partition SET last = 3", "last record is not PostgreSQL's"],
        ["UPDATE laurel_partition SET lineage = 'x'", "another cluster"],
        ["DELETE FROM laurel_partition", "no such partition"],
      ] as const
      for (const [fault, words] of faults) {
        yield* query(fault)
        expect(yield* outdated(follower.look)).toContain(words)
        expect(yield* outdated(follower.claim)).toContain(words)
        yield* query(back)
      }
      // It lags behind what PostgreSQL keeps.
      yield* query("DELETE FROM laurel_journal WHERE first <= 4")
      expect(yield* outdated(follower.look)).toContain(
        "ends with record 3, and PostgreSQL begins with 5",
      )
      expect(follower.folded).toEqual([1, 2, 3])
      const [row] = yield* query("SELECT epoch FROM laurel_partition")
      expect(row).toEqual({ epoch: "1" })
    }),
  )

  it.live("fails at a damaged row, and claims nothing", () =>
    Effect.gen(function* () {
      const { follower, owner } = yield* pair
      yield* owner.append([1, 1, 1])
      yield* query("UPDATE laurel_journal SET frames = set_byte(frames, 9, 255) WHERE first = 5")
      for (const call of [follower.look, follower.claim]) {
        const error = yield* Effect.flip(call)
        expect(error).toMatchObject({ _tag: "Broken", message: expect.stringContaining("damaged") })
      }
      const [row] = yield* query("SELECT epoch FROM laurel_partition")
      expect(row).toEqual({ epoch: "1" })
    }),
  )

  it.live(
    "continues to follow after a claim that was interrupted before it reached PostgreSQL",
    () =>
      Effect.gen(function* () {
        const { owner, url } = yield* pair
        const reached = yield* Deferred.make<void>()
        let isFit: Effect.Effect<void> = Effect.andThen(
          Deferred.succeed(reached, undefined),
          Effect.never,
        )
        const beforeClaim = () => Effect.suspend(() => isFit)
        const follower = yield* copyAt(url, yield* temporaryFolder, { beforeClaim })
        const claiming = yield* Effect.forkChild(follower.claim)
        yield* Deferred.await(reached)
        yield* owner.append([2])
        yield* Fiber.interrupt(claiming)
        expect(follower.progress().isTorn).toBe(false)
        yield* follower.look
        isFit = Effect.void
        yield* follower.claim
        expect(follower.folded).toEqual(upTo(5))
        yield* follower.append([1])
      }),
  )

  it.live("is torn by an interruption within a batch or within a claim", () =>
    Effect.gen(function* () {
      const { follower, owner } = yield* pair
      yield* owner.append([2])
      const begun = yield* Deferred.make<void>()
      const within = follower.claimBy(() =>
        Effect.andThen(Deferred.succeed(begun, undefined), Effect.never),
      )
      const claiming = yield* Effect.forkChild(within)
      yield* Deferred.await(begun)
      expect(follower.progress().isTorn).toBe(false)
      yield* Fiber.interrupt(claiming)
      expect(follower.progress().isTorn).toBe(true)
      expect(owner.progress().isTorn).toBe(true)
    }),
  )

  it.live("of another lineage is moved aside, and filled from PostgreSQL", () =>
    Effect.gen(function* () {
      const other = yield* temporaryFolder
      const elsewhere = yield* makeSchema
      yield* Effect.scoped(
        Effect.gen(function* () {
          const owner = yield* copyAt(elsewhere, other)
          yield* owner.claim
          yield* owner.append([4, 3])
        }),
      )
      const { url } = yield* pair
      const copy = yield* copyAt(url, other)
      yield* copy.look
      expect(copy.folded).toEqual([1, 2, 3])
      expect(yield* Effect.promise(() => readdir(other))).toContain("discarded-1")
    }),
  )
})

/** A disk whose journal takes nothing while it is full. */
const fillingDisk = () => {
  const state = { isFull: false }
  const disk: Disk = {
    ...nodeDisk,
    open: (where, mode, how) =>
      Effect.map(
        nodeDisk.open(where, mode, how),
        (file): DiskFile => ({
          path: file.path,
          read: (position, into) => file.read(position, into),
          write: (position, pieces) =>
            state.isFull
              ? Effect.fail(new DiskError({ operation: "write", path: "", code: "ENOSPC" }))
              : file.write(position, pieces),
          truncate: (bytes) => file.truncate(bytes),
          size: file.size,
          sync: file.sync,
          close: file.close,
        }),
      ),
  }
  return { state, disk }
}

/** An owner, and the directory and disk of a copy that follows. */
const ownerWithFillingDisk = Effect.gen(function* () {
  const url = yield* makeSchema
  const [one, two] = [yield* temporaryFolder, yield* temporaryFolder]
  const owner = yield* copyAt(url, one)
  yield* owner.claim
  return { url, two, owner, ...fillingDisk() }
})

describe("A full disk of a copy that follows", () => {
  it.live("stops it when too many bytes wait for the disk; with space it catches up", () =>
    Effect.gen(function* () {
      const { disk, owner, state, two, url } = yield* ownerWithFillingDisk
      const padding = "x".repeat(1_000_000)
      const each = numbered(1, 1, padding).frames.length
      const taken = Math.ceil(limits.mirrorPendingBytesMax / each)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const follower = yield* copyAt(url, two, { disk })
          state.isFull = true
          yield* owner.append(Array(taken + 2).fill(1), padding)
          const looking = yield* Effect.forkChild(follower.look)
          while (follower.folded.length < taken) yield* Effect.sleep(5)
          // Longer than the copy waits before it looks at the disk again.
          yield* Effect.sleep(50)
          expect(follower.progress()).toMatchObject({ lastSequence: taken, seen: taken + 2 })
          expect(looking.pollUnsafe()).toBe(undefined)
          state.isFull = false
          yield* Fiber.join(looking)
          expect(follower.folded).toEqual(upTo(taken + 2))
        }),
      )
      const { position } = yield* DurableStorage.open({ directory: two })
      expect(position().lastSequence).toBe(taken + 2)
    }),
  )

  it.live("delays its tables of webhooks, but not its records", () =>
    Effect.gen(function* () {
      const { disk, owner, state, two, url } = yield* ownerWithFillingDisk
      const follower = yield* copyAt(url, two, { disk })
      yield* follower.look
      state.isFull = true
      const key = Buffer.from("key")
      yield* owner.append([1])
      yield* patient(
        owner.storage.writeEntries([
          { table: "outbox", key, value: encodeValue(Buffer.from("value")) },
        ]),
      )
      // Several of these find that the tables have changed.
      const looksEndAt = performance.now() + 2.5 * limits.followWebhooksMs
      while (performance.now() < looksEndAt) {
        yield* follower.lookOnce
        yield* Effect.sleep(50)
      }
      expect(follower.folded).toEqual([1])
      expect(follower.progress().isTorn).toBe(false)
      state.isFull = false
      while ((yield* follower.storage.readEntry("outbox", key)) === undefined) {
        yield* follower.lookOnce
        yield* Effect.sleep(20)
      }
    }).pipe(Effect.scoped),
  )
})
