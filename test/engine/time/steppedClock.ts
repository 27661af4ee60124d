import { Clock, Effect } from "effect"

/**
 * The virtual clock as a machine's clock that `step` sets; the monotonic clock and timers do not
 * change.
 */
export const steppedClock = Effect.map(Clock.Clock, (clock) => {
  let aheadMs = 0
  const currentTimeMillisUnsafe = () => clock.currentTimeMillisUnsafe() + aheadMs
  const stepped: Clock.Clock = Object.create(clock, {
    currentTimeMillisUnsafe: { value: currentTimeMillisUnsafe },
    currentTimeMillis: { value: Effect.sync(currentTimeMillisUnsafe) },
  })
  const step = (ms: number): void => {
    aheadMs += ms
  }
  return { clock: stepped, step }
})
