/**
 * The followers of a partition: of the runners that are alive and do not own it, the first `count` in the order of a hash of
 * runner and partition. Each runner finds the same ones by itself, the partitions of one owner have different followers, and a
 * runner that joins displaces the followers of its part of the partitions.
 *
 * Where the owner is gone, a follower that has caught up takes over; other runners wait `followerHeadStartMs` before they
 * try, and so does one that has its share of the partitions already (`Shares.ts`).
 */
import { hash } from "node:crypto"
import { limits } from "../Limits.ts"
import type { Owners } from "./Owners.ts"

export interface FollowersOptions {
  readonly owners: Pick<Owners, "of" | "runners">
  /** Of this runner. */
  readonly address: string
  /** Of each partition. */
  readonly count: number
  /** Milliseconds, on a clock that only goes forward. */
  readonly now?: () => number
}

/** A partition without an owner, as this runner has seen it. */
interface Free {
  readonly since: number
  /** Of its last owner. */
  readonly epoch: number
  lastSeenAt: number
}

export class Followers {
  readonly #options: FollowersOptions
  readonly #now: () => number
  readonly #free = new Map<number, Free>()

  constructor(options: FollowersOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /** Whether this runner is to follow. */
  isFollower(partition: number): boolean {
    const { address, count, owners } = this.#options
    const owner = owners.of(partition)
    // Nobody has owned the partition yet: there is nothing to follow.
    if (owner === undefined || owner.epoch === 0 || owner.address === address) return false
    const others = owners.runners.filter((runner) => runner !== owner.address)
    return inOrder(partition, others).slice(0, count).includes(address)
  }

  /**
   * Whether this runner may take the partition, whose owner is gone; asked again and again as long as it is. `hasRoom`: it has
   * less than its share of the partitions.
   */
  mayTake(partition: number, isCaughtUp: boolean, hasRoom = true): boolean {
    const { address, count, owners } = this.#options
    const { address: owner, epoch } = owners.of(partition) ?? { address: "", epoch: 0 }
    const hasWaited = this.#now() - this.#freeSince(partition, epoch) >= limits.followerHeadStartMs
    if (isCaughtUp || owner === address || hasWaited) return true
    return hasRoom && (count === 0 || epoch === 0 || this.isAlone(partition))
  }

  /** Whether no other runner is alive but the partition's owner of record, which is gone. */
  isAlone(partition: number): boolean {
    const { address, owners } = this.#options
    const owner = owners.of(partition)?.address
    return owners.runners.every((runner) => runner === address || runner === owner)
  }

  #freeSince(partition: number, epoch: number): number {
    const now = this.#now()
    const before = this.#free.get(partition)
    // Another epoch, or not asked for a while: it had an owner in between.
    const isNew = before?.epoch !== epoch || now - before.lastSeenAt > limits.followerHeadStartMs
    const free = isNew ? { since: now, epoch, lastSeenAt: now } : before
    free.lastSeenAt = now
    this.#free.set(partition, free)
    return free.since
  }
}

const inOrder = (partition: number, runners: ReadonlyArray<string>): ReadonlyArray<string> => {
  const placed = runners.map((runner) => [hash("sha1", `${partition} ${runner}`), runner] as const)
  return placed.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, runner]) => runner)
}
