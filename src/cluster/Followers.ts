/**
 * Selects the followers of a partition: of the live runners that do not own it, the first `count`
 * in the order of a hash of partition and runner. Each runner computes the same followers. The
 * partitions of one owner have different followers, and a runner that joins replaces the followers
 * of only some partitions.
 *
 * If the owner is gone, a follower that has all records takes over at once. Other runners wait for
 * `followerHeadStartMs` before they try, and so does a runner that already has its share of the
 * partitions (`Shares.ts`), unless it follows.
 */
import { hash } from "node:crypto"
import { Effect, Exit, type Scope, Semaphore } from "effect"
import { limits } from "../Limits.ts"
import { nextTick } from "../storage/postgres/ticks.ts"
import { isOutage } from "../storage/Storage.ts"
import type { Owners } from "./Owners.ts"
import type { OpenedPartition, PreparedPartition } from "./PreparedPartition.ts"

export interface FollowersOptions {
  readonly owners: Pick<Owners, "of" | "runners">
  /** The address of this runner. */
  readonly address: string
  /** The number of followers of each partition. */
  readonly count: number
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number
}

/** A partition whose owner is gone, as this runner has seen it. */
interface Free {
  readonly since: number
  /** The last owner's epoch. */
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

  /** Whether this runner is one of the followers. */
  isFollower(partition: number): boolean {
    const { address, count, owners } = this.#options
    const owner = owners.of(partition)
    // Without a first owner there is nothing to follow.
    if (owner === undefined || owner.epoch === 0 || owner.address === address) return false
    const others = owners.runners.filter((runner) => runner !== owner.address)
    return inOrder(partition, others).slice(0, count).includes(address)
  }

  /**
   * Whether this runner may take the partition, whose owner is gone. The caller repeats the
   * question while the owner is gone. `hasRoom`: this runner has less than its share of the
   * partitions.
   */
  mayTake(partition: number, isCaughtUp: boolean, hasRoom = true): boolean {
    const { address, count, owners } = this.#options
    const { address: owner, epoch } = owners.of(partition) ?? { address: "", epoch: 0 }
    const hasWaited = this.#now() - this.#freeSince(partition, epoch) >= limits.followerHeadStartMs
    if (isCaughtUp || owner === address || hasWaited) return true
    return hasRoom && (count === 0 || epoch === 0 || this.isAlone(partition))
  }

  /** Whether no other runner is alive, apart from the partition's last owner, which is gone. */
  isAlone(partition: number): boolean {
    const { address, owners } = this.#options
    const owner = owners.of(partition)?.address
    return owners.runners.every((runner) => runner === address || runner === owner)
  }

  #freeSince(partition: number, epoch: number): number {
    const now = this.#now()
    const before = this.#free.get(partition)
    // With another epoch, or after a time without a call, the partition had an owner in between.
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

/*
 * A partition's engine on a runner that follows the owner. Every `followIntervalMs` it reads the
 * records that the owner has appended to PostgreSQL since, and folds them. It writes nothing to
 * PostgreSQL. When the owner fails, it lacks only the records of the last moment.
 *
 * It waits while PostgreSQL does not answer. Any other failure ends it, because the state may then
 * include only a part of a batch: the copy has to be opened again. `promote` reads the records that
 * are missing and makes this runner the owner. If the promotion is interrupted before the claim and
 * not within a batch, the engine continues to follow (`followOn`).
 */

export class Following {
  readonly #prepared: PreparedPartition
  readonly #looking = Semaphore.makeUnsafe(1)
  /** A look failed: the state may include only a part of a batch. */
  #isTorn = false
  #upToDateAt: number | undefined
  readonly #since = performance.now()
  isPromoting = false

  constructor(prepared: PreparedPartition) {
    this.#prepared = prepared
  }

  /** Whether it had all records of PostgreSQL within `followerCaughtUpMs`. */
  get isCaughtUp(): boolean {
    return (
      this.#upToDateAt !== undefined &&
      performance.now() - this.#upToDateAt < limits.followerCaughtUpMs
    )
  }

  /** The sequence of the last folded record. */
  get lastSequence(): number {
    return this.#prepared.progress().lastSequence
  }

  /** The number of records that PostgreSQL had at the last look and that are not folded yet. */
  get behindRecords(): number {
    const { lastSequence, seen } = this.#prepared.progress()
    return Math.max(0, seen - lastSequence)
  }

  /** The time since it last had all records of PostgreSQL, or since it was opened. */
  get behindSeconds(): number {
    return (performance.now() - (this.#upToDateAt ?? this.#since)) / 1_000
  }

  /** Follows until a failure, and succeeds with its cause. */
  readonly run: Effect.Effect<unknown> = Effect.suspend(() =>
    Effect.raceFirst(this.#prepared.failed, this.#run),
  )

  readonly #run: Effect.Effect<unknown> = Effect.gen({ self: this }, function* () {
    while (true) {
      const attempt = yield* Effect.exit(Semaphore.withPermit(this.#looking, this.#look))
      if (Exit.isFailure(attempt)) return attempt.cause
      yield* nextTick(limits.followIntervalMs)
    }
  })

  /** Also succeeds while PostgreSQL does not answer. Does nothing during a promotion. */
  readonly #look = Effect.suspend(() => {
    if (this.isPromoting) return Effect.void
    const askedAt = performance.now()
    return this.#prepared.look.pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          this.#upToDateAt = askedAt
        }),
      ),
      Effect.catchIf(isOutage, () => Effect.void),
      Effect.onError(() =>
        Effect.sync(() => {
          this.#isTorn = true
        }),
      ),
    )
  })

  /** Makes this runner the owner, after the look in progress. */
  readonly promote: Effect.Effect<OpenedPartition, unknown, Scope.Scope> = Effect.suspend(() => {
    this.isPromoting = true
    return Semaphore.withPermit(
      this.#looking,
      Effect.suspend(() =>
        this.#isTorn
          ? Effect.fail(new Error("The follower stopped within a batch"))
          : this.#prepared.serve,
      ),
    )
  })

  /** Called after an interrupted promotion. Returns whether the engine continues to follow. */
  followOn(): boolean {
    if (this.#isTorn || this.#prepared.progress().isTorn) return false
    this.isPromoting = false
    return true
  }
}
