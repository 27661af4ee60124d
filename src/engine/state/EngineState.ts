/**
 * All that an engine has in memory above its storage, as it is opened: empty, after the watermark of the snapshot.
 * `recovery/` fills it from snapshot and journal; a running engine, a fold of a long journal and tests continue from it.
 */
import { Effect, Latch } from "effect"
import { limits } from "../../Limits.ts"
import type { Broken, Storage } from "../../storage/Storage.ts"
import { ActorCache } from "../actor/ActorCache.ts"
import {
  type DirectoryActor,
  type Domain,
  domain,
  Environments,
  newDirectory,
} from "../actor/Environments.ts"
import { Deduplicator } from "../dedupe/Deduplicator.ts"
import { IdempotencyKeys } from "../dedupe/Idempotency.ts"
import { IdIndex } from "../dedupe/IdIndex.ts"
import { Erasures } from "../erasure/Erasures.ts"
import { PendingRecords } from "../records/PendingRecords.ts"
import { ChangedActors } from "./ChangedActors.ts"
import { SharedBounds, type SharedBoundsOptions } from "./SharedBounds.ts"
import type { SnapshotMark } from "./SnapshotMark.ts"

export interface StateOptions extends SharedBoundsOptions {
  readonly idlePassivateMs?: number
  readonly domain?: Domain
  /** Of all engines of the process, in place of those above; absent: this one is alone. */
  readonly shared?: SharedBounds
}

/** Where a state begins: its storage, the mark of the snapshot there, and its clock (epoch milliseconds). */
export interface StateOrigin {
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
  /** Opens when the agenda of an environment has something earlier than before. */
  readonly dueSooner: Latch.Latch
}

export const openState = (
  origin: StateOrigin,
  options: StateOptions = {},
): Effect.Effect<EngineState, Broken> =>
  Effect.map(IdIndex.open(origin.storage), (ids) => {
    const { mark, now, storage } = origin
    const dueSooner = Latch.makeUnsafe(false)
    const rules = options.domain ?? domain
    const sooner = () => void dueSooner.openUnsafe()
    const environments = new Environments({ domain: rules, now, sooner })
    const erasures = new Erasures()
    const pending = new PendingRecords(mark.watermark)
    const next = () => pending.texts.nextSequence
    const idempotency = new IdempotencyKeys({ storage, now, erasures, next })
    const shared = options.shared ?? new SharedBounds(options)
    const { knownIds, residents } = shared
    const deduplicator = new Deduplicator({ storage, knownIds, ids, erasures, pending })
    const changed = new ChangedActors(mark, pending.texts, shared.unsnapshotted)
    const actorCache = new ActorCache({
      residents,
      idlePassivateMs: options.idlePassivateMs ?? limits.idlePassivateMs,
      now,
      watermark: () => pending.watermark,
      environments,
      onCrowded: () => changed.requestSnapshot(),
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
  })

/** The engine is closed: others have what it had of shared bounds. */
export const leaveShared = ({ actorCache, changed }: EngineState): void => {
  actorCache.leave()
  changed.leave()
}
