import { Clock, Effect } from "effect"

/** Milliseconds of a clock that only goes forward. */
export const monotonicMs: Effect.Effect<number> = Effect.map(
  Clock.monotonicTimeNanos,
  (nanos) => Number(nanos) / 1e6,
)
