/**
 * A partition on a runner, over engines that are injected: its follower, and what becomes of it
 * with the lock.
 */
import { describe, expect, it, vi } from "@effect/vitest"
import { type Cause, Deferred, Effect, Fiber, Scope } from "effect"
import type { OpeningFailure } from "../../src/cluster/Opening.ts"
import { OpeningTurns } from "../../src/cluster/Opening.ts"
import { Partition } from "../../src/cluster/Partition.ts"
import type {
  OpenedPartition,
  PartitionHandler,
  PreparedPartition,
} from "../../src/cluster/PreparedPartition.ts"
import { limits } from "../../src/Limits.ts"
import { advance } from "./advance.ts"

const handlerOf = (): PartitionHandler => {
  const handler: PartitionHandler = {
    handle: () => {},
    inFlight: 0,
    requests: 0,
    draining: false,
    drain: () => {
      handler.draining = true
    },
  } as unknown as PartitionHandler
  return handler
}

/** How an engine that is prepared behaves. */
interface Behaviour {
  readonly open?: Effect.Effect<void, unknown>
  readonly look?: Effect.Effect<void, unknown>
  readonly failed?: Effect.Effect<unknown>
  readonly serve?: Effect.Effect<void, unknown>
  /** Whether `serve` has claimed the partition, or left a part of a batch. */
  readonly isTorn?: () => boolean
  /** Whether no other runner has claimed it since. */
  readonly resumes?: boolean
}

const setUp = Effect.fnUntraced(function* (behaviours: Array<Behaviour> = [], number = 1) {
  const turns = { owners: new OpeningTurns(1), followers: new OpeningTurns(1) }
  const happened: Array<string> = []
  const given = {
    isFollower: true,
    isHeld: true,
    failures: [] as Array<Cause.Cause<unknown>>,
    failure: "again" as OpeningFailure,
    /** As the engine asks, before it claims. */
    hasLock: undefined as Effect.Effect<boolean, unknown> | undefined,
    /** The engine that was prepared last cannot go on. */
    lose: (_why: "fenced" | "damaged"): void => {},
    /** Whether it took requests each time that it said so. */
    announced: [] as Array<boolean>,
  }
  let prepared = 0
  const prepare: Effect.Effect<PreparedPartition, unknown, Scope.Scope> = Effect.gen(function* () {
    const number = ++prepared
    const {
      failed = Effect.never,
      isTorn = () => false,
      look = Effect.void,
      open = Effect.void,
      resumes = true,
      serve = Effect.void,
    } = behaviours[number - 1] ?? {}
    yield* open
    happened.push(`opens ${number}`)
    yield* Effect.addFinalizer(() => Effect.sync(() => happened.push(`closes ${number}`)))
    const lost = yield* Deferred.make<"fenced" | "damaged">()
    given.lose = (why) => Deferred.doneUnsafe(lost, Effect.succeed(why))
    const opened: OpenedPartition = {
      handler: handlerOf(),
      epoch: number,
      isOwner: Effect.succeed(true),
      resume: Effect.sync(() => {
        happened.push(`resumes ${number}`)
        return resumes
      }),
      lost: Deferred.await(lost),
      leave: Effect.sync(() => happened.push(`leaves ${number}`)),
    }
    return {
      look,
      failed,
      progress: () => ({ lastSequence: 0, seen: 0, isTorn: isTorn() }),
      serve: Effect.andThen(
        Effect.sync(() => happened.push(`serves ${number}`)),
        Effect.as(serve, opened),
      ),
    }
  })
  const scope = yield* Scope.make()
  const partition: Partition = yield* Scope.provide(
    Partition.make({
      number,
      turns,
      lockExpirationMs: 300_000,
      prepare: (hasLock) => {
        given.hasLock = hasLock(() => Effect.succeed([]))
        return prepare
      },
      onFailed: (cause) => {
        given.failures.push(cause)
        return given.failure
      },
      onServing: () => given.announced.push(partition.handler !== undefined),
      isFollower: () => given.isFollower,
    }),
    scope,
  )
  /** With the lock, until the fiber is interrupted. */
  const running = Effect.suspend(() =>
    partition.run({ isHeld: () => given.isHeld, hasLock: () => Effect.succeed(true) }),
  )
  const lock = Effect.forkChild(Effect.scoped(running), { startImmediately: true })
  return { partition, happened, given, lock, scope, turns }
})

describe("A partition whose lock was lost", () => {
  it.effect("is not to be claimed", () =>
    Effect.gen(function* () {
      const { given, lock } = yield* setUp()
      given.isFollower = false
      const running = yield* lock
      yield* advance(0)
      const asked = given.hasLock!
      expect(yield* asked).toBe(true)
      yield* Fiber.interrupt(running)
      expect(yield* asked).toBe(false)
    }),
  )

  it.effect("resumes as the owner with the lock, unless another runner has claimed it", () =>
    Effect.gen(function* () {
      const { given, happened, lock } = yield* setUp()
      given.isFollower = false
      const first = yield* lock
      yield* advance(0)
      yield* Fiber.interrupt(first)
      yield* lock
      yield* advance(0)
      expect(happened).toEqual(["opens 1", "serves 1", "resumes 1"])
      expect(given.announced).toEqual([true, true])
      const { given: other, happened: later, lock: again } = yield* setUp([{ resumes: false }])
      other.isFollower = false
      const second = yield* again
      yield* advance(0)
      yield* Fiber.interrupt(second)
      yield* again
      yield* advance(limits.clusterRetryMs)
      expect(later).toEqual(["opens 1", "serves 1", "resumes 1", "closes 1", "opens 2", "serves 2"])
    }),
  )
})

describe("A partition that is served", () => {
  it.effect(
    "answers nothing while another runner may have claimed it, and resumes afterwards",
    () =>
      Effect.gen(function* () {
        const { given, happened, lock, partition } = yield* setUp()
        given.isFollower = false
        yield* lock
        yield* advance(0)
        expect(partition.handler).toBeDefined()
        given.isHeld = false
        expect(partition.handler).toBe(undefined)
        given.isHeld = true
        expect(partition.handler).toBeDefined()
        expect(happened).toEqual(["opens 1", "serves 1"])
      }),
  )
})

describe("A partition that its owner cannot open", () => {
  it.effect("is overdue after some failures, and not once it is served", () =>
    Effect.gen(function* () {
      const fails = { serve: Effect.fail("no space") }
      const { given, lock, partition } = yield* setUp([fails, fails, fails])
      given.isFollower = false
      yield* lock
      yield* advance(0)
      expect([given.failures.length, partition.opening.isOverdue]).toEqual([1, false])
      for (let more = 1; more < limits.openingFailuresMax; more++) {
        yield* advance(limits.clusterRetryMs)
      }
      expect([given.failures.length, partition.opening.isOverdue]).toEqual([3, true])
      yield* advance(limits.clusterRetryMs)
      expect([partition.epoch, partition.opening.isOverdue]).toEqual([4, false])
    }),
  )

  it.effect("is overdue at once without space, and served as soon as there is some", () =>
    Effect.gen(function* () {
      const fails = { serve: Effect.fail("no space") }
      const { given, lock, partition } = yield* setUp([fails, fails])
      given.failure = "unwritable"
      given.isFollower = false
      yield* lock
      yield* advance(0)
      expect([given.failures.length, partition.opening.isOverdue]).toEqual([1, true])
      yield* advance(limits.clusterRetryMs)
      expect(given.failures.length).toBe(2)
      yield* advance(2 * limits.clusterRetryMs)
      expect([partition.epoch, partition.opening.isOverdue]).toEqual([3, false])
    }),
  )

  it.effect("is let go in the midst of an opening, which closes all of it", () =>
    Effect.gen(function* () {
      const hangs = { serve: Effect.never }
      const { given, happened, lock, partition } = yield* setUp([hangs])
      given.isFollower = false
      const running = yield* lock
      yield* settle
      yield* Fiber.interrupt(running)
      expect(happened).toEqual(["opens 1", "serves 1", "closes 1"])
      expect(partition.opening.isOverdue).toBe(false)
      yield* lock
      yield* settle
      expect(partition.epoch).toBe(2)
    }),
  )
})

/** Once an opening that has begun by now has had its time. */
const isOverdueLater = ({ opening }: Partition): boolean => {
  const later = performance.now() + limits.openingMs
  const now = vi.spyOn(performance, "now").mockReturnValue(later)
  const { isOverdue } = opening
  now.mockRestore()
  return isOverdue
}

const settle = advance(limits.followCheckMs)

describe("A partition that this runner follows", () => {
  it.effect("is served by the engine that followed", () =>
    Effect.gen(function* () {
      const { given, happened, lock, partition } = yield* setUp()
      yield* settle
      expect(partition.following?.isCaughtUp).toBe(true)
      expect([partition.handler, partition.epoch]).toEqual([undefined, undefined])
      given.isFollower = false
      yield* lock
      yield* settle
      expect(partition.handler?.draining).toBe(false)
      expect([partition.epoch, partition.following]).toEqual([1, undefined])
      yield* advance(2 * limits.followOverMs)
      expect(happened).toEqual(["opens 1", "serves 1"])
    }),
  )

  it.effect("is opened again, at once, where the follower cannot be promoted", () =>
    Effect.gen(function* () {
      const serve = Effect.fail("outdated")
      const { given, happened, lock, partition } = yield* setUp([{ serve }])
      yield* settle
      yield* lock
      yield* advance(0)
      expect(partition.epoch).toBe(2)
      expect(happened).toEqual(["opens 1", "serves 1", "closes 1", "opens 2", "serves 2"])
      expect(given.failures).toEqual([])
    }),
  )

  it.effect("is opened again for its owner where the follower stopped within a batch", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void, string>()
      const { happened, lock, partition } = yield* setUp([{ look: Deferred.await(gate) }])
      yield* settle
      yield* lock
      yield* Deferred.fail(gate, "a part of a batch")
      yield* settle
      expect(partition.epoch).toBe(2)
      expect(happened).toEqual(["opens 1", "closes 1", "opens 2", "serves 2"])
    }),
  )

  it.effect(
    "continues to follow if the lock is lost before the claim, and is promoted with the next lock",
    () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        let looks = 0
        const look = Effect.sync(() => {
          looks++
        })
        const { happened, lock, partition } = yield* setUp([{ look, serve: Deferred.await(gate) }])
        yield* settle
        const { following } = partition
        const running = yield* lock
        yield* settle
        yield* Fiber.interrupt(running)
        expect(partition.following).toBe(following)
        const before = looks
        yield* advance(2 * limits.followIntervalMs)
        expect(looks).toBeGreaterThan(before)
        expect(following?.isCaughtUp).toBe(true)
        yield* lock
        yield* Deferred.succeed(gate, undefined)
        yield* settle
        expect([partition.epoch, partition.following]).toEqual([1, undefined])
        expect(happened).toEqual(["opens 1", "serves 1", "serves 1"])
      }),
  )

  it.effect("is opened again if the lock is lost after the claim began, or within a batch", () =>
    Effect.gen(function* () {
      const { happened, lock, partition } = yield* setUp([
        { serve: Effect.never, isTorn: () => true },
      ])
      yield* settle
      const running = yield* lock
      yield* settle
      yield* Fiber.interrupt(running)
      expect(partition.following).toBe(undefined)
      yield* advance(4 * limits.followCheckMs)
      expect(happened).toEqual(["opens 1", "serves 1", "closes 1", "opens 2"])
    }),
  )

  it.effect("is opened by its owner where the follower could not be opened", () =>
    Effect.gen(function* () {
      const damaged = { open: Effect.fail("its directory is damaged") }
      const { given, happened, lock, partition } = yield* setUp([damaged, damaged])
      yield* settle
      expect(partition.following).toBe(undefined)
      yield* lock
      yield* advance(0)
      expect(given.failures.length).toBe(1)
      yield* advance(limits.clusterRetryMs)
      expect([partition.epoch, given.failures.length]).toEqual([3, 1])
      expect(happened).toEqual(["opens 3", "serves 3"])
    }),
  )

  it.effect("has its leftovers removed only while it is closed, and is not opened meanwhile", () =>
    Effect.gen(function* () {
      const { given, happened, lock, partition } = yield* setUp()
      yield* settle
      let removals = 0
      const remove = Effect.sync(() => {
        removals++
      })
      yield* partition.whileClosed(remove)
      given.isFollower = false
      yield* advance(2 * limits.followOverMs)
      expect(removals).toBe(0)
      const gate = yield* Deferred.make<void>()
      yield* Effect.forkChild(partition.whileClosed(Effect.andThen(remove, Deferred.await(gate))))
      yield* settle
      expect(removals).toBe(1)
      yield* lock
      yield* settle
      expect(happened.splice(0)).toEqual(["opens 1", "closes 1"])
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      expect(happened).toEqual(["opens 2", "serves 2"])
      yield* partition.whileClosed(remove)
      expect(removals).toBe(1)
    }),
  )

  it.effect("whose copy is damaged is closed, left to another runner, and else opened again", () =>
    Effect.gen(function* () {
      const { given, happened, lock, partition } = yield* setUp()
      given.isFollower = false
      yield* lock
      yield* settle
      expect(happened.splice(0)).toEqual(["opens 1", "serves 1"])
      given.lose("fenced")
      yield* settle
      expect(partition.opening.isOverdue).toBe(false)
      yield* advance(limits.clusterRetryMs)
      expect(happened.splice(0)).toEqual(["closes 1", "opens 2", "serves 2"])
      given.lose("damaged")
      yield* settle
      expect(partition.handler).toBe(undefined)
      expect(partition.opening.isOverdue).toBe(true)
      yield* advance(limits.clusterRetryMs)
      expect(happened).toEqual(["closes 2", "opens 3", "serves 3"])
      expect(partition.opening.isOverdue).toBe(false)
    }),
  )

  it.effect("is left to another runner while the follower takes long to open, which goes on", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { happened, lock, partition } = yield* setUp([{ open: Deferred.await(gate) }])
      yield* settle
      const running = yield* lock
      yield* settle
      expect(partition.opening.isOverdue).toBe(false)
      expect(isOverdueLater(partition)).toBe(true)
      yield* Fiber.interrupt(running)
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      expect(partition.following?.isCaughtUp).toBe(true)
      expect(happened).toEqual(["opens 1"])
    }),
  )

  it.effect("is followed again after a failure, later each time, until it has caught up", () =>
    Effect.gen(function* () {
      const fails = { look: Effect.fail("behind what PostgreSQL keeps") }
      const gate = yield* Deferred.make<unknown>()
      const { happened, partition } = yield* setUp([
        fails,
        { look: Effect.never, failed: Effect.succeed("its disk failed") },
        { failed: Deferred.await(gate) },
      ])
      yield* settle
      expect(happened.splice(0)).toEqual(["opens 1", "closes 1"])
      yield* advance(limits.followRetryMs - limits.followCheckMs)
      expect(happened.splice(0)).toEqual(["opens 2", "closes 2"])
      yield* advance(2 * limits.followRetryMs - 1)
      expect(happened.splice(0)).toEqual([])
      yield* advance(1)
      expect(happened.splice(0)).toEqual(["opens 3"])
      expect(partition.following?.isCaughtUp).toBe(true)
      yield* Deferred.succeed(gate, "its disk failed")
      yield* advance(limits.followRetryMs)
      expect(happened).toEqual(["closes 3", "opens 4"])
    }),
  )

  it.effect("is closed when another runner follows for a while, and with the process", () =>
    Effect.gen(function* () {
      const { given, happened, partition, scope } = yield* setUp()
      yield* settle
      given.isFollower = false
      yield* advance(limits.followCheckMs)
      given.isFollower = true
      yield* advance(2 * limits.followOverMs)
      expect(happened.splice(0)).toEqual(["opens 1"])
      given.isFollower = false
      yield* advance(limits.followOverMs - limits.followCheckMs)
      expect(happened).toEqual([])
      yield* advance(2 * limits.followCheckMs)
      expect(partition.following).toBe(undefined)
      given.isFollower = true
      yield* settle
      expect(happened).toEqual(["closes 1", "opens 2"])
      yield* Scope.close(scope, yield* Effect.exit(Effect.void))
      expect(happened).toEqual(["closes 1", "opens 2", "closes 2"])
    }),
  )

  it.effect("is not opened twice: the owner waits for the follower that is being opened", () =>
    Effect.gen(function* () {
      const { happened, lock, partition } = yield* setUp()
      const running = yield* lock
      yield* settle
      expect(happened).toEqual(["opens 1", "serves 1"])
      expect(partition.following).toBe(undefined)
      yield* Fiber.interrupt(running)
      expect(partition.handler).toBe(undefined)
      yield* lock
      yield* settle
      expect(happened).toEqual(["opens 1", "serves 1", "resumes 1"])
    }),
  )
})

describe("While another partition is opened", () => {
  /** Takes the only turn, until the fiber is interrupted. */
  const open = (turns: OpeningTurns) =>
    Effect.forkChild(turns.within(3, Effect.never), { startImmediately: true })

  it.effect("one with the lock waits for its turn, and is not overdue meanwhile", () =>
    Effect.gen(function* () {
      const { given, happened, lock, partition, turns } = yield* setUp([], 2)
      given.isFollower = false
      const other = yield* open(turns.owners)
      yield* lock
      yield* settle
      expect([happened, isOverdueLater(partition)]).toEqual([[], false])
      yield* Fiber.interrupt(other)
      yield* settle
      expect(happened).toEqual(["opens 1", "serves 1"])
    }),
  )

  it.effect("one whose lock is lost gives its turn up", () =>
    Effect.gen(function* () {
      const { given, happened, lock, turns } = yield* setUp([], 2)
      given.isFollower = false
      const other = yield* open(turns.owners)
      const running = yield* lock
      yield* settle
      yield* Fiber.interrupt(running)
      yield* Fiber.interrupt(other)
      yield* turns.owners.within(3, Effect.void)
      expect(happened).toEqual([])
    }),
  )

  it.effect("a follower is promoted at once", () =>
    Effect.gen(function* () {
      const { happened, lock, turns } = yield* setUp([], 2)
      yield* settle
      yield* open(turns.owners)
      yield* lock
      yield* settle
      expect(happened).toEqual(["opens 1", "serves 1"])
    }),
  )

  it.effect("a follower waits for its turn, and an owner does not wait with it", () =>
    Effect.gen(function* () {
      const { happened, lock, partition, turns } = yield* setUp([], 2)
      yield* open(turns.followers)
      yield* settle
      expect([happened, partition.following]).toEqual([[], undefined])
      yield* lock
      yield* settle
      expect(happened).toEqual(["opens 1", "serves 1"])
    }),
  )
})
