/**
 * The followers of a partition: of the runners that are alive and do not own it, the first `count` in the order of a hash of
 * runner and partition. Each runner finds the same ones by itself, the partitions of one owner have different followers, and a
 * runner that joins displaces the followers of its part of the partitions.
 *
 * Where the owner is gone, a follower that has caught up takes over; other runners wait `followerHeadStartMs` before they
 * try, and so does one that has its share of the partitions already (`Shares.ts`).
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

/*
 * A partition's engine on a runner that follows the owner: every `followIntervalMs` it reads from PostgreSQL what the owner has
 * appended since, folds it, and writes nothing there. So at the end of the owner it lacks only the last moment.
 *
 * It waits for a PostgreSQL that does not answer. Any other failure ends it, since the state may have a part of a batch
 * alone: then the copy has to be opened again. `promote` makes the engine the owner's, with what it still lacks; where that is
 * interrupted before the claim and not within a batch, it follows on.
 */

export class Following {
  readonly #prepared: PreparedPartition
  readonly #looking = Semaphore.makeUnsafe(1)
  /** A look failed: the state may have a part of a batch. */
  #isTorn = false
  #upToDateAt: number | undefined
  readonly #since = performance.now()
  isPromoting = false

  constructor(prepared: PreparedPartition) {
    this.#prepared = prepared
  }

  /** It has had all records of PostgreSQL a moment ago. */
  get isCaughtUp(): boolean {
    return (
      this.#upToDateAt !== undefined &&
      performance.now() - this.#upToDateAt < limits.followerCaughtUpMs
    )
  }

  /** The last record that it has folded. */
  get lastSequence(): number {
    return this.#prepared.progress().lastSequence
  }

  /** Records that PostgreSQL had at the last look and that are not folded. */
  get behindRecords(): number {
    const { lastSequence, seen } = this.#prepared.progress()
    return Math.max(0, seen - lastSequence)
  }

  /** Time since it last had all records of PostgreSQL; before that, since it was opened. */
  get behindSeconds(): number {
    return (performance.now() - (this.#upToDateAt ?? this.#since)) / 1_000
  }

  /** Follows until that fails; succeeds with the cause. */
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

  /** Succeeds also while PostgreSQL does not answer, and does nothing during a promotion. */
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

  /** Makes this runner the owner, after the look that is under way. */
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

  /** After a promotion that was interrupted: whether it follows on. */
  followOn(): boolean {
    if (this.#isTorn || this.#prepared.progress().isTorn) return false
    this.isPromoting = false
    return true
  }
}
