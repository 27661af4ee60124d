/**
 * A time of faults: the disk is slow, or full for any length of time, actors fail in decide and
 * apply, users are erased meanwhile, and clients continue to send. A request with an id or an
 * Idempotency-Key is sent again until its outcome is known. No caller waits for a full disk without
 * end, and a refused command leaves no user in memory.
 */
import { expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { UserReply } from "../../src/domain/message/UserReply.ts"
import type { LaurelError } from "../../src/domain/values/Errors.ts"
import type { Engine, Idempotency, UserMessage } from "../../src/engine/Engine.ts"
import { limits } from "../../src/Limits.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { event, sandbox } from "../engine/fixture.ts"
import type { Defects } from "./defects.ts"
import type { Random } from "./random.ts"
import type { Trouble } from "./troubledDisk.ts"

export type Outcome = UserReply | LaurelError

/** A command, and its outcome if that is known. */
export interface Sent {
  readonly message: UserMessage
  outcome: Outcome | undefined
}

export interface Surrounded {
  readonly random: Random
  readonly disk: Trouble
  readonly defects: Defects
  readonly engine: () => Engine["Service"]
  readonly message: () => UserMessage
  /** A key that was never used. */
  readonly key: () => Idempotency
  /** How many users there may be. */
  readonly users: number
  /** How many users are in memory. */
  readonly warm: () => number
  readonly now: () => number
  readonly pass: (ms: number) => Effect.Effect<void>
  /** Called when a command is asked. */
  readonly asked: () => void
}

/** The longest time for which a full disk and the restarts of an actor delay an answer. */
const answerMsMax = limits.stalledAnswerMs + 10_000
const stepMs = limits.unavailableRetryMs

/** Lets time pass, in steps small enough that everything happens in its order. */
const passInSteps = Effect.fnUntraced(function* ({ pass }: Surrounded, ms: number) {
  for (let passed = 0; passed < ms; passed += stepMs) {
    yield* pass(Math.min(stepMs, ms - passed))
    for (let turn = 0; turn < 3; turn++) yield* yieldToEventLoop
  }
})

/** Asks until the outcome is known, if a repeat is harmless. */
const client = Effect.fnUntraced(function* (
  run: Surrounded,
  sent: Sent,
  key: Idempotency | undefined,
) {
  const { command } = sent.message
  const mayRepeat = key !== undefined || ("id" in command && command.id !== undefined)
  for (let tries = 0; ; tries++) {
    run.asked()
    const since = run.now()
    const outcome = yield* Effect.match(run.engine().askUser(sandbox, sent.message, key), {
      onSuccess: ({ reply }): Outcome => reply,
      onFailure: (error) => error,
    })
    expect(run.now() - since).toBeLessThanOrEqual(answerMsMax)
    sent.outcome = outcome
    if (!("_tag" in outcome) || !passing.has(outcome.code)) return
    sent.outcome = undefined
    if (!mayRepeat || tries > 400) return
    yield* Effect.sleep(run.random.pick([50, 250, 900, 3_000]))
  }
})

const passing = new Set(["storage_unavailable", "overloaded", "idempotency_in_progress"])

/**
 * Sends commands that are refused, for users who do not exist: at most `warmMax` actors are in
 * memory afterwards.
 */
const ghosts = Effect.fnUntraced(function* (run: Surrounded, warmMax: number) {
  for (let n = 0; n < 10; n++) {
    run.asked()
    const complete = event(`ghost${n}`, "QUEST_COMPLETE", { metadata: { questId: "qst_none" } })
    yield* Effect.flip(run.engine().askUser(sandbox, complete))
  }
  expect(run.warm()).toBeLessThanOrEqual(warmMax)
})

export const trouble = Effect.fnUntraced(function* (run: Surrounded) {
  const { defects, disk, random } = run
  const sent: Array<Sent> = []
  const clients: Array<Fiber.Fiber<void>> = []
  const send = Effect.fnUntraced(function* (count: number) {
    for (let n = 0; n < count; n++) {
      const message = random.chance(0.05)
        ? ({ userId: run.message().userId, command: { kind: "erasure" } } as const)
        : run.message()
      const one: Sent = { message, outcome: undefined }
      sent.push(one)
      // An erasure never has a key: nothing of an erased user is kept.
      const key = message.command.kind !== "erasure" && random.chance(0.4) ? run.key() : undefined
      clients.push(yield* Effect.forkChild(client(run, one, key), { startImmediately: true }))
      if (random.chance(0.4)) yield* yieldToEventLoop
      if (random.chance(0.2)) yield* run.pass(random.integer(1, 60))
    }
  })
  const thrownBefore = defects.thrown
  disk.appendMs = random.pick([0, 0, 1, 30, 400])
  for (let wave = random.integer(1, 4); wave > 0; wave--) {
    if (random.chance(0.6)) {
      // After the first of them are at the disk.
      yield* send(random.integer(0, 5))
      disk.full = true
    }
    if (random.chance(0.4))
      defects.arm(random.pick(["decide", "apply"]), random.integer(1, 6), random.integer(1, 8))
    yield* send(random.integer(1, 8))
    yield* passInSteps(run, random.pick([0, 100, 1_000, 4_000, 7_000, 7_000, 40_000]))
    // A failed actor stays in memory, so that it is not restarted without end.
    if (random.chance(0.3) && !defects.armed) yield* ghosts(run, run.users)
    if (random.chance(0.6)) disk.full = false
    yield* passInSteps(run, random.pick([0, 250, 250, 600, 2_000]))
    yield* send(random.integer(0, 4))
  }
  disk.full = false
  defects.disarm()
  for (let steps = 0; clients.some((one) => one.pollUnsafe() === undefined); steps++) {
    expect(steps).toBeLessThan(1_000)
    yield* passInSteps(run, stepMs)
  }
  for (const one of clients) yield* Fiber.join(one)
  disk.appendMs = 0
  // Background work retries, and an actor that failed too often works again.
  const restMs = defects.thrown > thrownBefore ? limits.actorRestartWindowMs : 0
  yield* passInSteps(run, limits.agendaRetryMs + 1_000 + restMs)
  // No other command is under way, so an actor that a refused command left would show.
  yield* ghosts(run, run.warm())
  return sent
})

/** Shuts the server down while the disk is full: it does not wait for space. */
export const endWithoutSpace = Effect.fnUntraced(function* (
  run: Surrounded,
  messages: ReadonlyArray<UserMessage>,
  close: Effect.Effect<void>,
) {
  const asked = yield* Effect.forEach(messages, (message) =>
    Effect.forkChild(run.engine().askUser(sandbox, message), { startImmediately: true }),
  )
  if (run.random.chance(0.5)) yield* yieldToEventLoop
  run.disk.full = true
  if (run.random.chance(0.5)) yield* passInSteps(run, run.random.pick([300, 6_000]))
  const closed = yield* Effect.forkChild(close, { startImmediately: true })
  for (let steps = 0; closed.pollUnsafe() === undefined; steps++) {
    expect(steps * stepMs).toBeLessThan(answerMsMax)
    yield* passInSteps(run, stepMs)
  }
  yield* Fiber.join(closed)
  for (const one of asked) yield* Fiber.interrupt(one)
})
