/**
 * Balances the partitions over the live runners, one move at a time.
 *
 * - All runners compute the same next move without messages, because it depends only on the owners,
 *   the runners and the published loads (`Loads.ts`).
 * - First by load: of all moves that are worth the pause (`loadGapShare`, `loadGapTimes`), the move
 *   that reduces the sum of the squares of the runners' loads most. Then by number: if the runner
 *   with the most partitions has at least two more than the runner with the fewest, the least
 *   loaded of its partitions moves, unless the load would then justify the move back. So the moves
 *   come to an end.
 * - The receiving runner follows the partition first. The owner gives the partition away once that
 *   follower has all records. If the receiving runner cannot follow, the partition stays where it
 *   is.
 * - Moves begin once the set of runners has not changed for `movePauseMs` and each partition has a
 *   live owner. So runners that come and go, as in a rolling restart, cause few moves. Each move
 *   waits until no owner has changed for `moveRestMs`, so the previous move has ended.
 *
 * Cost: each call compares every partition of a runner with every other runner.
 */
import { limits } from "../Limits.ts"
import type { Owners } from "./Owners.ts"

export interface SharesOptions {
  readonly owners: Pick<Owners, "of" | "runners" | "isCaughtUp"> & {
    readonly loads: Pick<Owners["loads"], "of">
  }
  /** The address of this runner. */
  readonly address: string
  readonly partitions: number
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number
}

/** The addresses of two runners. */
export interface Move {
  readonly partition: number
  readonly from: string
  readonly to: string
}

export class Shares {
  readonly #options: SharesOptions
  readonly #now: () => number
  readonly #runners = new Settled()
  readonly #places = new Settled()

  constructor(options: SharesOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /** How many partitions a runner takes while other runners could take them as well. */
  get most(): number {
    const { owners, partitions } = this.#options
    return Math.ceil(partitions / Math.max(1, owners.runners.length))
  }

  /**
   * The next move. `undefined`: the shares are even, or owners or runners have changed recently.
   */
  get move(): Move | undefined {
    const { owners, partitions } = this.#options
    const { runners } = owners
    const owned = new Map(runners.map((address): [string, Array<number>] => [address, []]))
    const places: Array<string> = []
    for (let partition = 1; partition <= partitions; partition++) {
      const { address, epoch } = owners.of(partition) ?? { address: "", epoch: 0 }
      places.push(`${address} ${epoch}`)
      const of = owned.get(address)
      if (of === undefined) {
        // The partition has no live owner: it must get one before anything moves.
        this.#runners.unsettle()
        return undefined
      }
      of.push(partition)
    }
    const now = this.#now()
    const runnersMs = this.#runners.sameMs(runners.join(), now)
    const placesMs = this.#places.sameMs(places.join(), now)
    if (runnersMs < limits.movePauseMs || placesMs < limits.moveRestMs) return undefined
    const moves = movesOf(owned, (partition) => owners.loads.of(partition))
    return moves.byLoad ?? moves.byCount
  }

  /** The runner to which this runner must give the partition now, if any. */
  heirOf(partition: number): string | undefined {
    const { address, owners } = this.#options
    const { move } = this
    if (move?.partition !== partition || move.from !== address) return undefined
    return owners.isCaughtUp(partition, move.to) ? move.to : undefined
  }

  /** Whether the next move gives the partition to this runner, which must follow it first. */
  isHeir(partition: number): boolean {
    const { move } = this
    return move?.partition === partition && move.to === this.#options.address
  }
}

/** A move, and how much it reduces the sum of the squares of the runners' loads. */
interface Gain extends Move {
  readonly gain: number
  readonly load: number
}

interface Moves {
  readonly byLoad: Move | undefined
  readonly byCount: Move | undefined
}

/**
 * The best move by load and the best move by number. `owned`: the partitions of each runner, in
 * order.
 */
const movesOf = (
  owned: ReadonlyMap<string, ReadonlyArray<number>>,
  measured: (partition: number) => number,
): Moves => {
  const sum = (partitions: ReadonlyArray<number>, of = measured): number =>
    partitions.reduce((total, partition) => total + of(partition), 0)
  const isIdle = sum([...owned.values()].flat()) < limits.loadMin
  const loadOf = isIdle ? () => 0 : measured
  const loads = new Map([...owned].map(([runner, partitions]) => [runner, sum(partitions, loadOf)]))
  const mean = sum([...owned.values()].flat(), loadOf) / owned.size
  const isWorthIt = (gap: number, load: number): boolean =>
    load > 0 && gap >= Math.max(limits.loadGapTimes * load, limits.loadGapShare * mean)
  const gapOf = (from: string, to: string): number => loads.get(from)! - loads.get(to)!
  const gainOf = (partition: number, from: string, to: string): Gain => {
    const load = loadOf(partition)
    return { partition, from, to, load, gain: 2 * load * (gapOf(from, to) - load) }
  }
  const best = (gains: ReadonlyArray<Gain>, order: (one: Gain, other: Gain) => number) => {
    // Partition 1 has the directory, and moves last.
    const others = gains.filter(({ partition }) => partition > 1)
    return [...(others.length > 0 ? others : gains)].sort(
      (one, other) => order(one, other) || other.partition - one.partition,
    )[0]
  }
  const moveOf = (gain: Gain | undefined): Move | undefined =>
    gain && { partition: gain.partition, from: gain.from, to: gain.to }

  const gains: Array<Gain> = []
  for (const [from, partitions] of owned) {
    for (const to of owned.keys()) {
      if (to === from) continue
      for (const partition of partitions) {
        if (isWorthIt(gapOf(from, to), loadOf(partition))) gains.push(gainOf(partition, from, to))
      }
    }
  }
  const byLoad = moveOf(best(gains, (one, other) => other.gain - one.gain))

  const sorted = [...owned].sort(([, one], [, other]) => one.length - other.length)
  const [to, fewest] = sorted[0] ?? ["", []]
  const [from, most] = sorted.at(-1) ?? ["", []]
  if (most.length - fewest.length < 2) return { byLoad, byCount: undefined }
  const harmless = most
    .map((partition) => gainOf(partition, from, to))
    .filter(({ load }) => !isWorthIt(2 * load - gapOf(from, to), load))
  return { byLoad, byCount: moveOf(best(harmless, (one, other) => one.load - other.load)) }
}

/** Measures how long a value has not changed. */
class Settled {
  #seen: string | undefined
  #since = 0

  unsettle(): void {
    this.#seen = undefined
  }

  sameMs(seen: string, now: number): number {
    if (seen !== this.#seen) {
      this.#seen = seen
      this.#since = now
    }
    return now - this.#since
  }
}
