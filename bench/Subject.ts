/** The servers that a bench measures: Laurel, bare `node:http`, and the peers. */
import type { Running } from "./children.ts"
import type { Ending } from "./load/family.ts"
import type { Target } from "./load/wrk.ts"

export interface Subject extends Running<Target> {
  readonly name: string
  /** Processes whose processor time, with that of their descendants, counts. */
  readonly roots: ReadonlyArray<number>
  /** Fails unless the events that were answered are there; `unread` more may be. */
  readonly check: (answered: number, unread: number) => Promise<void>
}

/** A subject whose data outlives its process. */
export interface Stored extends Subject {
  /** One event of each of so many new users, by its best way. Resolves with the number of refusals. */
  readonly load: (users: number) => Promise<number>
  /** Returns when everything is in its lasting form: what is written later than a reply, or again. */
  readonly settle: () => Promise<void>
  /** Their files are what its events need on disk. */
  readonly folders: ReadonlyArray<string>
  readonly end: (how: Ending) => Promise<void>
  /** After an end. It may not answer yet when this returns. */
  readonly startAgain: () => Promise<void>
}
