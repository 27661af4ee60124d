/**
 * The states of users in the snapshot of a data directory or an archive. All buckets are read into
 * memory at once, as a server does.
 */
import { listedTeams } from "../../../domain/user/TeamShares.ts"
import type { UserState } from "../../../domain/user/User.ts"
import { compositeKey, keyParts } from "../../../storage/Keys.ts"
import type { Entry, StoredEntry, Table } from "../../../storage/Storage.ts"
import { checksumOf, encodeValue, keyName, openValue, valueFault } from "../../../storage/Values.ts"
import { memberKey } from "../../actor/TeamMembers.ts"
import { namesPrefix } from "../../records/Names.ts"
import { decodeUser } from "../../records/UserCodec.ts"
import { UserHead } from "../../records/UserHead.ts"
import { type Hashed, prefixesEnd } from "../../users/BucketTable.ts"
import { BucketLoader, bucketEntries, secretPrefix } from "../../users/StoredBucket.ts"
import { UserStates } from "../../users/UserStates.ts"
import type { Fault } from "./JournalTail.ts"

type Entries = (table: Table, prefix: Uint8Array) => Iterable<StoredEntry>

/** A user of the snapshot. */
export interface StoredUser {
  /** Environment and user as a key. */
  readonly key: Uint8Array
  readonly environment: string
  readonly userId: string
}

const uncounted = { bytes: 0 }
const head = new UserHead()

export class SavedUsers {
  readonly #entries: Entries
  readonly #fault: Fault
  readonly #states = new Map<string, UserStates<Hashed>>()

  constructor(entries: Entries, fault: Fault) {
    this.#entries = entries
    this.#fault = fault
    this.#loadMeta(secretPrefix, (states, body) => states.open(body))
    this.#loadMeta(namesPrefix, ({ names }, body, from) => names.load(from, body))
    this.#loadBuckets()
  }

  /** The user's state; `undefined`: the snapshot has none, or it cannot be decoded. */
  read({ environment, key, userId }: StoredUser): UserState | undefined {
    const states = this.#states.get(environment)
    const bytes = states?.table.get(userId)
    if (states === undefined || bytes === undefined) return undefined
    try {
      return decodeUser(userId, bytes, states.names)
    } catch {
      this.#fault(valueFault("buckets", key, "cannot be decoded"))
      return undefined
    }
  }

  has(environment: string, userId: string): boolean {
    return this.#states.get(environment)?.table.get(userId) !== undefined
  }

  /** The user's due second. */
  dueOf({ environment, userId }: StoredUser): number {
    const bytes = this.#states.get(environment)!.table.get(userId)!
    head.read(bytes, 0, bytes.length)
    return head.due
  }

  /** All users, in the order of their keys. */
  *inOrder(): Generator<StoredUser> {
    for (const [environment, { table }] of [...this.#states].sort(byName)) {
      const users: Array<StoredUser> = []
      for (const bucket of table.buckets()) {
        for (const userId of bucket.ids()) {
          users.push({ key: compositeKey(environment, userId), environment, userId })
        }
      }
      yield* users.sort((one, other) => Buffer.compare(one.key, other.key))
    }
  }

  #of(environment: string): UserStates<Hashed> {
    let states = this.#states.get(environment)
    if (states === undefined) {
      states = new UserStates(uncounted)
      this.#states.set(environment, states)
    }
    return states
  }

  #loadMeta(
    prefix: string,
    load: (states: UserStates<Hashed>, body: Uint8Array, from: number) => void,
  ): void {
    for (const [key, value] of this.#entries("meta", compositeKey(prefix))) {
      const [, environment, from] = keyParts(key)
      const body = openValue(value)
      if (typeof body === "string") this.#fault(valueFault("meta", key, body))
      else load(this.#of(environment as string), body, from as number)
    }
  }

  #loadBuckets(): void {
    const loaders = new Map<string, BucketLoader<Hashed>>()
    for (const [key, value] of this.#entries("buckets", new Uint8Array())) {
      const body = openValue(value)
      if (typeof body === "string") {
        this.#fault(valueFault("buckets", key, body))
        continue
      }
      try {
        const environment = keyParts(key)[0] as string
        const loader = loaders.get(environment) ?? new BucketLoader<Hashed>()
        loaders.set(environment, loader)
        loader.add(key, body, checksumOf(value))
      } catch (error) {
        this.#fault(`${keyName(key)} of table buckets: ${(error as Error).message}`)
      }
    }
    for (const [environment, loader] of loaders) {
      try {
        this.#of(environment).load(loader)
      } catch (error) {
        this.#fault(`The buckets of ${environment}: ${(error as Error).message}`)
      }
    }
  }
}

const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
  Buffer.compare(compositeKey(one), compositeKey(other))

/** Users that are read from elsewhere, and their entries. */
export class NewUsers {
  readonly #states = new Map<string, UserStates<Hashed>>()

  add(environment: string, user: UserState, due: number): void {
    let states = this.#states.get(environment)
    if (states === undefined) {
      states = new UserStates(uncounted)
      this.#states.set(environment, states)
    }
    states.put(user, due)
  }

  *entries(): Generator<Entry> {
    const value = encodeValue(new Uint8Array())
    for (const [environment, states] of this.#states) {
      const { table } = states
      yield* states.unstored(environment)
      for (let bucket = table.dirtyBelow(prefixesEnd); bucket !== undefined; ) {
        table.written(bucket)
        yield* bucketEntries(environment, bucket)
        for (const userId of bucket.ids()) {
          yield { table: "userIds", key: compositeKey(environment, userId), value }
          for (const number of listedTeams(states.read(userId)!)) {
            yield { table: "teamMembers", key: memberKey(environment, number, userId), value }
          }
        }
        bucket = table.dirtyBelow(bucket.prefix)
      }
    }
  }
}
