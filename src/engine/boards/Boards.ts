/**
 * All leaderboards of one environment: of all time, and of the days, weeks and months of its project. The open
 * ones follow the durable state of users; they share one `Members`, so a user costs each of them about 30
 * bytes, and a new window nothing.
 *
 * A window is **open** from the first record that counts for it until the record that closes it; in between,
 * from its end on, the next one is open too. Then it is **frozen**: its board is taken out of the open
 * ones as it stands, and kept until the next snapshot has written it. From then on it is **stored**: read
 * from LMDB, until it is too old.
 *
 * A user who is hidden or erased leaves all boards at once, and closed ones for good: the row becomes a gap, in memory
 * at once and on disk with the next snapshot (`removed` lists those users).
 *
 * Cost: a record that changed xp moves the user on up to four boards, any other does nothing. The boards make
 * `boardMovesMax` moves at a time, each in its turn: one of the four after each quarter of so many records, so that they
 * do not all fall due with the same record. Closing a window moves a reference.
 */
import { Gaps } from "../../domain/board/Gaps.ts"
import { Leaderboard } from "../../domain/board/Leaderboard.ts"
import { MemberNames, Members } from "../../domain/board/Members.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { Fact, JournalRecord } from "../../domain/record/Record.ts"
import type { UserState } from "../../domain/user/User.ts"
import { type WindowKind, windowKinds } from "../../domain/values/Calendar.ts"
import { limits } from "../../Limits.ts"
import type { ClosedWindow, StoredWindow } from "./StoredBoard.ts"

type WindowClosed = Extract<Fact, { readonly kind: "leaderboard.window_closed" }>

/** Rows that are there and not shown any more. */
interface Removals {
  readonly gaps: Gaps
  /** Users who are gone and whose rows may still be on disk. */
  readonly removed: Set<string>
}

export interface FrozenBoard extends ClosedWindow, Removals {
  readonly index: number
  readonly board: Leaderboard
}

export interface StoredBoard extends StoredWindow, Removals {}

/** The boards of one kind of window. */
export class Windows {
  readonly open = new Map<number, Leaderboard>()
  /** Oldest first. */
  readonly frozen: Array<FrozenBoard> = []
  /** By index, oldest first. */
  readonly stored = new Map<number, StoredBoard>()
  /** The index of the newest window that was ever stored. */
  storedThrough = Number.NEGATIVE_INFINITY
  readonly #members: Members
  /** The board that was asked for last. */
  #latest: Leaderboard | undefined
  #latestIndex = 0

  constructor(members: Members) {
    this.#members = members
  }

  /** The board of a window for which records count; `undefined` where it is closed. */
  openBoard(index: number): Leaderboard | undefined {
    if (this.#latest !== undefined && index === this.#latestIndex) return this.#latest
    if (index <= (this.frozen.at(-1)?.index ?? this.storedThrough)) return undefined
    let board = this.open.get(index)
    if (board === undefined) {
      board = new Leaderboard(this.#members)
      this.open.set(index, board)
    }
    this.#latest = board
    this.#latestIndex = index
    return board
  }

  /** A board that a start found on disk; oldest first. */
  load(index: number, window: StoredWindow, gaps: Gaps): void {
    this.stored.set(index, { ...window, gaps, removed: new Set() })
    this.storedThrough = index
  }

  /** Drops the boards of windows up to `index`, which closed empty. */
  dropThrough(index: number): void {
    for (const open of this.open.keys()) if (open <= index) this.drop(open)
  }

  /** The record `sequence` closes a window. One that is closed already stays as it is. */
  close({ endsAt, index, startsAt }: WindowClosed, sequence: number): void {
    const board = this.openBoard(index)
    if (board === undefined) return
    this.drop(index)
    const gaps = new Gaps()
    const removed = new Set<string>()
    this.frozen.push({ index, startsAt, endsAt, sequence, board, gaps, removed })
  }

  /** The open windows before the one at `open`, for which no record counts any more; empty ones are dropped. */
  over(open: number): ReadonlyArray<{ readonly index: number; readonly total: number }> {
    const over: Array<{ readonly index: number; readonly total: number }> = []
    for (const [index, { total }] of this.open) {
      if (index >= open) continue
      if (total > 0) over.push({ index, total })
      else this.drop(index)
    }
    return over
  }

  /** Makes the moves that wait on the board in use. */
  settle(): void {
    this.#latest?.settle()
  }

  drop(index: number): void {
    this.open.delete(index)
    this.#latest = undefined
  }

  /** A frozen board is on disk. */
  stores(frozen: FrozenBoard, { buckets, size }: StoredWindow): void {
    const { endsAt, gaps, index, removed, sequence, startsAt } = frozen
    this.frozen.splice(this.frozen.indexOf(frozen), 1)
    this.stored.set(index, { startsAt, endsAt, sequence, size, buckets, gaps, removed })
    this.storedThrough = index
  }

  /** Takes a user off the closed boards, because of the record `sequence`. */
  leaveClosed(member: number | undefined, userId: string, sequence: number): void {
    for (const { board, gaps, removed } of this.frozen) {
      const position = member === undefined ? undefined : board.positionOf(member)
      if (position === undefined || !gaps.add(position)) continue
      removed.add(userId)
    }
    for (const { removed, sequence: closedBy } of this.stored.values()) {
      // While the journal is replayed, a window may be stored that closed after this record.
      if (closedBy < sequence) removed.add(userId)
    }
  }
}

export class Boards {
  readonly members = new Members()
  /** The display names of users, listed or not. */
  readonly names = new MemberNames()
  allTime = new Leaderboard(this.members)
  readonly windows: Readonly<Record<WindowKind, Windows>> = {
    daily: new Windows(this.members),
    weekly: new Windows(this.members),
    monthly: new Windows(this.members),
  }
  /** The board that settles next, and the records until then. */
  #settling = 0
  #untilSettled = settleEveryRecords

  /** `record` made the durable state of the user what it is now. */
  follow(actor: { member: number | undefined }, user: UserState, record: JournalRecord): void {
    const { cause, sequence } = record
    if (cause.kind === "profile") {
      if (cause.change.displayName !== undefined) this.#name(actor, user)
      if (cause.change.hidden === true) this.hide(user.id, sequence)
      if (cause.change.hidden === false) this.#show(user)
      return
    }
    if (user.profile.hidden) return
    if (cause.kind === "revocation") {
      this.#revoke(actor, user, record)
      return
    }
    if (user.scoreSequence !== sequence) return
    actor.member ??= this.members.admit(user.id)
    this.allTime.set(actor.member, user.xp, sequence)
    const { daily, monthly, weekly } = user.windows
    if (daily.sequence === sequence) this.#credit("daily", daily, actor.member)
    if (weekly.sequence === sequence) this.#credit("weekly", weekly, actor.member)
    if (monthly.sequence === sequence) this.#credit("monthly", monthly, actor.member)
    if (--this.#untilSettled === 0) this.#settleNext()
  }

  /** The scores that a revocation leaves are those of earlier records. */
  #revoke(
    actor: { member: number | undefined },
    user: UserState,
    { facts, sequence }: JournalRecord,
  ): void {
    for (const fact of facts) {
      if (fact.kind === "xp.revoked") {
        actor.member ??= this.members.admit(user.id)
        this.#show(user)
      }
      if (fact.kind !== "windows.credited") continue
      for (const kind of windowKinds) {
        const index = fact[kind]
        if (index === undefined || index === user.windows[kind].index) continue
        actor.member ??= this.members.admit(user.id)
        this.#credit(kind, { index, xp: 0, sequence }, actor.member)
      }
    }
  }

  #settleNext(): void {
    this.#untilSettled = settleEveryRecords
    const kind = windowKinds[this.#settling++]
    if (kind !== undefined) {
      this.windows[kind].settle()
      return
    }
    this.allTime.settle()
    this.#settling = 0
  }

  #name(actor: { member: number | undefined }, { id, profile }: UserState): void {
    if (profile.displayName !== null) actor.member ??= this.members.admit(id)
    const member = actor.member ?? this.members.find(id)
    if (member !== undefined) this.names.set(member, profile.displayName)
  }

  #credit(
    kind: WindowKind,
    { index, sequence, xp }: { index: number; sequence: number; xp: number },
    member: number,
  ): void {
    this.windows[kind].openBoard(index)?.set(member, Math.max(0, xp), sequence)
  }

  /** Puts a user who was hidden back on the boards that are not closed. */
  #show(user: UserState): void {
    const member = this.members.admit(user.id)
    this.allTime.set(member, user.xp, user.scoreSequence)
    for (const kind of windowKinds) {
      const { index, indexBefore, sequence, sequenceBefore, xp, xpBefore } = user.windows[kind]
      if (sequence > 0) this.#credit(kind, { index, sequence, xp }, member)
      if (sequenceBefore > 0) {
        this.#credit(kind, { index: indexBefore, sequence: sequenceBefore, xp: xpBefore }, member)
      }
    }
  }

  /** Takes a user off every board, because of the record `sequence`. */
  hide(userId: string, sequence: number): void {
    const member = this.members.find(userId)
    for (const kind of windowKinds) {
      const windows = this.windows[kind]
      if (member !== undefined) for (const board of windows.open.values()) board.remove(member)
      windows.leaveClosed(member, userId, sequence)
    }
    if (member !== undefined) this.allTime.remove(member)
  }

  /** `hide`, and nothing is left of the user: name and member number are gone too. */
  forget(userId: string, sequence: number): void {
    this.hide(userId, sequence)
    const member = this.members.find(userId)
    if (member === undefined) return
    this.names.set(member, null)
    this.members.release(userId)
  }

  /**
   * A record of the journal's tail that the actor's state has already, at start: it may not have reached
   * the closed boards on disk.
   */
  passOver(record: JournalRecord): void {
    const { cause, facts, sequence, subject } = record
    if (subject.actor !== "user") {
      this.close(record)
      return
    }
    const hides = cause.kind === "profile" && cause.change.hidden === true
    const erases = cause.kind === "erasure" && facts.length > 0
    if (!hides && !erases) return
    const member = this.members.find(subject.userId)
    for (const kind of windowKinds) {
      this.windows[kind].leaveClosed(member, subject.userId, sequence)
    }
  }

  /** Closes the windows that a record of the project's says are over. */
  close({ facts, sequence }: JournalRecord): void {
    for (const fact of facts) {
      if (fact.kind === "leaderboard.window_closed") this.windows[fact.window].close(fact, sequence)
    }
  }
}

/** Each of the four boards settles after `boardMovesMax` records, before it does so by itself. */
const settleEveryRecords = limits.boardMovesMax / (windowKinds.length + 1)

/** An environment, as its boards are read and stored. */
export interface RankedEnvironment {
  readonly id: string
  readonly boards: Boards
  readonly project: { readonly durable: ProjectState }
}
