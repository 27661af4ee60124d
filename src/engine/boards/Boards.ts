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
import type { Grouping, GroupWatcher } from "../../domain/board/Grouping.ts"
import { Leaderboard } from "../../domain/board/Leaderboard.ts"
import { MemberNames, Members } from "../../domain/board/Members.ts"
import {
  addsUp,
  type Board,
  type BoardWindow,
  hasScores,
  hasWindow,
  isOfTeams,
  isWhole,
  isXpBoard,
  metricOf,
  xpBoard,
} from "../../domain/project/BoardDefinition.ts"
import { definitionIn } from "../../domain/project/Kinds.ts"
import { isExtremum, type Metric } from "../../domain/project/Metric.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { Disqualification } from "../../domain/record/BoardFact.ts"
import type { Cause, Fact, JournalRecord, UserFact } from "../../domain/record/Record.ts"
import { groupOf } from "../../domain/user/Group.ts"
import { metricTotal } from "../../domain/user/MetricState.ts"
import { lastPeriodOf } from "../../domain/user/Streak.ts"
import { earnedOf, isDisqualified, noBoardScores, type UserState } from "../../domain/user/User.ts"
import { type TimedWindow, timedWindows, windowKinds } from "../../domain/values/Calendar.ts"
import { limits } from "../../Limits.ts"
import { prefixesEnd } from "../users/BucketTable.ts"
import { Groupings, watcherOf } from "./Groupings.ts"
import { asItIs, keysOf } from "./ScoreKeys.ts"
import type { StoredWindow } from "./StoredBoard.ts"
import {
  type FrozenBoard,
  type StoredBoard,
  type WindowClosed,
  Windows,
  windowOf,
} from "./Windows.ts"

/** The boards of one definition. */
export class BoardSet {
  readonly members: Members
  allTime: Leaderboard
  readonly windows: Readonly<Record<TimedWindow, Windows>>
  /** The board of all time after the leaderboard has ended, as the window 0; before, there is none. */
  ended: Windows | undefined
  /** The kinds of windows that settle. */
  protected settled: ReadonlyArray<TimedWindow> = windowKinds
  /** The board that settles next, and how many records come before that. */
  #settling = 0
  #untilSettled = settleEvery(windowKinds)

  readonly #newBoard: () => Leaderboard

  constructor(members: Members, grouping?: Grouping) {
    this.members = members
    this.#newBoard = () => Leaderboard.grouped(members, grouping)
    this.allTime = this.#newBoard()
    this.windows = {
      daily: new Windows(this.#newBoard),
      weekly: new Windows(this.#newBoard),
      monthly: new Windows(this.#newBoard),
      days: new Windows(this.#newBoard),
    }
  }

  /** The board of all time and those of the open windows. */
  *openBoards(): Generator<Leaderboard> {
    yield this.allTime
    for (const kind of timedWindows) yield* this.windows[kind].open.values()
  }

  /** The closed windows that are not stored. */
  *frozenBoards(): Generator<FrozenBoard> {
    for (const kind of timedWindows) yield* this.windows[kind].frozen
    if (this.ended !== undefined) yield* this.ended.frozen
  }

  /** Whether a window waits to be stored. */
  get hasFrozen(): boolean {
    if (this.ended !== undefined && this.ended.frozen.length > 0) return true
    return timedWindows.some((kind) => this.windows[kind].frozen.length > 0)
  }

  /** The windows of a kind; `undefined`: all time, and the leaderboard has not ended. */
  windowsOf(kind: BoardWindow): Windows | undefined {
    return kind === "all_time" ? this.ended : this.windows[kind]
  }

  /** A start has found this board on disk. */
  load(
    kind: BoardWindow,
    index: number,
    window: StoredWindow,
    gaps: Pick<StoredBoard, "gaps" | "groupGaps">,
  ): void {
    if (kind === "all_time") this.ended ??= new Windows(this.#newBoard)
    this.windowsOf(kind)!.load(index, window, gaps)
  }

  /** The record `sequence` ends the leaderboard. `closed`: how it closes all time, if that lists users. */
  end(closed: WindowClosed | undefined, sequence: number): void {
    if (this.ended !== undefined) return
    this.ended = new Windows(this.#newBoard)
    const window = closed === undefined ? allTimeWindow : windowOf(closed)
    this.ended.freeze(this.allTime, window, sequence)
    this.allTime = this.#newBoard()
    // They list nobody: the record has closed those that do.
    for (const kind of timedWindows) this.windows[kind].dropThrough(Number.POSITIVE_INFINITY)
  }

  credit(
    kind: TimedWindow,
    { index, sequence, xp }: { index: number; sequence: number; xp: number },
    member: number,
  ): void {
    this.windows[kind].openBoard(index)?.set(member, Math.max(0, xp), sequence)
  }

  /** Sets the scores of the windows that are not closed. */
  creditAll(windows: UserState["windows"], member: number, keyOf = asItIs): void {
    for (const kind of timedWindows) {
      const { index, indexBefore, sequence, sequenceBefore, xp, xpBefore } = windows[kind]
      if (sequence > 0) this.credit(kind, { index, sequence, xp: keyOf(xp) }, member)
      if (sequenceBefore === 0) continue
      const before = { index: indexBefore, sequence: sequenceBefore, xp: keyOf(xpBefore) }
      this.credit(kind, before, member)
    }
  }

  /** A record has changed scores: one of the boards settles now and then. */
  moved(): void {
    if (--this.#untilSettled > 0) return
    this.#untilSettled = settleEvery(this.settled)
    const kind = this.settled[this.#settling++]
    if (kind !== undefined) {
      this.windows[kind].settle()
      return
    }
    this.allTime.settle()
    this.#settling = 0
  }

  /** Removes a user from every board, because of the record `sequence`. */
  leave(member: number | undefined, userId: string, sequence: number): void {
    this.leaveOpen(member)
    this.leaveClosed(member, userId, sequence)
  }

  /** Removes a user from the board of all time and the open windows. */
  leaveOpen(member: number | undefined): void {
    if (member === undefined) return
    for (const board of this.openBoards()) board.remove(member)
  }

  /** Removes a user from the closed windows, because of the record `sequence`. */
  leaveClosed(member: number | undefined, userId: string, sequence: number): void {
    for (const kind of timedWindows) this.windows[kind].leaveClosed(member, userId, sequence)
    this.ended?.leaveClosed(member, userId, sequence)
  }
}

const allTimeWindow = { index: 0, startsAt: null, endsAt: null }

/** The boards of a definition other than `xp`. */
export class FurtherBoards extends BoardSet {
  /** The present definition. */
  board: Board
  /** The metric that the board ranks by; absent: it ranks by something else. */
  readonly #metric: Metric | undefined
  /**
   * The key of the streak, or the id of the metric, whose present lengths or values the board shows;
   * absent: it has scores.
   */
  readonly present: string | undefined
  /** All users below this prefix of their hashes are listed. */
  filledTo = 0
  /** The key by which the boards order a score, and the score of a key. */
  readonly keyOf: (score: number) => number
  readonly scoreOf: (key: number) => number
  /** The groups of users; absent: the board has none. */
  readonly #grouping: Grouping | undefined
  readonly #watcher: GroupWatcher = watcherOf(this)

  constructor(
    members: Members,
    board: Board,
    { grouping, metric }: { readonly grouping?: Grouping; readonly metric?: Metric } = {},
  ) {
    super(members, grouping)
    this.board = board
    if (hasWindow(board, "days")) this.settled = timedWindows
    this.#metric = metric
    this.#grouping = grouping
    grouping?.watchers.add(this.#watcher)
    const showsValues = metric !== undefined && !addsUp(metric.aggregate)
    const streak = "streak" in board.score ? board.score.streak : undefined
    this.present = showsValues ? metric.id : streak
    const hasNegatives = metric !== undefined && isExtremum(metric.aggregate)
    const { keyOf, scoreOf } = keysOf(board.order, hasNegatives)
    this.keyOf = keyOf
    this.scoreOf = scoreOf
  }

  get isFilled(): boolean {
    return this.filledTo >= prefixesEnd
  }

  /** The board is archived. */
  dropGroups(): void {
    this.#grouping?.watchers.delete(this.#watcher)
  }

  /** The member number of a user, who is in the group that the durable state has. */
  #memberOf(user: UserState): number {
    const member = this.members.admit(user.id)
    this.#grouping?.assign(member, groupOf(user.profile, this.board.groupBy!))
    return member
  }

  /** Gives a user who is not hidden the places that the durable state has. */
  place(user: UserState): void {
    if (this.ended !== undefined) return
    const { board } = this
    if (isDisqualified(user, board.id)) {
      this.leaveOpen(this.members.find(user.id))
      return
    }
    if (this.present !== undefined) {
      if (this.#metric === undefined) this.#placeStreak(user, this.present)
      else this.#placeValue(user, this.#metric)
      return
    }
    const scores = user.boards.get(board.id)
    const { counted, missed, sequence, windows } = scores ?? noBoardScores
    const hasTotal = hasWindow(board, "all_time")
    const all = isWhole(board) ? this.#everOf(user) - missed : counted
    const total = hasTotal ? Math.max(0, all) : 0
    if (total === 0 && scores === undefined && this.members.find(user.id) === undefined) return
    const member = this.#memberOf(user)
    this.allTime.set(member, this.keyOf(total), sequence)
    if (scores !== undefined) this.creditAll(windows, member, this.keyOf)
    this.moved()
  }

  /** What the user ever earned of the currency, or the value of the metric, scaled. */
  #everOf(user: UserState): number {
    const { score } = this.board
    if ("currency" in score) return earnedOf(user, score.currency)
    return this.#metric === undefined ? 0 : (metricTotal(user.metrics.get(this.#metric.id)) ?? 0)
  }

  /** Who has no value is not listed. */
  #placeValue(user: UserState, { id }: Metric): void {
    const state = user.metrics.get(id)
    const value = state === undefined ? null : metricTotal(state)
    if (value === null && this.members.find(user.id) === undefined) return
    this.allTime.set(this.#memberOf(user), value === null ? 0 : this.keyOf(value), 0)
    this.moved()
  }

  /** Of equal lengths, the one whose last period is earlier was reached first. */
  #placeStreak(user: UserState, key: string): void {
    const streak = user.streaks.get(key)
    const last = streak && lastPeriodOf(streak)
    const length = streak === undefined || last === undefined || streak.broken ? 0 : streak.length
    if (length === 0 && this.members.find(user.id) === undefined) return
    const member = this.#memberOf(user)
    const since = Math.max(0, last ?? 0)
    // A streak that broke and is as long again was reached anew.
    if (this.allTime.tie(member) !== since) this.allTime.remove(member)
    this.allTime.set(member, this.keyOf(length), since)
    this.moved()
  }

  /** A revocation may have left nothing of a window: then the state does not have it any more. */
  leaveEmptied(user: UserState, fact: Extract<Fact, { readonly kind: "board.scored" }>): void {
    const member = this.members.find(user.id)
    const { windows } = user.boards.get(fact.boardId) ?? noBoardScores
    for (const kind of timedWindows) {
      const index = fact[kind]
      if (index === undefined || member === undefined || isListedIn(windows[kind], index)) continue
      this.credit(kind, { index, xp: 0, sequence: user.sequence }, member)
    }
  }
}

const isListedIn = (scores: UserState["windows"]["daily"], index: number): boolean =>
  index === scores.index || (scores.sequenceBefore > 0 && index === scores.indexBefore)

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

  /** Makes, changes or drops the boards of a definition. */
  define(board: Board): void {
    if (isXpBoard(board)) return
    const own = isOfTeams(board) ? this.ofTeams : this.further
    const known = own.get(board.id)
    if (!hasScores(board)) {
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
    const scores = cause.kind === "event" || cause.kind === "reward"
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
    if (cause.kind === "profile" ? cause.change.hidden !== false : keepsEarned.has(cause.kind))
      return
    this.placeOnFurther(user)
    for (const fact of facts) {
      if (fact.kind === "board.scored") this.further.get(fact.boardId)?.leaveEmptied(user, fact)
    }
  }

  /** Gives a user the places on all further boards that the durable state has. */
  placeOnFurther(user: UserState): void {
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
    if (cause.kind === "profile") {
      this.#groupings.passOver(this.members.find(subject.userId), record)
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
const keepsEarned: ReadonlySet<Cause["kind"]> = new Set(["spend", "merge", "erasing"] as const)

/**
 * Each board settles after at most `boardMovesMax` records, before its own bound makes it settle. One
 * settles after so many records.
 */
const settleEvery = ({ length }: ReadonlyArray<TimedWindow>): number =>
  Math.floor(limits.boardMovesMax / (length + 1))

/** The parts of an environment by which its boards are read and stored. */
export interface RankedEnvironment {
  readonly id: string
  readonly boards: Boards
  readonly project: { readonly durable: ProjectState }
}
