/**
 * The prizes of closed windows that are due to users. Each payment must be due, and is due no more afterwards.
 * When a payout ends, no prize may be left for a user whom the board has listed since the close.
 */
import { expect } from "@effect/vitest"
import {
  type Board,
  type BoardWindow,
  isOfTeams,
} from "../../src/domain/project/BoardDefinition.ts"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import { windowName } from "./BoardScores.ts"
import type { MixedModel, Person } from "./MixedModel.ts"
import type { Row } from "./MixedRows.ts"

interface Place {
  readonly window: BoardWindow
  readonly index: number
}

interface Payout {
  readonly board: Board
  readonly place: Place
  /** The points of each user, or of each member of a team by its number. */
  readonly points: ReadonlyMap<string | number, number>
  /** Those who must have been paid at the end. */
  readonly due: Set<string>
  /** Those who have left the board, and may have been asked before. */
  readonly left: Set<string>
  readonly paid: Set<string>
}

export class MixedPayouts {
  readonly #model: MixedModel
  readonly open = new Map<string, Payout>()
  readonly seen = { paid: 0, toMembers: 0, forfeited: 0, forMerged: 0 }

  constructor(model: MixedModel) {
    this.#model = model
  }

  begin(board: Board, place: Place, rows: ReadonlyArray<Row>): void {
    const points = new Map(rows.flatMap(({ of, won }) => (won > 0 ? [[of, won] as const] : [])))
    const payout: Payout = {
      board,
      place,
      points,
      due: new Set(),
      left: new Set(),
      paid: new Set(),
    }
    for (const person of this.#model.people.values()) {
      const isDue = isOfTeams(board) ? this.#isMember(person, payout) : points.has(person.id)
      if (isDue) payout.due.add(person.id)
    }
    this.open.set(`${board.id} ${windowName(place.window, place.index)}`, payout)
  }

  /** Whether a team that won would pay the user. */
  #isMember({ hidden, off, shares, team }: Person, { board, place, points }: Payout): boolean {
    const share = shares.get(board.id)
    if (hidden || off.has(board.id) || share === undefined || share.team !== team) return false
    if (!points.has(share.team) || this.#model.isOff(share.team, board)) return false
    const { index, window } = place
    if (window === "all_time") return share.scores.total.amount > 0
    return share.scores.sumIn(window, index).amount > 0
  }

  /**
   * A record has changed the user, who may be due no more. A user who has left the team, or has scored in
   * later windows, may have kept the share (`domain/user/TeamShares.ts`).
   */
  follow(person: Person): void {
    for (const payout of this.open.values()) {
      if (!isOfTeams(payout.board) || this.#isMember(person, payout)) continue
      if (payout.due.delete(person.id)) payout.left.add(person.id)
    }
  }

  /** Returns the points. */
  paid(person: Person, { cause, facts, sequence }: JournalRecord): number {
    if (cause.kind !== "payment" || cause.prize === undefined) throw new Error("unexpected")
    const { prize, to } = cause
    const points = facts.reduce(
      (sum, fact) => (fact.kind === "leaderboard.prize_won" ? sum + fact.reward.points : sum),
      0,
    )
    const name = `${prize.boardId} ${windowName(prize.window, prize.index)}`
    const payout = this.open.get(name)!
    expect([name, to, payout?.paid.has(to)]).toEqual([name, to, false])
    const team = isOfTeams(payout.board) ? prize.team! : undefined
    if (team !== undefined) {
      const isKnown = payout.left.has(to) || this.#isMember(person, payout)
      expect([sequence, name, to, isKnown]).toEqual([sequence, name, to, true])
      this.seen.toMembers++
    } else {
      const isKnown = payout.due.has(to) || payout.left.has(to)
      expect([sequence, name, to, isKnown]).toEqual([sequence, name, to, true])
    }
    expect([name, to, points]).toEqual([name, to, payout.points.get(team ?? to)])
    payout.due.delete(to)
    payout.paid.add(to)
    person.points += points
    this.seen.paid++
    if (to !== person.id) this.seen.forMerged++
    return points
  }

  /** The user leaves the windows of one board, or of all. */
  forfeit(userId: string, boardId?: string): void {
    for (const payout of this.open.values()) {
      if (boardId !== undefined && payout.board.id !== boardId) continue
      if (!payout.due.delete(userId)) continue
      this.seen.forfeited++
      payout.left.add(userId)
    }
  }

  /**
   * The user who stays gets the prizes of the merged user, unless no board lists the user who stays, and the
   * share of what a team scored.
   */
  mergeEnds(userId: string, into: Person | undefined): void {
    for (const [name, { board, due, left }] of this.open) {
      const mayBePaid = due.has(userId) || left.has(userId)
      if (into !== undefined && isOfTeams(board) && mayBePaid) left.add(into.id)
      const isListed = into !== undefined && !into.hidden && !into.off.has(board.id)
      if (isOfTeams(board) || !isListed) continue
      expect([name, userId, due.has(userId)]).toEqual([name, userId, false])
    }
  }

  end(name: string): void {
    const { due } = this.open.get(name)!
    expect([name, [...due]]).toEqual([name, []])
    this.open.delete(name)
  }
}
