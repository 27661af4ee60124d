/**
 * The bounds that the engines of a process share: users in memory, records before the disk and before the snapshot, records
 * kept for streams, the filter of known ids, loads of users at once, work in a turn of the event loop. An engine alone has its own.
 */
import { Semaphore } from "effect"
import { limits } from "../../Limits.ts"
import { overrunOf } from "../actor/ActorCache.ts"
import { DecisionTurns } from "../actor/DecisionTurns.ts"
import { Residents } from "../actor/Residents.ts"
import { FeedShares } from "../commit/Feed.ts"
import type { PendingBytes } from "../commit/GroupCommit.ts"
import { BloomFilter } from "../dedupe/BloomFilter.ts"
import type { UnsnapshottedRecords } from "./ChangedActors.ts"

export interface SharedBoundsOptions {
  readonly residentUsersMax?: number
  readonly residentUsersOverrunMax?: number
  readonly idFilterBytes?: number
}

export class SharedBounds {
  readonly residents: Residents
  readonly knownIds: BloomFilter
  readonly pendingBytes: PendingBytes = { bytes: 0 }
  readonly unsnapshotted: UnsnapshottedRecords = { count: 0, engines: 0 }
  readonly feeds = new FeedShares()
  readonly loads = Semaphore.makeUnsafe(limits.activationsConcurrentMax)
  readonly turns = new DecisionTurns()

  constructor(options: SharedBoundsOptions = {}) {
    const usersMax = options.residentUsersMax ?? limits.residentUsersMax
    this.residents = new Residents(usersMax, options.residentUsersOverrunMax ?? overrunOf(usersMax))
    this.knownIds = new BloomFilter(options.idFilterBytes ?? limits.idFilterBytes)
  }
}
