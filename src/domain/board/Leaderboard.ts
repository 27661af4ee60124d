/**
 * One leaderboard: members by score, with ranks. In memory, synchronous, and a pure function of its calls: replaying
 * the same calls gives the same board.
 *
 * Order: score descending, then `tieSequence` ascending (the sequence of the record that set the score, so
 * the first to reach it comes first), then user id by code unit (only when two have the same sequence).
 * Ranks are competition ranks: 1, 1, 3. Only scores above 0 are listed.
 *
 * `set` only notes a move. The board makes the moves in the order of the calls: at `settle`, once `boardMovesMax` of them
 * wait, or before it answers or removes anybody, so no reader sees them wait. Made together they cost less, because the
 * second move finds the order's code and index in the processor's caches; the first after a commit does not.
 *
 * A member is a dense number for a user id, held by `Members`; several boards may share one. A user's
 * actor keeps the number and saves the lookup of the id. The order itself is `board/ScoreOrder.ts`.
 *
 * Cost at a million members: about 0.5 µs for a rank, 1.5 µs for an update, as much for a page of 100, and 1
 * µs more for the lookup of an id; 24 to 33 bytes a member and board. Nothing but `fromEntries` takes long.
 * A new board costs nothing, and an old one is garbage-collected.
 */
import { limits } from "../../Limits.ts"
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
  /** Without the moves that wait: all but `set` go through `#settled`. */
  readonly #order: ScoreOrder
  readonly #moves = new Columns()

  /** An empty board. `members` may be shared with other boards of the same users. */
  constructor(members: Members = new Members(), order: ScoreOrder = new ScoreOrder(members)) {
    this.members = members
    this.#order = order
  }

  /** A board of `scores` in any order (`BoardBuilder`). */
  static fromEntries(scores: Iterable<BoardScore>, members: Members = new Members()): Leaderboard {
    const builder = new BoardBuilder(members)
    for (const { userId, score, tieSequence } of scores) builder.add(userId, score, tieSequence)
    return builder.build()
  }

  /** How many members are listed. */
  get total(): number {
    return this.#settled.total
  }

  /** The member number of `userId`, a new one if it has none. It stays until `members.release(userId)`. */
  memberOf(userId: string): number {
    return this.members.admit(userId)
  }

  /**
   * Gives `member` a score (integer, 0 to 2^53 - 1), reached with the record `tieSequence`. The score it has
   * already changes nothing, so it keeps its place among equals; 0 takes it off the board.
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

  /** Makes the moves that wait. */
  settle(): void {
    const { members, scores, size, ties } = this.#moves
    for (let n = 0; n < size; n++) this.#order.set(members[n]!, scores[n]!, ties[n]!)
    this.#moves.size = 0
  }

  /** The order after all moves. */
  get #settled(): ScoreOrder {
    if (this.#moves.size > 0) this.settle()
    return this.#order
  }

  /** `set` for a user id; it gets a number once it has a score above 0. */
  setUser(userId: string, score: number, tieSequence: number): void {
    const member = score === 0 ? this.members.find(userId) : this.members.admit(userId)
    if (member !== undefined) this.set(member, score, tieSequence)
  }

  /** Takes `member` off the board, if it is on it; it keeps its number. */
  remove(member: number): void {
    this.#settled.remove(member)
  }

  /** Takes a user off the board and gives its number back; for a user who is on no other board. */
  forget(userId: string): void {
    const member = this.members.find(userId)
    if (member === undefined) return
    this.#settled.remove(member)
    this.members.release(userId)
  }

  /** The score of `member`, 0 when it is not listed. */
  score(member: number): number {
    return this.#settled.scoreOf(member)
  }

  /** The score of `userId`, 0 when it is not listed. */
  scoreOf(userId: string): number {
    const member = this.members.find(userId)
    return member === undefined ? 0 : this.#settled.scoreOf(member)
  }

  /** The rank of `member`, `null` when it is not listed. */
  rank(member: number): number | null {
    const score = this.#settled.scoreOf(member)
    return score === 0 ? null : this.rankOfScore(score)
  }

  /** The rank of `userId`, `null` when it is not listed. */
  rankOf(userId: string): number | null {
    const member = this.members.find(userId)
    return member === undefined ? null : this.rank(member)
  }

  /** The rank of a `score` (> 0): 1 + the number of higher scores. */
  rankOfScore(score: number): number {
    return 1 + this.#settled.countAbove(score)
  }

  /** The number of members with at least `score` (≥ 1). */
  countFrom(score: number): number {
    return this.#settled.countAbove(score - 1)
  }

  /** How many members stand before `member`; `undefined` when it is not listed. */
  positionOf(member: number): number | undefined {
    return this.#settled.scoreOf(member) === 0 ? undefined : this.#settled.positionOf(member)
  }

  /** Calls `visit` for up to `limit` members (both integers ≥ 0) in order, from position `offset` on. */
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
      // It may begin inside a tie; from then on a new score begins at its own position.
      if (score !== scoreBefore) rank = scoreBefore === 0 ? this.rankOfScore(score) : position
      scoreBefore = score
      visit(member, score, rank)
    })
  }

  /** Throws when an invariant of the structure does not hold; O(total), for tests. */
  check(): void {
    this.#settled.check()
  }
}

// Other values would silently corrupt the order, so they throw.
const assertKey = (score: number, tieSequence: number): void => {
  if (!(Number.isSafeInteger(score) && score >= 0)) {
    throw new RangeError(`A score must be an integer from 0 to 2^53 - 1, not ${score}`)
  }
  if (!(Number.isSafeInteger(tieSequence) && tieSequence >= 0)) {
    throw new RangeError(`A tie sequence must be an integer from 0 to 2^53 - 1, not ${tieSequence}`)
  }
}

/**
 * Builds a board from scores in any order, each user at most once; `build` throws `ListedTwice` on a user named
 * twice. It holds the loop (`npm run bench -- leaderboard` prints how long for a million); to build one without
 * that, `set` the members of an empty board in slices instead.
 */
export class BoardBuilder {
  readonly #members: Members
  readonly #columns = new Columns()

  constructor(members: Members = new Members()) {
    this.#members = members
  }

  /** Throws on a score or sequence out of range. A score of 0 is not listed. */
  add(userId: string, score: number, tieSequence: number): void {
    if (score > 0) this.addMember(this.#members.admit(userId), score, tieSequence)
    else assertKey(score, tieSequence)
  }

  /** `add` for who has a number already, with a score above 0. */
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

/** Collects members with their keys in arrays that double. */
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
