/** A follower over a copy that is injected: what it makes of looks that fail, and when it may be promoted. */
import { describe, expect, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Fiber } from "effect"

import { Following } from "../../src/cluster/Followers.ts"
import type { OpenedPartition, PreparedPartition } from "../../src/cluster/PreparedPartition.ts"
import { limits } from "../../src/Limits.ts"
import { Broken, Unavailable } from "../../src/storage/Storage.ts"
import { advance } from "./advance.ts"

const opened = { epoch: 7 } as OpenedPartition
const outage = new Unavailable({ operation: "read", reason: "database_away", detail: "no answer" })
const broken = new Broken({ operation: "fold", cause: new Error("no") })

/** A follower whose next looks end as `outcomes` say, and then without a fault. */
const following = (
  outcomes: Array<Effect.Effect<void, unknown>> = [],
  more: Partial<PreparedPartition> = {},
) => {
  let looks = 0
  const one = new Following({
    look: Effect.suspend(() => {
      looks++
      return outcomes.shift() ?? Effect.void
    }),
    progress: () => ({ lastSequence: 5, seen: 8, isTorn: false }),
    failed: Effect.never,
    serve: Effect.succeed(opened),
    ...more,
  })
  return { one, looks: () => looks }
}

describe("A follower", () => {
  it.effect("looks again and again, and has caught up once a look has ended", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { looks, one } = following([Deferred.await(gate)])
      const running = yield* Effect.forkChild(one.run, { startImmediately: true })
      expect([one.isCaughtUp, one.behindRecords, one.lastSequence]).toEqual([false, 3, 5])
      yield* Deferred.succeed(gate, undefined)
      yield* advance(0)
      expect(one.isCaughtUp).toBe(true)
      expect(one.behindSeconds).toBeLessThan(limits.followerCaughtUpMs / 1_000)
      yield* advance(10 * limits.followIntervalMs)
      expect(looks()).toBe(11)
      yield* Fiber.interrupt(running)
    }),
  )

  it.effect("waits for PostgreSQL", () =>
    Effect.gen(function* () {
      const { looks, one } = following([Effect.fail(outage), Effect.fail(outage)])
      const running = yield* Effect.forkChild(one.run, { startImmediately: true })
      expect([looks(), one.isCaughtUp]).toEqual([1, false])
      yield* advance(2 * limits.followIntervalMs)
      expect([looks(), one.isCaughtUp]).toEqual([3, true])
      expect(yield* one.promote.pipe(Effect.scoped)).toBe(opened)
      yield* Fiber.interrupt(running)
    }),
  )

  it.effect("ends with the failure of a look, of its engine or with a defect; no promotion", () =>
    Effect.gen(function* () {
      for (const fault of [
        Effect.fail(broken),
        Effect.fail(new Unavailable({ operation: "mirror", reason: "disk_full" })),
        Effect.die(broken),
      ]) {
        const { looks, one } = following([Effect.void, fault])
        const running = yield* Effect.forkChild(one.run, { startImmediately: true })
        yield* advance(limits.followIntervalMs)
        const cause = yield* Fiber.join(running)
        expect(Cause.isCause(cause)).toBe(true)
        expect(looks()).toBe(2)
        const refused = yield* Effect.flip(Effect.scoped(one.promote))
        expect(String(refused)).toContain("within a batch")
      }
      const { one } = following([], { failed: Effect.succeed(broken) })
      expect(yield* one.run).toBe(broken)
    }),
  )

  it.effect("is promoted after the look that is under way, and looks no more", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const serving = yield* Deferred.make<void>()
      const serve = Effect.as(Deferred.succeed(serving, undefined), opened)
      const { looks, one } = following([Deferred.await(gate)], { serve })
      const running = yield* Effect.forkChild(one.run, { startImmediately: true })
      const promoting = yield* Effect.forkChild(Effect.scoped(one.promote), {
        startImmediately: true,
      })
      yield* advance(1_000)
      expect(Deferred.isDoneUnsafe(serving)).toBe(false)
      yield* Deferred.succeed(gate, undefined)
      expect(yield* Fiber.join(promoting)).toBe(opened)
      yield* advance(1_000)
      expect(looks()).toBe(1)
      yield* Fiber.interrupt(running)
    }),
  )

  it.effect("whose look is interrupted has a part of a batch: it is not promoted", () =>
    Effect.gen(function* () {
      const { one } = following([Effect.never])
      const running = yield* Effect.forkChild(one.run, { startImmediately: true })
      yield* Fiber.interrupt(running)
      const refused = yield* Effect.flip(Effect.scoped(one.promote))
      expect(String(refused)).toContain("within a batch")
    }),
  )
})
