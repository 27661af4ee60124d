/**
 * The durable states of an environment's users, all of them in memory: the table of their buckets,
 * the name table, and the secret of their hashes.
 *
 * The states of users in `changed` (`BucketTable.ts`) are newer in their actors. Ask the actor
 * before you read a state here.
 */
import { randomBytes } from "node:crypto"
import type { UserState } from "../../domain/user/User.ts"
import { compositeKey } from "../../storage/Keys.ts"
import type { Entry } from "../../storage/Storage.ts"
import { encodeValue } from "../../storage/Values.ts"
import { Names } from "../records/Names.ts"
import { decodeUser, encodeUser } from "../records/UserCodec.ts"
import { attributeOf, sequenceOf } from "../records/UserHead.ts"
import { BucketTable, type Hashed, type StateBytes } from "./BucketTable.ts"
import { secretBytes } from "./SipHash.ts"
import { type BucketLoader, secretPrefix } from "./StoredBucket.ts"

export class UserStates<A extends Hashed> {
  readonly names = new Names()
  readonly #bytes: StateBytes
  #secret: Uint8Array
  #table: BucketTable<A>
  #isSecretStored = false
  /** The bytes of the last state that was read. */
  readBytes = 0

  constructor(bytes: StateBytes, secret: Uint8Array = randomBytes(secretBytes)) {
    this.#bytes = bytes
    this.#secret = secret
    this.#table = new BucketTable(secret, bytes)
  }

  /** The engine is closed. */
  leave(): void {
    this.#table.leave()
  }

  get table(): BucketTable<A> {
    return this.#table
  }

  /** Takes the stored secret. Comes before everything else. */
  open(secret: Uint8Array): void {
    this.#secret = Uint8Array.from(secret)
    this.#table = new BucketTable(this.#secret, this.#bytes)
    this.#isSecretStored = true
  }

  load(loader: BucketLoader<A>): void {
    loader.finish(this.#table)
  }

  has(userId: string): boolean {
    return this.#table.get(userId) !== undefined
  }

  read(userId: string): UserState | undefined {
    const bytes = this.#table.get(userId)
    this.readBytes = bytes?.length ?? 0
    return bytes === undefined ? undefined : decodeUser(userId, bytes, this.names)
  }

  /** The value of an attribute of the user, as text, without a decode of the state. */
  attributeOf(userId: string, name: string): string | undefined {
    const bytes = this.#table.get(userId)
    return bytes === undefined ? undefined : attributeOf(bytes, 0, bytes.length, name)
  }

  /** The sequence of the last record in the user's state; 0: there is none. */
  sequenceOf(userId: string): number {
    const bytes = this.#table.get(userId)
    return bytes === undefined ? 0 : sequenceOf(bytes, 0, bytes.length)
  }

  /** `due`: the user's due second (`Agenda.ts`). */
  put(user: UserState, due: number): void {
    this.#table.put(user.id, encodeUser(user, due, this.names))
  }

  remove(userId: string): void {
    this.#table.remove(userId)
  }

  /** The entries that the values of buckets need and that are not stored yet. */
  *unstored(environment: string): Generator<Entry> {
    if (!this.#isSecretStored) {
      this.#isSecretStored = true
      const key = compositeKey(secretPrefix, environment)
      yield { table: "meta", key, value: encodeValue(this.#secret) }
    }
    if (this.names.hasUnstored) yield* this.names.unstored(environment)
  }

  /** A transaction with such entries failed, or may have. */
  failed(): void {
    this.#isSecretStored = false
    this.names.failed()
  }
}
