/** What a runner opens for a partition: an engine that follows, and one that takes requests. */
import type { Deferred, Effect, Scope } from "effect"
import type { RequestHandler } from "../http/request/Exchange.ts"
import type { FollowProgress } from "../storage/postgres/ClusterStorage.ts"

/** An engine that was recovered and takes no requests. */
export interface PreparedPartition {
  /** Takes over what the owner has appended since; fails with `NoSpace` while PostgreSQL does not answer. */
  readonly look: Effect.Effect<void, unknown>
  readonly progress: () => FollowProgress
  /** Ends, with the cause, when the engine cannot follow any more. */
  readonly failed: Effect.Effect<unknown>
  /** Claims the partition, and takes requests. */
  readonly serve: Effect.Effect<OpenedPartition, unknown, Scope.Scope>
}

/** What answers the requests of a partition. */
export interface PartitionHandler extends RequestHandler {
  /** Requests that wait for their reply. */
  readonly inFlight: number
  /** Requests of operations that have ended. */
  readonly requests: number
  /** It refuses new requests. */
  draining: boolean
  /** Sets `draining`, and ends endless replies. */
  readonly drain: () => void
}

export interface OpenedPartition {
  readonly handler: PartitionHandler
  readonly epoch: number
  /** Asks the fence whether no other runner has claimed the partition since. */
  readonly isOwner: Effect.Effect<boolean, unknown>
  /** The same of a runner that gave the partition away and has its lock again: it is the owner of record. */
  readonly resume: Effect.Effect<boolean, unknown>
  /** Ends when the fence has refused a write, or when its local copy is damaged. */
  readonly lost: Effect.Effect<"fenced" | "damaged">
  /** Records what only this process knows, before another runner takes over; within a few seconds. */
  readonly leave: Effect.Effect<void>
}

/** One that the runner has opened to serve it. */
export interface HeldPartition {
  readonly opened: OpenedPartition
  /** Its engine was that of the follower. */
  readonly followed: boolean
  readonly scope: Scope.Closeable
  readonly closed: Deferred.Deferred<void>
}
