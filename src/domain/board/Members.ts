/**
 * Dense numbers for user ids, so that boards keep 4 bytes for a member instead of a string. All boards of
 * one environment (all-time, daily, weekly…) may share one `Members`: an id and its number are then held
 * once, and a new window starts empty without touching it.
 *
 * Numbers count from 0; those given back are used again first. Whoever gives one back must have taken it
 * off every board, and whoever holds it must forget it.
 *
 * A plain Map of a million strings stops the loop for up to 200 ms when it doubles, an array for 30 ms. So
 * the ids spread over many Maps, and lists are pages that never move. What is left is V8's own table of
 * strings, which every id enters as a key of any Map: 4, 8, 17 ms as it doubles on the way to a million.
 * The spread uses a simple hash of ours; ids made to collide in it only share one Map, whose own hash is seeded.
 */
import { limits } from "../../Limits.ts"

const pageBits = 12
const pageMask = (1 << pageBits) - 1

export class Members {
  /** One Map while small, then `boardIdMaps` of them. */
  #maps: Array<Map<string, number>> = [new Map()]
  readonly #pages: Array<Array<string | undefined>> = []
  readonly #free: Array<number> = []
  #next = 0

  /** How many ids have a number. */
  get size(): number {
    return this.#next - this.#free.length
  }

  /** The number of `userId`, or `undefined` when it has none. */
  find(userId: string): number | undefined {
    return this.#mapOf(userId).get(userId)
  }

  /** The number of `userId`; a new one when it has none. */
  admit(userId: string): number {
    const map = this.#mapOf(userId)
    const known = map.get(userId)
    if (known !== undefined) return known
    const member = this.#free.pop() ?? this.#next++
    map.set(userId, member)
    const pageNumber = member >>> pageBits
    let page = this.#pages[pageNumber]
    if (page === undefined) page = this.#pages[pageNumber] = []
    page[member & pageMask] = userId
    if (this.#maps.length === 1 && map.size > limits.boardIdsInOneMapMax) this.#spread(map)
    return member
  }

  /** The user id of `member`; only for a number that is in use. */
  idOf(member: number): string {
    const userId = this.#pages[member >>> pageBits]?.[member & pageMask]
    if (userId === undefined) throw new RangeError(`No member has the number ${member}`)
    return userId
  }

  /** Gives the number of `userId` back, to be used again; the member must be off every board. */
  release(userId: string): void {
    const map = this.#mapOf(userId)
    const member = map.get(userId)
    if (member === undefined) return
    map.delete(userId)
    this.#pages[member >>> pageBits]![member & pageMask] = undefined
    this.#free.push(member)
  }

  #mapOf(userId: string): Map<string, number> {
    const maps = this.#maps
    return maps.length === 1 ? maps[0]! : maps[spreadHash(userId) & (maps.length - 1)]!
  }

  #spread(from: ReadonlyMap<string, number>): void {
    this.#maps = Array.from({ length: limits.boardIdMaps }, () => new Map())
    for (const [userId, member] of from) this.#mapOf(userId).set(userId, member)
  }
}

const spreadHash = (text: string): number => {
  let hash = text.length
  for (let index = 0; index < text.length; index++) {
    hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0
  }
  hash ^= hash >>> 15
  return Math.imul(hash, 0x2c1b3c6d) >>> 16
}
