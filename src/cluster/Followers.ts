/**
 * The followers of a partition: of the runners that are alive and do not own it, the `count` that joined first. Each runner
 * finds the same ones by itself, and a runner that joins displaces none.
 *
 * Where the owner is gone, a follower that has caught up takes over; other runners wait `followerHeadStartMs` before they
 * try.
 */
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
    return others.slice(0, count).includes(address)
  }

  /** Whether this runner may take the partition, whose owner is gone; asked again and again as long as it is. */
  mayTake(partition: number, isCaughtUp: boolean): boolean {
    const since = this.#freeSince(partition)
    const { address, count, owners } = this.#options
    const { address: owner, epoch } = owners.of(partition) ?? { address: "", epoch: 0 }
    if (isCaughtUp || count === 0 || epoch === 0 || owner === address) return true
    return this.isAlone(partition) || this.#now() - since >= limits.followerHeadStartMs
  }

  /** Whether no other runner is alive but the partition's owner of record, which is gone. */
  isAlone(partition: number): boolean {
    const { address, owners } = this.#options
    const owner = owners.of(partition)?.address
    return owners.runners.every((runner) => runner === address || runner === owner)
  }

  #freeSince(partition: number): number {
    const now = this.#now()
    const before = this.#free.get(partition)
    // Not asked for a while: it had an owner in between.
    const isNew = before === undefined || now - before.lastSeenAt > limits.followerHeadStartMs
    const free = isNew ? { since: now, lastSeenAt: now } : before
    free.lastSeenAt = now
    this.#free.set(partition, free)
    return free.since
  }

  ownerChanged(): void {
    this.#free.clear()
  }
}
