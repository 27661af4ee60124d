/** The flushes of local files that are written without one. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { type Disk, DiskError, type DiskFile, type OnDisk } from "../../../src/storage/disk/Disk.ts"
import { UnflushedDisk } from "../../../src/storage/postgres/UnflushedDisk.ts"

/** A disk whose calls begin and end as a test says, and how many flushes it was asked for. */
const steeredDisk = () => {
  const calls = { syncs: 0, closes: 0 }
  const next: { write: OnDisk<void>; sync: OnDisk<void> } = {
    write: Effect.void,
    sync: Effect.void,
  }
  const file: DiskFile = {
    path: "/file",
    write: () => Effect.suspend(() => next.write),
    read: () => Effect.succeed(0),
    truncate: () => Effect.void,
    size: Effect.succeed(0),
    sync: Effect.suspend(() => {
      calls.syncs++
      return next.sync
    }),
    close: Effect.sync(() => {
      calls.closes++
    }),
  }
  const { disk, flush } = new UnflushedDisk({ open: () => Effect.succeed(file) } as unknown as Disk)
  return { calls, next, flush, open: disk.open("/file", "create", { durable: true }) }
}

const started = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.forkChild(effect, { startImmediately: true })

const failure = new DiskError({ operation: "sync", path: "/file", code: "EIO" })

describe("A file that is written without a flush", () => {
  it.effect("is flushed once after its last write", () =>
    Effect.gen(function* () {
      const { calls, flush, open } = steeredDisk()
      const file = yield* open
      yield* flush
      expect(calls.syncs).toBe(0)
      yield* file.write(0, [])
      yield* flush
      yield* flush
      expect(calls.syncs).toBe(1)
      yield* file.truncate(0)
      yield* flush
      expect(calls.syncs).toBe(2)
    }),
  )

  it.effect("is still due after a flush that began during a write to it", () =>
    Effect.gen(function* () {
      const { calls, flush, next, open } = steeredDisk()
      const file = yield* open
      yield* file.write(0, [])
      const written = yield* Deferred.make<void>()
      next.write = Deferred.await(written)
      const writing = yield* started(file.write(0, []))
      yield* flush
      yield* Deferred.succeed(written, undefined)
      yield* Fiber.join(writing)
      yield* flush
      expect(calls.syncs).toBe(2)
    }),
  )

  it.effect("is still due after a write that ended during a flush", () =>
    Effect.gen(function* () {
      const { calls, flush, next, open } = steeredDisk()
      const file = yield* open
      yield* file.write(0, [])
      const synced = yield* Deferred.make<void>()
      next.sync = Deferred.await(synced)
      const flushing = yield* started(flush)
      yield* file.write(0, [])
      yield* Deferred.succeed(synced, undefined)
      yield* Fiber.join(flushing)
      yield* flush
      expect(calls.syncs).toBe(2)
    }),
  )

  it.effect("makes a second flush wait while the first is in progress", () =>
    Effect.gen(function* () {
      const { calls, flush, next, open } = steeredDisk()
      const file = yield* open
      yield* file.write(0, [])
      const synced = yield* Deferred.make<void>()
      next.sync = Deferred.await(synced)
      yield* started(flush)
      const second = yield* started(flush)
      expect(second.pollUnsafe()).toBeUndefined()
      yield* Deferred.succeed(synced, undefined)
      yield* Fiber.join(second)
      expect(calls.syncs).toBe(1)
    }),
  )

  it.effect("is not flushed again after a failed flush, by a waiting or a later call", () =>
    Effect.gen(function* () {
      const { calls, flush, next, open } = steeredDisk()
      const file = yield* open
      yield* file.write(0, [])
      const synced = yield* Deferred.make<void, DiskError>()
      next.sync = Deferred.await(synced)
      const first = yield* started(flush)
      const second = yield* started(flush)
      yield* Deferred.fail(synced, failure)
      next.sync = Effect.void
      for (const fiber of [first, second]) {
        expect(yield* Fiber.await(fiber)).toEqual(Exit.fail(failure))
      }
      expect(yield* Effect.exit(flush)).toEqual(Exit.fail(failure))
      expect(calls.syncs).toBe(1)
    }),
  )

  it.effect("is closed also if its last flush fails, and no later flush succeeds", () =>
    Effect.gen(function* () {
      const { calls, flush, next, open } = steeredDisk()
      const file = yield* open
      yield* file.write(0, [])
      next.sync = Effect.fail(failure)
      expect(yield* Effect.exit(file.close)).toEqual(Exit.fail(failure))
      expect(calls.closes).toBe(1)
      next.sync = Effect.void
      expect(yield* Effect.exit(flush)).toEqual(Exit.fail(failure))
    }),
  )
})
