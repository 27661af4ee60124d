/** The event loop, as far as admission needs it. */
export interface Turns {
  /** Milliseconds that only grow. */
  readonly now: () => number
  /** Calls back when all that this turn brought has been looked at. */
  readonly atEnd: (callback: () => void) => void
}

export const eventLoop: Turns = {
  now: () => performance.now(),
  atEnd: (callback) => {
    setImmediate(callback)
  },
}
