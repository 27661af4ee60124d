/**
 * Decides the moves of an environment's test clock. A caller starts an advance. Then the engine
 * moves the time in steps, each to the next moment at which something becomes due
 * (`engine/time/TestClocks.ts`), and ends the advance when all that became due is decided.
 *
 * Invariant: `aheadMs` never falls (`assertForward`), so the environment's time never goes back.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { isAdvancing, type ProjectState, type TestClock, timeIn } from "../project/Project.ts"
import { invalidRequest, refuse } from "../values/Errors.ts"
import { isoTime } from "../values/isoTime.ts"
import type { Decided } from "./Decided.ts"

/** Starts an advance of the environment's time to `to`, epoch milliseconds. */
export interface AdvanceClock {
  readonly kind: "advanceClock"
  readonly to: number
}

/** Moves the environment's time to `to`, which everything due before must precede. */
export interface StepClock {
  readonly kind: "stepClock"
  /** Epoch milliseconds, at most the target; absent: the target is reached, and the advance ends. */
  readonly to?: number
}

/** `at` is the server's time. The target of the latest advance again changes nothing. */
export const advanceClock = (
  state: ProjectState,
  { to }: AdvanceClock,
  at: number,
): Decided<"invalid_request" | "conflict"> => {
  const { testClock } = state
  if (testClock?.target === to) return Result.succeed([])
  if (isAdvancing(state)) {
    return refuse("conflict", `The clock is advancing to ${isoTime(testClock!.target)}. Wait.`)
  }
  const now = timeIn(state, at)
  if (to <= now) return outOfRange(`must be after the environment's time, ${isoTime(now)}`)
  const latest = at + limits.testClockAheadMsMax
  if (to > latest) return outOfRange(`must be at most ${isoTime(latest)}`)
  return moved({ aheadMs: now - at, target: to, status: "advancing" })
}

const outOfRange = (detail: string) =>
  Result.fail(invalidRequest([{ pointer: "/advanceTo", code: "out_of_range", detail }]))

export const stepClock = (
  state: ProjectState,
  { to }: StepClock,
  at: number,
): Decided<"conflict"> => {
  const { testClock } = state
  if (testClock === undefined || !isAdvancing(state)) return notAdvancing
  const now = timeIn(state, at)
  if (to === undefined) {
    return now < testClock.target ? tooEarly : moved({ ...testClock, status: "ready" })
  }
  // The server's time may have passed `to` meanwhile.
  return moved({ ...testClock, aheadMs: Math.max(now, Math.min(to, testClock.target)) - at })
}

const moved = (testClock: TestClock) =>
  Result.succeed([{ kind: "testClock.moved", ...testClock } as const])

const notAdvancing = refuse("conflict", "The clock is not advancing.")
const tooEarly = refuse("conflict", "The clock has not reached its target.")
