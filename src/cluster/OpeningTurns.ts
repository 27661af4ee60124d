/**
 * Bounds how many partitions a runner opens at once: each opening recovers, checks and folds a data directory, and all of them
 * share processor, disk and memory.
 *
 * - Of those that wait, the lowest number goes first. Partition 1 waits for none: without its directory no other one answers.
 * - Owners and followers have turns of their own: an owner does not wait for a copy that is filled. A follower that is promoted
 *   needs none: it is open.
 */
import { Effect } from "effect"
import { limits } from "../Limits.ts"
import { directoryPartition } from "./DirectoryTable.ts"

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
