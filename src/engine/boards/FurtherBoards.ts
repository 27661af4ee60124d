/**
 * The boards of a definition other than `xp`: they rank by scores of their own, or by present lengths of a streak
 * or values of a metric. `Boards.ts` has the design.
 */
import type { Grouping, GroupWatcher } from "../../domain/board/Grouping.ts"
import type { Members } from "../../domain/board/Members.ts"
import { addsUp, type Board, hasWindow, isWhole } from "../../domain/project/BoardDefinition.ts"
import { isExtremum, type Metric } from "../../domain/project/Metric.ts"
import type { Fact } from "../../domain/record/Record.ts"
import { groupOf } from "../../domain/user/Group.ts"
import { metricTotal } from "../../domain/user/MetricState.ts"
import { lastPeriodOf } from "../../domain/user/Streak.ts"
import { earnedOf, isDisqualified, noBoardScores, type UserState } from "../../domain/user/User.ts"
import { timedWindows } from "../../domain/values/Calendar.ts"
import { prefixesEnd } from "../users/BucketTable.ts"
import { BoardSet } from "./BoardSet.ts"
import { watcherOf } from "./Groupings.ts"
import { keysOf } from "./ScoreKeys.ts"

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
  override readonly keyOf: (score: number) => number
  override readonly scoreOf: (key: number) => number
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

  override get isFilled(): boolean {
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
    if (scores !== undefined) this.creditAll(windows, member)
    this.moved()
  }

  /** The amount of the currency that the user ever earned, or the value of the metric, scaled. */
  #everOf(user: UserState): number {
    const { score } = this.board
    if ("currency" in score) return earnedOf(user, score.currency)
    return this.#metric === undefined ? 0 : (metricTotal(user.metrics.get(this.#metric.id)) ?? 0)
  }

  /** A user without a value is not listed. */
  #placeValue(user: UserState, { id }: Metric): void {
    const state = user.metrics.get(id)
    const value = state === undefined ? null : metricTotal(state)
    if (value === null && this.members.find(user.id) === undefined) return
    this.allTime.set(this.#memberOf(user), value === null ? 0 : this.keyOf(value), 0)
    this.moved()
  }

  /** Of equal lengths, the streak with the earlier last period has reached it first. */
  #placeStreak(user: UserState, key: string): void {
    const streak = user.streaks.get(key)
    const last = streak && lastPeriodOf(streak)
    const length = streak === undefined || last === undefined || streak.broken ? 0 : streak.length
    if (length === 0 && this.members.find(user.id) === undefined) return
    const member = this.#memberOf(user)
    const since = Math.max(0, last ?? 0)
    // `set` keeps the tie of an equal score, but a streak may have broken and reached the same length later.
    if (this.allTime.tie(member) !== since) this.allTime.remove(member)
    this.allTime.set(member, this.keyOf(length), since)
    this.moved()
  }

  /** A revocation may leave no score in a window. Then the state no longer has the window. */
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
