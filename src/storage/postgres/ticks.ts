/**
 * Common times at which all partitions of a process ask PostgreSQL, so that one statement answers
 * all of them (`PartitionRows.ts`).
 */
import { Effect } from "effect"
import { monotonicMs } from "../disk/Deadline.ts"

/** Ends at the next multiple of an interval on the monotonic clock. */
export const nextTick = (intervalMs: number): Effect.Effect<void> =>
  Effect.flatMap(monotonicMs, (nowMs) => {
    const past = nowMs % intervalMs
    // Rounds up, since timers ignore fractions of a millisecond: a timer that fires early would
    // make one tick two.
    return Effect.sleep(Math.ceil(intervalMs - past))
  })
