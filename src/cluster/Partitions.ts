/** The partitions on one runner: which it answers for, follows, takes and gives away. */
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
  /** Of this runner. */
  readonly address: string
  /** Whether a partition that is open may answer: this runner knows who may enter. */
  readonly mayAnswer: (partition: number) => boolean
}

export class Partitions
  implements Pick<PlacementOptions, "mayTake" | "givesAway" | "gaveAway" | "run">
{
  readonly #all: ReadonlyArray<Part>
  readonly #options: PartitionsOptions

  /** `all`: the first one is partition 1. */
  constructor(all: ReadonlyArray<Part>, options: PartitionsOptions) {
    this.#all = all
    this.#options = options
  }

  of(number: number): Part {
    return this.#all[number - 1]!
  }

  /** Who answers for a partition; `undefined`: not this runner, now. */
  handlerOf(number: number): PartitionHandler | undefined {
    const handler = this.#all[number - 1]?.handler
    return handler !== undefined && this.#options.mayAnswer(number) ? handler : undefined
  }

  /** How far this runner follows. Nothing is moved to one that could not open the partition. */
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
    // The owner of record is this runner where another one gave it the partition: nobody else takes it.
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
   * For the end of the process. All leave at once, and only then all are frozen: what some record is for another one here.
   * Each has its own time to finish.
   */
  get handOver(): Effect.Effect<void> {
    const together = { concurrency: "unbounded", discard: true } as const
    const leave = this.#all.map((part) => part.leave)
    const freeze = this.#all.map((part) => part.freeze)
    return Effect.andThen(Effect.all(leave, together), Effect.all(freeze, together))
  }
}
