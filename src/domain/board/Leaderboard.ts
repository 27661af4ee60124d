/**
 * A leaderboard: members ordered by score, with ranks. It is in memory and synchronous, and a pure
 * function of its calls: the same calls give the same board.
 *
 * Order: score descending; then `tieSequence` ascending, the sequence of the record that set the
 * score, so that the first user to reach a score comes first; then user id by code unit, only if
 * the sequences are equal. Ranks are competition ranks: 1, 1, 3. Only scores above 0 are listed.
 *
 * `set` only queues a move. The board makes the queued moves in the order of the calls: at
 * `settle`, when `boardMovesMax` are queued, and before it answers a read or removes a member, so
 * no reader sees a board without them. Moves in a row cost less, because all but the first find the
 * code and the index in the processor's caches.
 *
 * A member is a dense number for a user id. `Members` assigns the numbers, and several boards may
 * share one `Members`. A user's actor keeps the number, which saves the lookup of the id.
 * `ScoreOrder.ts` implements the order.
 *
 * Cost at a million members: about 0.5 µs for a rank, 1 µs for an update, 1.5 µs for a page of 100,
 * 1 µs more for the lookup of an id; 24 to 33 bytes for each member and board. Only `fromEntries` takes
 * long. A new board costs nothing, and an old board is garbage-collected.
 */
import { limits } from "../../Limits.ts"
import type { Grouping } from "./Grouping.ts"
import { GroupOrder } from "./GroupOrder.ts"
import { Members } from "./Members.ts"
import { ScoreOrder } from "./ScoreOrder.ts"
import { type EntryColumns, sortEntries } from "./sortEntries.ts"

/** A place on a board: an integer score from 0 to 2^53 - 1, and the sequence that breaks ties. */
export interface BoardScore {
  readonly userId: string
  readonly score: number
  readonly tieSequence: number
}

export class Leaderboard {
  readonly members: Members
  /** Lacks the queued moves. All methods but `set` use `#settled`. */
  readonly #order: ScoreOrder
  readonly #groups: GroupOrder | undefined
  readonly #moves = new Columns()

  /** An empty board. `members` may be shared with other boards of the same users. */
  constructor(
    members: Members = new Members(),
    order: ScoreOrder = new ScoreOrder(members),
    grouping?: Grouping,
  ) {
    this.members = members
    this.#order = order
    this.#groups = grouping && new GroupOrder(members, order, grouping)
  }

  /** An empty board whose members have groups. */
  static grouped(members: Members, grouping: Grouping | undefined): Leaderboard {
    return new Leaderboard(members, new ScoreOrder(members), grouping)
  }

  /** A board of `scores` in any order (`BoardBuilder`). */
  static fromEntries(scores: Iterable<BoardScore>, members: Members = new Members()): Leaderboard {
    const builder = new BoardBuilder(members)
    for (const { userId, score, tieSequence } of scores) builder.add(userId, score, tieSequence)
    return builder.build()
  }

  /** The number of listed members. */
  get total(): number {
    return this.#settled.total
  }

  /**
   * The member number of `userId`; assigns one if it has none. The number is valid until
   * `members.release(userId)`.
   */
  memberOf(userId: string): number {
    return this.members.admit(userId)
  }

  /**
   * Sets the score of `member` (integer, 0 to 2^53 - 1), which the record `tieSequence` set. An
   * equal score changes nothing, so the member keeps its place in a tie. A score of 0 removes the
   * member from the board.
   */
  set(member: number, score: number, tieSequence: number): void {
    assertKey(score, tieSequence)
    if (score === 0) {
      this.remove(member)
      return
    }
    this.#moves.push(member, score, tieSequence)
    if (this.#moves.size === limits.boardMovesMax) this.settle()
  }

  /** Makes the queued moves. */
  settle(): void {
    const { members, scores, size, ties } = this.#moves
    const order = this.#groups ?? this.#order
    for (let n = 0; n < size; n++) order.set(members[n]!, scores[n]!, ties[n]!)
    this.#moves.size = 0
  }

  /** The groups of the members; `undefined`: the board has none. */
  get groups(): GroupOrder | undefined {
    if (this.#moves.size > 0) this.settle()
    return this.#groups
  }

  /** The order after all queued moves. */
  get #settled(): ScoreOrder {
    if (this.#moves.size > 0) this.settle()
    return this.#order
  }

  /** `set` for a user id. A score above 0 assigns a number to the id if it has none. */
  setUser(userId: string, score: number, tieSequence: number): void {
    const member = score === 0 ? this.members.find(userId) : this.members.admit(userId)
    if (member !== undefined) this.set(member, score, tieSequence)
  }

  /** Removes `member` from the board, if it is listed. The member keeps its number. */
  remove(member: number): void {
    this.groups?.leave(member)
    this.#settled.remove(member)
  }

  /** Removes a user from the board and releases the number. The user must be on no other board. */
  forget(userId: string): void {
    const member = this.members.find(userId)
    if (member === undefined) return
    this.remove(member)
    this.members.release(userId)
  }

  /** The score of `member`; 0 if it is not listed. */
  score(member: number): number {
    return this.#settled.scoreOf(member)
  }

  /** The sequence that set the score of `member`; 0 if it is not listed. */
  tie(member: number): number {
    return this.#settled.tieOf(member)
  }

  /** The score of `userId`; 0 if it is not listed. */
  scoreOf(userId: string): number {
    const member = this.members.find(userId)
    return member === undefined ? 0 : this.#settled.scoreOf(member)
  }

  /** The rank of `member`; `null` if it is not listed. */
  rank(member: number): number | null {
    const score = this.#settled.scoreOf(member)
    return score === 0 ? null : this.rankOfScore(score)
  }

  /** The rank of `userId`; `null` if it is not listed. */
  rankOf(userId: string): number | null {
    const member = this.members.find(userId)
    return member === undefined ? null : this.rank(member)
  }

  /** The rank of a `score` above 0: 1 + the number of higher scores. */
  rankOfScore(score: number): number {
    return 1 + this.#settled.countAbove(score)
  }

  /** The number of members with at least `score`, which is at least 1. */
  countFrom(score: number): number {
    return this.#settled.countAbove(score - 1)
  }

  /** The number of members before `member`; `undefined` if it is not listed. */
  positionOf(member: number): number | undefined {
    return this.#settled.scoreOf(member) === 0 ? undefined : this.#settled.positionOf(member)
  }

  /**
   * Calls `visit` for at most `limit` members in order, from position `offset` on. Both are
   * integers ≥ 0.
   */
  visit(
    offset: number,
    limit: number,
    visit: (member: number, score: number, rank: number) => void,
  ): void {
    let rank = 0
    let scoreBefore = 0
    let position = offset
    this.#settled.visit(offset, limit, (member, score) => {
      position++
      // The first member may be inside a tie. Each later score begins at its own position.
      if (score !== scoreBefore) rank = scoreBefore === 0 ? this.rankOfScore(score) : position
      scoreBefore = score
      visit(member, score, rank)
    })
  }

  /** For tests: throws if an invariant of the structure does not hold. O(total). */
  check(): void {
    this.#settled.check()
    this.#groups?.check()
  }
}

// Any other value would silently corrupt the order.
const assertKey = (score: number, tieSequence: number): void => {
  if (!(Number.isSafeInteger(score) && score >= 0)) {
    throw new RangeError(`A score must be an integer from 0 to 2^53 - 1, not ${score}`)
  }
  if (!(Number.isSafeInteger(tieSequence) && tieSequence >= 0)) {
    throw new RangeError(`A tie sequence must be an integer from 0 to 2^53 - 1, not ${tieSequence}`)
  }
}

/**
 * Builds a board from scores in any order, each user at most once; `build` throws `ListedTwice`
 * otherwise. `build` blocks the event loop (`npm run bench -- leaderboard` prints how long for a
 * million members). To avoid this, `set` the members of an empty board in slices instead.
 */
export class BoardBuilder {
  readonly #members: Members
  readonly #columns = new Columns()

  constructor(members: Members = new Members()) {
    this.#members = members
  }

  /**
   * Adds a user. Throws if the score or the sequence is out of range. A score of 0 is not listed.
   */
  add(userId: string, score: number, tieSequence: number): void {
    if (score > 0) this.addMember(this.#members.admit(userId), score, tieSequence)
    else assertKey(score, tieSequence)
  }

  /** `add` for a member number, with a score above 0. */
  addMember(member: number, score: number, tieSequence: number): void {
    assertKey(score, tieSequence)
    this.#columns.push(member, score, tieSequence)
  }

  build(): Leaderboard {
    const order = new ScoreOrder(this.#members)
    order.fill(sortEntries(this.#members, this.#columns.trimmed()))
    return new Leaderboard(this.#members, order)
  }
}

/** Members with their keys, in arrays that double in size. */
class Columns {
  size = 0
  members = new Uint32Array(16)
  scores = new Float64Array(16)
  ties = new Float64Array(16)

  push(member: number, score: number, tie: number): void {
    const size = this.size++
    if (size === this.members.length) {
      const { members, scores, ties } = this.trimmed()
      this.members = new Uint32Array(size * 2)
      this.members.set(members)
      this.scores = new Float64Array(size * 2)
      this.scores.set(scores)
      this.ties = new Float64Array(size * 2)
      this.ties.set(ties)
    }
    this.members[size] = member
    this.scores[size] = score
    this.ties[size] = tie
  }

  trimmed(): EntryColumns {
    return {
      members: this.members.subarray(0, this.size),
      scores: this.scores.subarray(0, this.size),
      ties: this.ties.subarray(0, this.size),
    }
  }
}
