/**
 * All leaderboards of one environment: those of the board `xp`, and those of each further definition
 * that was published. Each has a board of all time, and one for each day, week and month of the
 * project, and for each of its own windows of days.
 *
 * The board of a window passes through three states:
 * - open, from the first record that counts for the window until the record that closes it. From
 *   the end of a window until that record, the next window is open too.
 * - frozen, until the next snapshot has written it. The board no longer changes.
 * - stored, until its retention ends. It is read from LMDB.
 * The board of all time passes through them too, if its leaderboard ends: as the last of its windows,
 * and it is kept.
 *
 * Invariants:
 * - The all-time boards and the open boards show the durable state of users: a user is listed who has a
 *   score above 0, is not hidden, and is not disqualified on the board. A further board that was just
 *   published is being filled: unchanged users are listed up to a prefix of their hashes (`filledTo`).
 * - A window is in one of the three states at most. No record counts for a window up to the newest
 *   one that was frozen or stored.
 * - A user who is hidden, erased or merged into another leaves all boards at once, and closed boards for
 *   good; who is disqualified on a board leaves that one in the same way. On a closed board the row
 *   becomes a gap: at once in memory, and on disk with the next snapshot (`removed` lists those users).
 *
 * Ownership: the commit pipeline changes boards (stage `actor`), the project actor's records close
 * windows, make and drop further boards, `actor/BoardFills.ts` fills new ones, and `BoardWriter` moves
 * frozen boards to disk.
 *
 * Cost: the boards share one `Members`, so a user costs about 30 bytes on each board, and a new
 * window costs nothing. A record that changes xp moves the user on up to four boards, and so does
 * a score on a further definition; other records do nothing. A board makes `boardMovesMax` moves at a time. The boards take turns, one after
 * its share of as many records, so that their moves do not fall due with the same record.
 * Closing a window moves a reference.
 */
import { MemberNames, Members } from "../../domain/board/Members.ts"
import {
  type Board,
  hasScores,
  isOfTeams,
  isXpBoard,
  metricOf,
  xpBoard,
} from "../../domain/project/BoardDefinition.ts"
import { definitionIn } from "../../domain/project/Kinds.ts"
import type { Metric } from "../../domain/project/Metric.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { Disqualification } from "../../domain/record/BoardFact.ts"
import type { Cause, Fact, JournalRecord, UserFact } from "../../domain/record/Record.ts"
import { isDisqualified, type UserState } from "../../domain/user/User.ts"
import { windowKinds } from "../../domain/values/Calendar.ts"
import { prefixesEnd } from "../users/BucketTable.ts"
import { BoardSet, type WindowOnDisk } from "./BoardSet.ts"
import { FurtherBoards } from "./FurtherBoards.ts"
import { Groupings } from "./Groupings.ts"
import type { WindowClosed } from "./Windows.ts"

export class Boards extends BoardSet {
  /** The display names of users, listed or not. */
  readonly names = new MemberNames()
  /** The boards of further definitions, by id. */
  readonly further = new Map<string, FurtherBoards>()
  /** Those of teams, by their ids. `TeamScores.ts` adds up their scores. */
  readonly ofTeams = new Map<string, FurtherBoards>()
  readonly teams = new Members()
  /** The ids of boards that were archived and may still be on disk. */
  readonly gone = new Set<string>()
  readonly #metrics: () => ReadonlyMap<string, Metric>
  readonly #groupings = new Groupings()
  /**
   * Closed windows that a start has found on disk, until their board is defined: the stored project may be older than
   * they are, so that the journal makes the board.
   */
  readonly #found = new Map<string, Array<WindowOnDisk>>()
  /** How many of the further boards show present lengths or values. */
  #ofPresent = 0

  constructor(metrics: () => ReadonlyMap<string, Metric> = () => new Map()) {
    super(new Members())
    this.#metrics = metrics
  }

  /** All boards, with the ids of the definitions. */
  *sets(): Generator<readonly [boardId: string, set: BoardSet]> {
    yield* this.#ofUsers()
    yield* this.ofTeams
  }

  *#ofUsers(): Generator<readonly [boardId: string, set: BoardSet]> {
    yield [xpBoard.id, this]
    yield* this.further
  }

  /** The boards of a definition; `undefined`: it is a draft, archived, or unknown. */
  of(boardId: string): BoardSet | undefined {
    if (boardId === xpBoard.id) return this
    return this.further.get(boardId) ?? this.ofTeams.get(boardId)
  }

  /** A start has found this window on disk. */
  found(boardId: string, found: WindowOnDisk): void {
    if (boardId === xpBoard.id) this.load(found)
    else this.#found.set(boardId, [...(this.#found.get(boardId) ?? []), found])
  }

  /** Makes, changes or drops the boards of a definition. */
  define(board: Board): void {
    if (isXpBoard(board)) return
    const own = isOfTeams(board) ? this.ofTeams : this.further
    const known = own.get(board.id)
    if (!hasScores(board)) {
      if (this.#found.delete(board.id)) this.gone.add(board.id)
      if (known === undefined) return
      own.delete(board.id)
      known.dropGroups()
      this.#groupings.prune()
      this.gone.add(board.id)
      if (known.present !== undefined) this.#ofPresent--
    } else if (known === undefined) {
      const members = isOfTeams(board) ? this.teams : this.members
      const metric = metricOf(this.#metrics(), board)
      const grouping = board.groupBy === null ? undefined : this.#groupings.of(board.groupBy)
      const made = new FurtherBoards(members, board, {
        ...(metric && { metric }),
        ...(grouping && { grouping }),
      })
      if (isOfTeams(board)) made.filledTo = prefixesEnd
      for (const found of this.#found.get(board.id) ?? []) made.load(found)
      this.#found.delete(board.id)
      own.set(board.id, made)
      if (made.present !== undefined) this.#ofPresent++
    } else known.board = board
  }

  /** `user` is the durable state after `record`. */
  follow(actor: { member: number | undefined }, user: UserState, record: JournalRecord): void {
    if (record.cause.kind === "disqualify") {
      this.#disqualify(user, record.cause, record.sequence)
      return
    }
    this.#followXp(actor, user, record)
    if (this.further.size > 0 && !user.profile.hidden) this.#followFurther(user, record)
  }

  /** A user who is listed again is so on the boards that are not closed. */
  #disqualify(
    user: UserState,
    { disqualified, leaderboard }: Disqualification,
    sequence: number,
  ): void {
    const boards = this.of(leaderboard)
    if (boards === undefined) return
    if (disqualified) boards.leave(this.members.find(user.id), user.id, sequence)
    else if (user.profile.hidden) return
    else if (boards instanceof FurtherBoards) boards.place(user)
    else this.#show(user)
  }

  #followFurther(user: UserState, { cause, facts }: JournalRecord): void {
    // A change of time zone finds streaks that the clock has not ended yet.
    const isMove = cause.kind === "profile" && cause.change.hidden !== false
    const scores = cause.kind === "event" || cause.kind === "reward" || isMove
    // A tick may replace the value of a metric, and pay a milestone that a pause reached.
    if (scores || (cause.kind === "tick" && !facts.some(addsWithoutScore))) {
      for (const fact of facts) {
        if (fact.kind === "board.scored") {
          if (fact.missed !== true) this.further.get(fact.boardId)?.place(user)
        } else if (this.#ofPresent > 0) {
          const changed = presentIn(fact)
          if (changed !== undefined) this.#placePresent(changed, user)
        }
      }
      return
    }
    if (keepsEarned.has(cause.kind)) return
    this.#placeOnFurther(user)
    for (const fact of facts) {
      if (fact.kind === "board.scored") this.further.get(fact.boardId)?.leaveEmptied(user, fact)
    }
  }

  /** Gives a user the places on all further boards that the durable state has. */
  #placeOnFurther(user: UserState): void {
    if (user.profile.hidden) return
    for (const boards of this.further.values()) boards.place(user)
  }

  #placePresent(changed: string, user: UserState): void {
    for (const boards of this.further.values()) if (boards.present === changed) boards.place(user)
  }

  #followXp(actor: { member: number | undefined }, user: UserState, record: JournalRecord): void {
    const { cause, sequence } = record
    if (cause.kind === "profile") {
      if (cause.change.attributes !== undefined) {
        this.#groupings.follow(actor.member ?? this.members.find(user.id), user)
      }
      if (cause.change.displayName !== undefined) this.#name(actor, user)
      if (cause.change.hidden === true) this.hide(user.id, sequence)
      if (cause.change.hidden === false) this.#show(user)
      return
    }
    if (user.profile.hidden) return
    if (cause.kind === "absorb") {
      actor.member ??= this.members.admit(user.id)
      this.#show(user)
      return
    }
    if (isDisqualified(user, xpBoard.id)) return
    if (cause.kind === "revocation") {
      this.#revoke(actor, user, record)
      return
    }
    if (user.scoreSequence !== sequence) return
    actor.member ??= this.members.admit(user.id)
    this.allTime.set(actor.member, user.xp, sequence)
    const { daily, monthly, weekly } = user.windows
    if (daily.sequence === sequence) this.credit("daily", daily, actor.member)
    if (weekly.sequence === sequence) this.credit("weekly", weekly, actor.member)
    if (monthly.sequence === sequence) this.credit("monthly", monthly, actor.member)
    this.moved()
  }

  /** Sets the scores that a revocation leaves, with the sequences of the records that set them. */
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
        this.credit(kind, { index, xp: 0, sequence }, actor.member)
      }
    }
  }

  #name(actor: { member: number | undefined }, { id, profile }: UserState): void {
    if (profile.displayName !== null) actor.member ??= this.members.admit(id)
    const member = actor.member ?? this.members.find(id)
    if (member !== undefined) this.names.set(member, profile.displayName)
  }

  /** Puts a user on the boards that are not closed, with the scores of the durable state. */
  #show(user: UserState): void {
    const member = this.members.admit(user.id)
    if (isDisqualified(user, xpBoard.id)) {
      this.leaveOpen(member)
      return
    }
    this.allTime.set(member, user.xp, user.scoreSequence)
    this.creditAll(user.windows, member)
  }

  /** Removes a user from every board, because of the record `sequence`. */
  hide(userId: string, sequence: number): void {
    const member = this.members.find(userId)
    for (const [, boards] of this.#ofUsers()) boards.leave(member, userId, sequence)
  }

  /** `hide`, and deletes the user's name and member number too. */
  forget(userId: string, sequence: number): void {
    this.hide(userId, sequence)
    const member = this.members.find(userId)
    if (member === undefined) return
    this.names.set(member, null)
    this.#groupings.forget(member)
    this.members.release(userId)
  }

  /**
   * Recovery has read a record that the actor's stored value already includes. The closed boards on
   * disk may lack what it removes.
   */
  passOver(record: JournalRecord): void {
    const { cause, sequence, subject } = record
    if (subject.actor !== "user") {
      this.followProject(record)
      return
    }
    if (cause.kind === "disqualify") {
      if (!cause.disqualified) return
      const member = this.members.find(subject.userId)
      this.of(cause.leaderboard)?.leaveClosed(member, subject.userId, sequence)
      return
    }
    const hides = cause.kind === "profile" && cause.change.hidden === true
    if (!hides && cause.kind !== "erasure" && !(cause.kind === "mergeEnd" && cause.done)) return
    const member = this.members.find(subject.userId)
    for (const [, boards] of this.#ofUsers()) boards.leaveClosed(member, subject.userId, sequence)
  }

  /** Closes the windows that a record of the project says are over, and follows definitions. */
  followProject({ facts, sequence }: JournalRecord): void {
    let allTime: WindowClosed | undefined
    for (const fact of facts) {
      if (fact.kind === "leaderboard.window_closed") {
        const boards = fact.board === undefined ? this : this.of(fact.board.boardId)
        if (fact.window === "all_time") allTime = fact
        else boards?.windows[fact.window].close(fact, sequence)
        continue
      }
      if (fact.kind === "leaderboard.closed") {
        const of = allTime?.board?.boardId === fact.boardId ? allTime : undefined
        this.of(fact.boardId)?.end(of, sequence)
        continue
      }
      const changed = definitionIn(fact)
      if (changed?.noun === "leaderboard") this.define(changed.definition)
    }
  }
}

type StreakFact = Extract<UserFact, { readonly kind: `streak.${string}` }>

const addsWithoutScore = ({ kind }: Fact): boolean =>
  kind === "metric.changed" || kind.endsWith(".earned")

const isOfStreak = (fact: Fact): fact is StreakFact => fact.kind.startsWith("streak.")

/** The key of the streak, or the id of the metric, that a fact may have changed. */
const presentIn = (fact: Fact): string | undefined =>
  fact.kind === "metric.changed" ? fact.metricId : isOfStreak(fact) ? fact.key : undefined

/** The causes of records that never change what a user ever earned, nor whether boards show the user. */
const keepsEarned: ReadonlySet<Cause["kind"]> = new Set([
  "spend",
  "merge",
  "erasing",
  "ranks",
] as const)

/** The parts of an environment by which its boards are read and stored. */
export interface RankedEnvironment {
  readonly id: string
  readonly boards: Boards
  readonly project: { readonly durable: ProjectState }
}
