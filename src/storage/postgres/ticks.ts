/**
 * The times at which all partitions of a process ask PostgreSQL: at once, so that one statement
 * answers them (`PartitionRows.ts`).
 */
import { Effect } from "effect"
import { monotonicMs } from "../disk/Deadline.ts"

/** Ends with the next multiple of an interval, on a clock that only goes forward. */
export const nextTick = (intervalMs: number): Effect.Effect<void> =>
  Effect.flatMap(monotonicMs, (nowMs) => {
    const past = nowMs % intervalMs
    // A timer does not count parts of a millisecond: too early, it would end twice.
    return Effect.sleep(Math.ceil(intervalMs - past))
  })
