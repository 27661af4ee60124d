/**
 * Dense numbers for user ids, so that boards keep 4 bytes for a member instead of a string. All boards of
 * one environment (all-time, daily, weekly…) may share one `Members`: an id and its number are then held
 * once, and a new window starts empty without touching it.
 *
 * Numbers count from 0; released numbers are reused first. Before a release the
 * member must be off every board, and no copy of the number may remain.
 *
 * A million ids as strings in Maps slow a start and keep the garbage collector busy. So
 * ids lie as UTF-8 in large buffers (`MemberIds`), and typed arrays lead from a keyed hash to the number:
 * about 40 bytes a member for ids of 20. A start passes the bytes that it has read; a string is
 * made only for an id that is shown, and then cached. Tables of a few thousand entries each double one at a
 * time, buffers never move once they are large: no operation holds the event loop.
 */
import { limits } from "../../Limits.ts"
import { halfSipHash } from "./halfSipHash.ts"
import { MemberIds } from "./MemberIds.ts"
import { MemberSlots } from "./MemberSlots.ts"

export class Members {
  readonly #ids = new MemberIds()
  /** One table while small, then `boardIdTables` of them, chosen by the high bits of the hash. */
  #tables: Array<MemberSlots> = [new MemberSlots()]
  readonly #free: Array<number> = []
  readonly #key0: number
  readonly #key1: number
  #next = 0

  /** The keys of the hash are random unless given. */
  constructor(key0 = randomWord(), key1 = randomWord()) {
    this.#key0 = key0
    this.#key1 = key1
  }

  /** How many ids have a number. */
  get size(): number {
    return this.#next - this.#free.length
  }

  /** The number of `userId` (well-formed Unicode), or `undefined` when it has none. */
  find(userId: string): number | undefined {
    const length = encodeId(userId)
    const hash = this.#hash(scratch, 0, length)
    return this.#tableOf(hash).find(hash, this.#ids, scratch, 0, length)
  }

  /** The number of `userId` (well-formed Unicode); a new one when it has none. */
  admit(userId: string): number {
    return this.admitBytes(scratch, 0, encodeId(userId))
  }

  /** `admit` for an id whose UTF-8 stands in `bytes` from `start` to `end`; the bytes are copied. */
  admitBytes(bytes: Uint8Array, start: number, end: number): number {
    const hash = this.#hash(bytes, start, end)
    const table = this.#tableOf(hash)
    const known = table.find(hash, this.#ids, bytes, start, end)
    if (known !== undefined) return known
    const member = this.#free.pop() ?? this.#next++
    this.#ids.put(member, bytes, start, end)
    table.add(hash, member)
    if (this.#tables.length === 1 && table.used > limits.boardIdsInOneTableMax) this.#spread(table)
    return member
  }

  /** The user id of `member`; only for a number that is in use. */
  idOf(member: number): string {
    return this.#ids.textOf(member)
  }

  /** Copies the user id of `member`, as UTF-8, to `at` in `target`; answers where it ends. */
  copyId(member: number, target: Buffer, at: number): number {
    return this.#ids.copy(member, target, at)
  }

  /** Gives the number of `userId` back, to be used again; the member must be off every board. */
  release(userId: string): void {
    const length = encodeId(userId)
    const hash = this.#hash(scratch, 0, length)
    const member = this.#tableOf(hash).remove(hash, this.#ids, scratch, 0, length)
    if (member === undefined) return
    this.#ids.erase(member)
    this.#free.push(member)
  }

  #hash(bytes: Uint8Array, start: number, end: number): number {
    return halfSipHash(bytes, start, end, this.#key0, this.#key1)
  }

  #tableOf(hash: number): MemberSlots {
    const tables = this.#tables
    return tables.length === 1 ? tables[0]! : tables[hash >>> tableShift]!
  }

  #spread(from: MemberSlots): void {
    this.#tables = Array.from({ length: limits.boardIdTables }, () => new MemberSlots())
    from.forEach((hash, member) => {
      this.#tableOf(hash).add(hash, member)
    })
  }
}

const tableShift = 32 - Math.log2(limits.boardIdTables)

const randomWord = (): number => Math.floor(Math.random() * 0x1_0000_0000)

const encoder = new TextEncoder()
/** Where a string that is looked for is put as UTF-8; used within one call only. */
let scratch = new Uint8Array(1_024)

/** Writes `id` as UTF-8 to the start of `scratch`, and answers its length. */
const encodeId = (id: string): number => {
  if (scratch.length < id.length * 3) scratch = new Uint8Array(id.length * 3)
  for (let index = 0; index < id.length; index++) {
    const code = id.charCodeAt(index)
    if (code > 0x7f) return encoder.encodeInto(id, scratch).written
    scratch[index] = code
  }
  return id.length
}
