/** The duration of `run`, and the longest time between two iterations of the event loop meanwhile. */
export const watched = async (
  run: () => Promise<unknown>,
): Promise<{ readonly ms: number; readonly turnMs: number }> => {
  let last = performance.now()
  let turnMs = 0
  let isOver = false
  const look = () => {
    turnMs = Math.max(turnMs, performance.now() - last)
    last = performance.now()
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  const startedAt = performance.now()
  await run()
  const ms = performance.now() - startedAt
  isOver = true
  return { ms, turnMs }
}
