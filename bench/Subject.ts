/** The servers that a bench measures: Laurel, bare `node:http`, and the peers. */
import type { Running } from "./children.ts"
import type { Ending } from "./load/family.ts"
import type { Target } from "./load/wrk.ts"

export interface Subject extends Running<Target> {
  readonly name: string
  /** It has the replies that only Laurel gives. */
  readonly isLaurel?: boolean
  /** Processes whose processor time, with that of their descendants, counts. */
  readonly roots: ReadonlyArray<number>
  /** Fails unless the answered events are stored, and at most `unread` more. */
  readonly check: (answered: number, unread: number) => Promise<void>
}

/** A subject whose data outlives its process. */
export interface Stored extends Subject {
  /**
   * Sends one event of each of so many new users, in the fastest way. Resolves with the number of
   * refusals.
   */
  readonly load: (users: number) => Promise<number>
  /**
   * Returns when all data has its final form on disk: some is written after the reply, or
   * rewritten.
   */
  readonly settle: () => Promise<void>
  /** The folders that hold its events on disk. */
  readonly folders: ReadonlyArray<string>
  readonly end: (how: Ending) => Promise<void>
  /** Starts it again after an end. It may not answer yet when this returns. */
  readonly startAgain: () => Promise<void>
}
