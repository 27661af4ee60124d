/**
 * Bounds the time that a runner may take to serve a partition once it has the lock. A runner with a
 * full or failing disk would otherwise keep the lock, and no other runner could take over. After
 * `openingMs`, or after `openingFailuresMax` failures in a row, the runner gives the partition
 * away, and does not ask for the lock again for the same time.
 *
 * Both times double each time the runner gives the partition away. So an opening that takes long
 * gets the time it needs, and two runners that both cannot open the partition exchange it less and
 * less often. Both times are reset once the runner has served.
 *
 * One failed write, a damaged copy, or a copy that no archive here fills, is enough, because another
 * attempt would fail as well. Here the pause is always `unwritablePauseMs`: copies of the same data
 * fill disks of the same size at the same time, and callers wait for the first runner with free
 * space.
 */

import { Effect } from "effect"
import { limits } from "../Limits.ts"
import { directoryPartition } from "./DirectoryTable.ts"

/**
 * - `again`: another attempt may succeed.
 * - `unwritable`: the directory takes no writes now, has a damaged copy that will be filled again,
 *   or has a copy that no archive on this machine fills.
 * - `ends`: the process will end.
 */
export type OpeningFailure = "again" | "unwritable" | "ends"

export class Opening {
  readonly #now: () => number
  #allowedMs: number = limits.openingMs
  #since: number | undefined
  #failures = 0
  #isUnwritable = false
  #pausesUntil = Number.NEGATIVE_INFINITY

  /** `now`: milliseconds of a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** The runner has the lock and does not serve yet. Repeated calls keep the first time. */
  begins(): void {
    this.#since ??= this.#now()
  }

  /** Returns whether the failure is worth a log line: a disk may stay full for hours. */
  failed(failure: OpeningFailure): boolean {
    const wasUnwritable = this.#isUnwritable
    this.#failures++
    this.#isUnwritable = failure === "unwritable"
    return !(wasUnwritable && this.#isUnwritable)
  }

  /**
   * The time until the next attempt. Grows on a full disk, because a failed opening costs as much
   * as a successful one.
   */
  get retryMs(): number {
    if (!this.#isUnwritable) return limits.clusterRetryMs
    return Math.min(limits.clusterRetryMs * 2 ** (this.#failures - 1), limits.unwritablePauseMs)
  }

  /** The runner serves. */
  succeeded(): void {
    this.lockLost()
    this.#allowedMs = limits.openingMs
  }

  lockLost(): void {
    this.#since = undefined
    this.#failures = 0
    this.#isUnwritable = false
  }

  /** Whether another runner should try. */
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

  /** Whether the runner leaves the lock to other runners, after it gave the partition away. */
  get pauses(): boolean {
    return this.#now() < this.#pausesUntil
  }
}

/*
 * Bounds how many partitions a runner opens at once. Each opening recovers, checks and folds a data
 * directory, and all openings share the processor, the disk and memory.
 *
 * - The lowest partition number goes first. Partition 1 never waits: without its directory no other
 *   partition answers.
 * - Owners and followers have separate turns, so an owner does not wait for a copy that is being
 *   filled. A follower that is promoted needs no turn, because it is open already.
 */

interface Waiting {
  readonly partition: number
  readonly begin: () => void
}

export class OpeningTurns {
  readonly #max: number
  #open = 0
  #waiting: ReadonlyArray<Waiting> = []

  /** `max`: the number of partitions that may be opened at once. */
  constructor(max: number) {
    this.#max = max
  }

  /** Runs `open` when it is the partition's turn. The turn ends when `open` ends. */
  readonly within = <A, E, R>(
    partition: number,
    open: Effect.Effect<A, E, R>,
  ): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      // `open` may be interrupted at the moment its turn comes, so the turn is tracked out here.
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

/** The turns of one runner. */
export interface PartitionTurns {
  readonly owners: OpeningTurns
  readonly followers: OpeningTurns
}

export const makePartitionTurns = (): PartitionTurns => ({
  owners: new OpeningTurns(limits.openingsAtOnceMax),
  followers: new OpeningTurns(limits.openingsAtOnceMax),
})
