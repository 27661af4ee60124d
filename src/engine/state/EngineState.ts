/**
 * The state of an engine: everything that it has in memory above its storage. A state is opened
 * empty, at the watermark of the snapshot, and recovery fills it from snapshot and journal. Then a
 * running engine, a follower, a fold of a long journal or a test continues with it.
 *
 * Ownership: each part is changed by its class only. The engines of a process share `SharedBounds`,
 * nothing else.
 */
import { Effect, Latch } from "effect"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { limits } from "../../Limits.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import type { AnyActor } from "../actor/Actor.ts"
import { ActorCache, DecodedUsers } from "../actor/ActorCache.ts"
import { DecisionTurns } from "../actor/DecisionTurns.ts"
import {
  type DirectoryActor,
  type Domain,
  domain,
  Environments,
  newDirectory,
} from "../actor/Environments.ts"
import { FeedShares } from "../commit/Feed.ts"
import type { CommitPipeline, PendingBytes } from "../commit/GroupCommit.ts"
import { Deduplicator } from "../dedupe/Deduplicator.ts"
import { IdempotencyKeys } from "../dedupe/Idempotency.ts"
import { BloomFilter, IdIndex } from "../dedupe/IdIndex.ts"
import { Erasures } from "../erasure/Erasures.ts"
import { PendingRecords } from "../records/PendingRecords.ts"
import { ChangedActors, type UnsnapshottedRecords } from "./ChangedActors.ts"
import type { SnapshotMark } from "./SnapshotMark.ts"

/*
 * The bounds that the engines of a process share: bytes of states, decoded users, bytes that are
 * not durable, records that await a snapshot, records kept for streams, the filter of known ids,
 * and work in a turn of the event loop. An engine that is alone in its process has its own.
 */

interface SharedBoundsOptions {
  readonly stateBytesMax?: number
  readonly decodedUsersMax?: number
  readonly idFilterBytes?: number
}

export class SharedBounds {
  /** The bytes of the states of all users. New users are refused beyond `bytesMax`. */
  readonly states: { bytes: number; readonly bytesMax: number }
  readonly decoded: DecodedUsers
  readonly knownIds: BloomFilter
  readonly pendingBytes: PendingBytes = { bytes: 0 }
  readonly unsnapshotted: UnsnapshottedRecords = { count: 0, engines: 0 }
  readonly feeds = new FeedShares()
  readonly turns = new DecisionTurns()

  constructor(options: SharedBoundsOptions = {}) {
    this.states = { bytes: 0, bytesMax: options.stateBytesMax ?? Number.POSITIVE_INFINITY }
    this.decoded = new DecodedUsers(options.decodedUsersMax ?? limits.decodedUsersMax)
    this.knownIds = new BloomFilter(options.idFilterBytes ?? limits.idFilterBytes)
  }
}

export interface StateOptions extends SharedBoundsOptions {
  readonly domain?: Domain
  /** Makes the secret of a new environment's hashes; absent: at random. */
  readonly newHashSecret?: () => Uint8Array
  /**
   * Shared by the engines of the process, in place of the bounds above; absent: this engine is
   * alone.
   */
  readonly shared?: SharedBounds
}

/**
 * What a state is opened from: its storage, the mark of the snapshot there, and its clock (epoch
 * milliseconds).
 */
interface StateOrigin {
  readonly storage: Storage["Service"]
  readonly mark: SnapshotMark
  readonly now: () => number
}

export interface EngineState extends StateOrigin {
  readonly domain: Domain
  readonly environments: Environments
  readonly directory: DirectoryActor
  readonly erasures: Erasures
  readonly pending: PendingRecords
  readonly ids: IdIndex
  readonly deduplicator: Deduplicator
  readonly idempotency: IdempotencyKeys
  readonly changed: ChangedActors
  readonly actorCache: ActorCache
  readonly shared: SharedBounds
  /** Opens when a user of any environment may be due earlier than before. */
  readonly dueSooner: Latch.Latch
}

export const openState = (
  origin: StateOrigin,
  options: StateOptions = {},
): Effect.Effect<EngineState, Broken> =>
  Effect.map(
    Effect.all([IdIndex.open(origin.storage), Erasures.open(origin.storage)]),
    ([ids, erasures]) => {
      const { mark, now, storage } = origin
      const dueSooner = Latch.makeUnsafe(false)
      const rules = options.domain ?? domain
      const sooner = () => void dueSooner.openUnsafe()
      const shared = options.shared ?? new SharedBounds(options)
      const environments = new Environments({
        domain: rules,
        now,
        sooner,
        stateBytes: shared.states,
        newSecret: options.newHashSecret,
      })
      const pending = new PendingRecords(mark.watermark)
      const idempotency = new IdempotencyKeys({ storage, now, erasures })
      const { decoded, knownIds } = shared
      const deduplicator = new Deduplicator({ storage, knownIds, ids, erasures, pending })
      const changed = new ChangedActors(mark, shared.unsnapshotted)
      const actorCache = new ActorCache({
        decoded,
        now,
        watermark: () => pending.watermark,
        environments,
      })
      return {
        ...origin,
        domain: rules,
        environments,
        directory: newDirectory(),
        erasures,
        pending,
        ids,
        deduplicator,
        idempotency,
        changed,
        actorCache,
        shared,
        dueSooner,
      }
    },
  )

/** The engine is closed: its share of the bounds is free for the others. */
export const leaveShared = ({ actorCache, changed, environments }: EngineState): void => {
  actorCache.leave()
  changed.leave()
  for (const { states } of environments) states.leave()
}

export interface DurableRecord {
  readonly actor: AnyActor
  readonly record: JournalRecord
}

/** Subscribes a state to the stages of durable records, live or during recovery. */
export const followRecords = <Entry extends DurableRecord>(
  pipeline: CommitPipeline<Entry>,
  { changed, environments, idempotency }: EngineState,
): void => {
  pipeline.on("counts", ({ record }) => environments.durable(record))
  pipeline.on("idempotency", ({ record }) => idempotency.committed(record))
  pipeline.on("snapshot", ({ actor, record }) => {
    changed.committed(actor, record.sequence)
    const { subject } = record
    if (subject.actor === "user") environments.of(subject.environment).changed(actor)
  })
}
