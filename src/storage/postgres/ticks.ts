/** The times at which all partitions of a process ask PostgreSQL: at once, so that one statement answers them (`PartitionRows.ts`). */
import { Clock, Effect } from "effect"

/** Ends with the next multiple of an interval, on a clock that only goes forward. */
export const nextTick = (intervalMs: number): Effect.Effect<void> =>
  Effect.flatMap(Clock.monotonicTimeNanos, (nanos) => {
    const past = (Number(nanos) / 1e6) % intervalMs
    // A timer does not count parts of a millisecond: too early, it would end twice.
    return Effect.sleep(Math.ceil(intervalMs - past))
  })
