/**
 * A signal that aborts after a time or with an outer signal. React Native has no `AbortSignal.any`.
 */
export interface Limit {
  readonly signal: AbortSignal
  /** Restarts the time. */
  readonly restart: () => void
  /** Stops the time, removes the listener from the outer signal, and aborts `signal`. */
  readonly end: () => void
}

/** Starts a limit of `ms` milliseconds. The caller must `end` it. */
export const limit = (ms: number, outer?: AbortSignal): Limit => {
  const controller = new AbortController()
  const { signal } = controller
  let timer: ReturnType<typeof setTimeout> | undefined
  const abort = () => controller.abort()
  const restart = () => {
    clearTimeout(timer)
    timer = setTimeout(abort, ms)
  }
  const end = () => {
    clearTimeout(timer)
    outer?.removeEventListener("abort", abort)
    abort()
  }
  restart()
  outer?.addEventListener("abort", abort)
  if (outer?.aborted) abort()
  return { signal, restart, end }
}

/** Resolves after `ms` milliseconds, or as soon as `outer` aborts. */
export const pause = (ms: number, outer?: AbortSignal): Promise<void> =>
  new Promise((done) => {
    const { end, signal } = limit(ms, outer)
    const finish = () => {
      end()
      done()
    }
    if (signal.aborted) finish()
    else signal.onabort = finish
  })
