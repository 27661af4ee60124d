/** The partitions on one runner: which of them it serves, follows, takes and gives away. */
import { Effect, type Scope } from "effect"
import type { Followers } from "./Followers.ts"
import type { Follows, Owners } from "./Owners.ts"
import type { Partition } from "./Partition.ts"
import { anyRunner, type PlacementOptions } from "./Placement.ts"
import type { PartitionHandler } from "./PreparedPartition.ts"
import type { PartitionLock } from "./RunnerLocks.ts"
import type { Shares } from "./Shares.ts"

type Part = Pick<
  Partition,
  "handler" | "requests" | "following" | "opening" | "leave" | "freeze" | "run"
>

export interface PartitionsOptions {
  readonly owners: Pick<Owners, "of">
  readonly followers: Pick<Followers, "isAlone" | "mayTake">
  readonly shares: Pick<Shares, "heirOf" | "most">
  /** The address of this runner. */
  readonly address: string
  /**
   * Whether an open partition may answer: the copy of the directory that authenticates its requests
   * must be current.
   */
  readonly mayAnswer: (partition: number) => boolean
}

export class Partitions
  implements Pick<PlacementOptions, "mayTake" | "givesAway" | "gaveAway" | "run">
{
  readonly #all: ReadonlyArray<Part>
  readonly #options: PartitionsOptions

  /** `all` begins with partition 1. */
  constructor(all: ReadonlyArray<Part>, options: PartitionsOptions) {
    this.#all = all
    this.#options = options
  }

  of(number: number): Part {
    return this.#all[number - 1]!
  }

  /** Answers the requests of a partition. `undefined` while this runner does not serve it. */
  handlerOf(number: number): PartitionHandler | undefined {
    const handler = this.#all[number - 1]?.handler
    return handler !== undefined && this.#options.mayAnswer(number) ? handler : undefined
  }

  /**
   * How far this runner follows. Leaves out partitions that it could not open, so that no partition
   * moves here that would fail again.
   */
  get follows(): ReadonlyArray<Follows> {
    return this.#all.flatMap(({ following, opening }, index) => {
      if (following === undefined || opening.pauses) return []
      const { behindSeconds, lastSequence } = following
      return [{ partition: index + 1, behindSeconds, lastSequence }]
    })
  }

  readonly mayTake = (number: number, held: number): boolean => {
    const { address, followers, owners, shares } = this.#options
    const { following, opening } = this.of(number)
    // Another runner gave the partition to this one: no other runner takes it.
    const isHeir = owners.of(number)?.address === address
    if (opening.pauses && !isHeir && !followers.isAlone(number)) return false
    return followers.mayTake(number, following?.isCaughtUp === true, held < shares.most)
  }

  readonly givesAway = (number: number): string | undefined => {
    const { followers, shares } = this.#options
    const isOverdue = this.of(number).opening.isOverdue && !followers.isAlone(number)
    return isOverdue ? anyRunner : shares.heirOf(number)
  }

  readonly gaveAway = (number: number, heir: string): void => {
    if (heir === anyRunner) this.of(number).opening.gaveAway()
  }

  readonly run = (number: number, lock: PartitionLock): Effect.Effect<never, never, Scope.Scope> =>
    this.of(number).run(lock)

  /**
   * Called at the end of the process. All partitions `leave` before any is frozen, because what one
   * partition writes may go to another partition of this runner. Each partition has its own time to
   * finish.
   */
  get handOver(): Effect.Effect<void> {
    const together = { concurrency: "unbounded", discard: true } as const
    const leave = this.#all.map((part) => part.leave)
    const freeze = this.#all.map((part) => part.freeze)
    return Effect.andThen(Effect.all(leave, together), Effect.all(freeze, together))
  }
}
