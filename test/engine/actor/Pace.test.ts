import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { laurelError } from "../../../src/domain/values/Errors.ts"
import { Pace } from "../../../src/engine/actor/Pace.ts"
import { limits } from "../../../src/Limits.ts"
import { yieldToEventLoop } from "../../../src/storage/yieldToEventLoop.ts"

type Parts = ConstructorParameters<typeof Pace>[0]
type Each = Parts["requests"]["each"]

const refusal = laurelError("conflict", "Refused.")

/** A pace over actors that answer when the test says so. */
const paced = (hot: ReadonlyArray<string> = []) => {
  const answers = { unanswered: 0 }
  const released: Array<string> = []
  const begun: Array<{ readonly userIds: ReadonlyArray<string>; readonly answer: () => void }> = []
  const users = new Map(hot.map((userId) => [userId, { userId }]))
  const each = ((_environment, messages, given, over) => {
    const userIds = messages.map(({ userId }) => userId)
    answers.unanswered += userIds.length
    for (const userId of userIds) users.set(userId, { userId })
    begun.push({
      userIds,
      answer: () => {
        for (const index of userIds.keys()) {
          answers.unanswered--
          pace.answered()
          given(index, refusal)
        }
        over()
      },
    })
  }) as Each
  const parts = {
    answers,
    requests: { each },
    environments: { of: () => ({ users }) },
    actorCache: { release: ({ userId }: { userId: string }) => void released.push(userId) },
  }
  const pace: Pace = new Pace(parts as unknown as Parts)
  const ask = (count: number, of = "user") =>
    pace.refusals(
      "env",
      Array.from({ length: count }, (_, n) => ({
        userId: `${of}${n}`,
        command: { kind: "tick" } as const,
      })),
    )
  return { answers, ask, begun, pace, released }
}

/** More turns than any group needs to begin. */
const someTurns = Effect.gen(function* () {
  for (let turn = 0; turn < 20; turn++) yield* yieldToEventLoop
})

const group = limits.backgroundGroupUsersMax
const groups = limits.backgroundGroupsMax

describe("The pace of background work", () => {
  it.effect(
    "asks in groups, each in a turn of its own, and gives each refusal the index of its message",
    () =>
      Effect.gen(function* () {
        const { ask, begun } = paced()
        const asked = yield* Effect.forkChild(ask(2 * group + 1), { startImmediately: true })
        expect(begun).toHaveLength(0)
        for (let turn = 1; turn <= 3; turn++) {
          yield* yieldToEventLoop
          expect(begun).toHaveLength(turn)
        }
        expect(begun.map(({ userIds }) => userIds.length)).toEqual([group, group, 1])
        for (const { answer } of [...begun].reverse()) answer()
        const indexes = Array.from({ length: 2 * group + 1 }, (_, index) => index)
        expect(yield* Fiber.join(asked)).toEqual(
          indexes.map((index) => ({ index, error: refusal })),
        )
      }),
  )

  it.effect("has at most backgroundGroupsMax groups without an answer", () =>
    Effect.gen(function* () {
      const { ask, begun } = paced()
      for (const of of ["ada", "bob"]) {
        yield* Effect.forkChild(ask(groups * group, of), { startImmediately: true })
      }
      yield* someTurns
      expect(begun).toHaveLength(groups)
      begun[0]!.answer()
      yield* someTurns
      expect(begun).toHaveLength(groups + 1)
    }),
  )

  it.effect("begins no group while a command of others has no answer", () =>
    Effect.gen(function* () {
      const { answers, ask, begun, pace } = paced()
      answers.unanswered++
      yield* Effect.forkChild(ask(1), { startImmediately: true })
      yield* yieldToEventLoop
      yield* yieldToEventLoop
      expect(begun).toHaveLength(0)
      answers.unanswered--
      pace.answered()
      yield* yieldToEventLoop
      expect(begun).toHaveLength(1)
    }),
  )

  it.effect("begins a group after backgroundWaitMs under a load that never ends", () =>
    Effect.gen(function* () {
      const { answers, ask, begun, pace } = paced()
      answers.unanswered++
      const startedAt = performance.now()
      yield* Effect.forkChild(ask(1), { startImmediately: true })
      while (begun.length === 0) {
        pace.answered()
        yield* yieldToEventLoop
      }
      // A timer of Node may fire up to a millisecond early.
      expect(performance.now() - startedAt).toBeGreaterThan(limits.backgroundWaitMs - 1.5)
    }),
  )

  it.effect("begins no group of a caller who was interrupted", () =>
    Effect.gen(function* () {
      const { ask, begun } = paced()
      const asked = yield* Effect.forkChild(ask(1), { startImmediately: true })
      yield* Fiber.interrupt(asked)
      yield* someTurns
      expect(begun).toHaveLength(0)
    }),
  )

  it.effect("releases the users who were not decoded before, and no others", () =>
    Effect.gen(function* () {
      const { ask, begun, released } = paced(["user1"])
      yield* Effect.forkChild(ask(3), { startImmediately: true })
      yield* someTurns
      begun[0]!.answer()
      expect(released).toEqual(["user0", "user2"])
    }),
  )
})
