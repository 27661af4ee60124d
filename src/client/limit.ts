/** A signal that aborts with another one, or after so many milliseconds. Not `AbortSignal.any`, which React Native lacks. */
export interface Limit {
  readonly signal: AbortSignal
  /** Begins the time again. */
  readonly restart: () => void
  /** Aborts what is still running, and lets go of the other signal. */
  readonly end: () => void
}

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

/** Resolves after so many milliseconds, or as soon as `outer` aborts. */
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
