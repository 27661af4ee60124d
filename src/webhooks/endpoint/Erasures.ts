/**
 * The users whose erasure is under way. Deliveries about them that are in flight, or are read from
 * the store meanwhile, are not sent again, and their replies are not kept. A user is removed when
 * the walk of the store has ended.
 */
import type { Delivery } from "../store/Delivery.ts"

export class Erasures {
  /** The record of the erasure by user (`userHash`). */
  readonly #users = new Map<string, number>()

  add(user: string, record: number): void {
    this.#users.set(user, Math.max(record, this.#users.get(user) ?? 0))
  }

  remove(user: string, record: number): void {
    if (this.#users.get(user) === record) this.#users.delete(user)
  }

  /** Whether a delivery is about a user who was erased after its record. */
  has({ kind, sequence, user }: Pick<Delivery, "kind" | "sequence" | "user">): boolean {
    if (this.#users.size === 0 || user === "" || kind === "user.deleted") return false
    const record = this.#users.get(user)
    return record !== undefined && sequence < record
  }
}
