/**
 * How long a runner that has the lock of a partition may take to serve it. A runner whose disk is full or fails would keep
 * the lock, and no other runner could take over: after `openingMs`, or `openingFailuresMax` failures in a row, it gives the
 * lock to the others, and does not ask for it again for as long.
 *
 * Both times double with each time that the lock was given away: a long opening gets its time, and two runners that both
 * cannot open it pass it on ever more rarely. They are as they were once it has served.
 *
 * One failure to write, or a damaged copy, is enough: another attempt would fail as well. Copies of the same data fill disks of the same size at the
 * same time. So the lock is asked for again after `unwritablePauseMs`, always: callers wait for the first runner with space.
 */

import { Effect } from "effect"
import { limits } from "../Limits.ts"
import { directoryPartition } from "./DirectoryTable.ts"

/** `again`: another attempt may succeed; `unwritable`: its directory takes no writes now, or has a damaged copy that is filled again; `ends`: the process is to end. */
export type OpeningFailure = "again" | "unwritable" | "ends"

export class Opening {
  readonly #now: () => number
  #allowedMs: number = limits.openingMs
  #since: number | undefined
  #failures = 0
  #isUnwritable = false
  #pausesUntil = Number.NEGATIVE_INFINITY

  /** `now`: milliseconds, on a clock that only goes forward. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** It has the lock, and does not serve. */
  begins(): void {
    this.#since ??= this.#now()
  }

  /** Whether this is news: a full disk may last for hours. */
  failed(failure: OpeningFailure): boolean {
    const wasUnwritable = this.#isUnwritable
    this.#failures++
    this.#isUnwritable = failure === "unwritable"
    return !(wasUnwritable && this.#isUnwritable)
  }

  /** Time until the next attempt: each opening of a full disk costs as much as one that succeeds. */
  get retryMs(): number {
    if (!this.#isUnwritable) return limits.clusterRetryMs
    return Math.min(limits.clusterRetryMs * 2 ** (this.#failures - 1), limits.unwritablePauseMs)
  }

  /** It serves. */
  succeeded(): void {
    this.lockLost()
    this.#allowedMs = limits.openingMs
  }

  lockLost(): void {
    this.#since = undefined
    this.#failures = 0
    this.#isUnwritable = false
  }

  /** Another runner is to try. */
  get isOverdue(): boolean {
    if (this.#since === undefined) return false
    return (
      this.#isUnwritable ||
      this.#failures >= limits.openingFailuresMax ||
      this.#now() - this.#since >= this.#allowedMs
    )
  }

  gaveAway(): void {
    if (this.#isUnwritable) {
      this.#pausesUntil = this.#now() + limits.unwritablePauseMs
      return
    }
    this.#pausesUntil = this.#now() + this.#allowedMs
    this.#allowedMs = Math.min(this.#allowedMs * 2, limits.openingMsMax)
  }

  /** It gave the lock away and leaves it to other runners. */
  get pauses(): boolean {
    return this.#now() < this.#pausesUntil
  }
}

/*
 * Bounds how many partitions a runner opens at once: each opening recovers, checks and folds a data directory, and all of them
 * share processor, disk and memory.
 *
 * - Of those that wait, the lowest number goes first. Partition 1 waits for none: without its directory no other one answers.
 * - Owners and followers have turns of their own: an owner does not wait for a copy that is filled. A follower that is promoted
 *   needs none: it is open.
 */

interface Waiting {
  readonly partition: number
  readonly begin: () => void
}

export class OpeningTurns {
  readonly #max: number
  #open = 0
  #waiting: ReadonlyArray<Waiting> = []

  /** `max`: partitions that are opened at once. */
  constructor(max: number) {
    this.#max = max
  }

  /** Runs `open` when it is the partition's turn, which ends with it. */
  readonly within = <A, E, R>(
    partition: number,
    open: Effect.Effect<A, E, R>,
  ): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      // Outside of the opening, which may be interrupted in the moment in which its turn comes.
      let hasTurn = false
      const begin = () => {
        hasTurn = true
        this.#open++
      }
      const turn = Effect.suspend(() => {
        if (partition !== directoryPartition && this.#open >= this.#max) {
          return this.#wait(partition, begin)
        }
        begin()
        return Effect.void
      })
      return Effect.ensuring(
        Effect.andThen(turn, open),
        Effect.sync(() => {
          if (hasTurn) this.#end()
        }),
      )
    })

  #wait(partition: number, take: () => void): Effect.Effect<void> {
    return Effect.callback((resume) => {
      const waiting: Waiting = {
        partition,
        begin: () => {
          leave()
          take()
          resume(Effect.void)
        },
      }
      const leave = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting)
      }
      this.#waiting = [...this.#waiting, waiting].sort(
        (one, other) => one.partition - other.partition,
      )
      return Effect.sync(leave)
    })
  }

  #end(): void {
    this.#open--
    if (this.#open < this.#max) this.#waiting[0]?.begin()
  }
}

/** Of a runner. */
export interface PartitionTurns {
  readonly owners: OpeningTurns
  readonly followers: OpeningTurns
}

export const makePartitionTurns = (): PartitionTurns => ({
  owners: new OpeningTurns(limits.openingsAtOnceMax),
  followers: new OpeningTurns(limits.openingsAtOnceMax),
})
