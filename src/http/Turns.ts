/** The event loop, as far as admission needs it. */
export interface Turns {
  /** A clock in milliseconds that never goes back. */
  readonly now: () => number
  /** Calls back after all events of this turn have been handled. */
  readonly atEnd: (callback: () => void) => void
}

export const eventLoop: Turns = {
  now: () => performance.now(),
  atEnd: (callback) => {
    setImmediate(callback)
  },
}
