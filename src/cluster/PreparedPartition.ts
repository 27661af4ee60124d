/**
 * The engine of a partition in its two states: prepared (it follows the owner) and opened (it takes
 * requests).
 */
import type { Deferred, Effect, Scope } from "effect"
import type { RequestHandler } from "../http/request/Exchange.ts"
import type { FollowProgress } from "../storage/postgres/ClusterStorage.ts"

/** An engine that has recovered its state and takes no requests. */
export interface PreparedPartition {
  /**
   * Applies the records that the owner has appended since. Fails with `Unavailable` while PostgreSQL
   * does not answer.
   */
  readonly look: Effect.Effect<void, unknown>
  readonly progress: () => FollowProgress
  /** Ends with the cause when the engine can no longer follow. */
  readonly failed: Effect.Effect<unknown>
  /** Claims the partition, and takes requests. */
  readonly serve: Effect.Effect<OpenedPartition, unknown, Scope.Scope>
}

/** Answers the requests of a partition. */
export interface PartitionHandler extends RequestHandler {
  /** The number of requests that wait for their reply. */
  readonly inFlight: number
  /** The number of requests whose operation has ended. */
  readonly requests: number
  /** Whether new requests are refused. */
  draining: boolean
  /** Sets `draining`, and ends streams. */
  readonly drain: () => void
}

export interface OpenedPartition {
  readonly handler: PartitionHandler
  readonly epoch: number
  /** Asks the fence whether this claim is still the latest one. */
  readonly isOwner: Effect.Effect<boolean, unknown>
  /**
   * The same for a runner that lost or gave away the lock and has it again. Also writes this runner
   * as the owner into the fence.
   */
  readonly resume: Effect.Effect<boolean, unknown>
  /** Ends when the fence has refused a write, or when the local copy is damaged. */
  readonly lost: Effect.Effect<"fenced" | "damaged">
  /**
   * Writes the state that only this process has, before another runner takes over. Takes a few
   * seconds at most.
   */
  readonly leave: Effect.Effect<void>
}

/** A partition that the runner has opened to serve it. */
export interface HeldPartition {
  readonly opened: OpenedPartition
  /** Whether the engine is the follower's, promoted. */
  readonly followed: boolean
  readonly scope: Scope.Closeable
  readonly closed: Deferred.Deferred<void>
}
