/** Checks what is derived from all users: leaderboards and counts. */

import { Effect } from "effect"
import { BoardBuilder, type Leaderboard } from "../../../domain/board/Leaderboard.ts"
import { deletionOf } from "../../../domain/decide/Decide.ts"
import { placesOf } from "../../../domain/decide/Leagues.ts"
import { xpBoard } from "../../../domain/project/BoardDefinition.ts"
import type { JournalRecord } from "../../../domain/record/Record.ts"
import type { Remains } from "../../../domain/record/Remains.ts"
import {
  heldNames,
  isAlias,
  isDisqualified,
  isMidway,
  type UserState,
} from "../../../domain/user/User.ts"
import { keyParts } from "../../../storage/Keys.ts"
import { openValue } from "../../../storage/Values.ts"
import { yieldToEventLoop } from "../../../storage/yieldToEventLoop.ts"
import { Counts, countsPrefix } from "../../actor/Counts.ts"
import { loadGoalRow } from "../../actor/GoalRows.ts"
import { GoalCheck } from "./GoalCheck.ts"
import type { Fault } from "./JournalTail.ts"
import type { SavedState } from "./SavedState.ts"

/* Builds the all-time leaderboards from users, as a start does, and checks every place. */

export class BoardCheck {
  readonly #boards = new Map<string, BoardBuilder>()
  /** Sum over listed users. */
  #xp = 0n

  add(environment: string, user: UserState): void {
    if (user.profile.hidden || isDisqualified(user, xpBoard.id)) return
    this.#xp += BigInt(user.xp)
    let board = this.#boards.get(environment)
    if (board === undefined) {
      board = new BoardBuilder()
      this.#boards.set(environment, board)
    }
    board.add(user.id, user.xp, user.scoreSequence)
  }

  /** Reports every fault. */
  readonly end = Effect.fnUntraced(function* (this: BoardCheck, fault: Fault) {
    let sum = 0n
    for (const [environment, builder] of this.#boards) {
      sum += yield* this.#read(environment, builder.build(), fault)
    }
    if (sum !== this.#xp) {
      fault(`The leaderboards add up to ${sum} xp, the users on them to ${this.#xp}`)
    }
  }).bind(this)

  /** The sum of a board's scores. */
  readonly #read = Effect.fnUntraced(function* (
    this: BoardCheck,
    environment: string,
    board: Leaderboard,
    fault: Fault,
  ) {
    let sum = 0n
    let place = 0
    let before = { rank: 0, score: Number.POSITIVE_INFINITY }
    while (place < board.total) {
      board.visit(place, pageRows, (member, score, rank) => {
        place++
        const expected = score === before.score ? before.rank : place
        if (score > before.score || rank !== expected || score <= 0) {
          const userId = JSON.stringify(board.members.idOf(member))
          fault(`The leaderboard of ${environment} has ${userId} in a wrong place`)
        }
        sum += BigInt(score)
        before = { rank, score }
      })
      yield* yieldToEventLoop
    }
    return sum
  }).bind(this)
}

const pageRows = 1_000

/* Compares the counts of each environment, stored and folded, with its users. */

interface Counted {
  users: number
  readonly inProgress: Map<string, number>
  readonly completed: Map<string, number>
  readonly badges: Map<string, number>
  /** Units of items. */
  readonly units: Map<string, number>
  readonly goals: GoalCheck
}

/**
 * A user who is being merged: the units and the contributions count for the other user as well once
 * that one has them.
 */
interface Merging {
  readonly environment: string
  readonly user: UserState
  /** The record that began the merge. */
  readonly frozen: number
}

export class CountsCheck {
  readonly #counted = new Map<string, Counted>()
  readonly #stored = new Map<string, Counts>()
  readonly #merging: Array<Merging> = []
  /** The merges that users who stay have taken in, by the record that began each. */
  readonly #merged = new Set<string>()

  add(environment: string, user: UserState): void {
    if (isAlias(user)) return
    const { absorbed, leadsTo, quests } = user
    for (const { frozen } of absorbed) this.#merged.add(mergeName(environment, frozen))
    let counted = this.#counted.get(environment)
    if (counted === undefined) {
      counted = {
        users: 0,
        inProgress: new Map(),
        completed: new Map(),
        badges: new Map(),
        units: new Map(),
        goals: new GoalCheck(),
      }
      this.#counted.set(environment, counted)
    }
    counted.users++
    const more = (counts: Map<string, number>, id: string) =>
      counts.set(id, (counts.get(id) ?? 0) + 1)
    for (const name of heldNames(user)) more(counted.badges, name)
    for (const [id, state] of quests) {
      if (isMidway(state)) more(counted.inProgress, id)
      if (state.times > 0) more(counted.completed, id)
    }
    if (leadsTo === null) this.#addOwned(counted, user)
    else this.#merging.push({ environment, user, frozen: leadsTo.frozen })
  }

  #addOwned({ goals, units }: Counted, user: UserState): void {
    for (const [itemId, { times }] of user.purchases) {
      units.set(itemId, (units.get(itemId) ?? 0) + times)
    }
    goals.add(user)
  }

  /** Takes the counts of a snapshot. */
  load(saved: Pick<SavedState, "entries">): void {
    for (const [key, value] of saved.entries("meta")) {
      const [kind, environment] = keyParts(key)
      const body = openValue(value)
      if (typeof body === "string") continue
      if (kind === countsPrefix) this.#storedOf(environment as string).load(body)
      else loadGoalRow(key, body, (id) => this.#storedOf(id).goals)
    }
  }

  /** Adds a record after the snapshot's watermark to its counts. */
  fold(environment: string, record: JournalRecord): void {
    this.#storedOf(environment).fold(record)
  }

  /** The user is gone, although the record that says so was erased. */
  replaced(environment: string, user: UserState): void {
    this.#storedOf(environment).fold({
      sequence: user.sequence,
      at: 0,
      subject: { actor: "user", environment, userId: user.id },
      cause: { kind: "erasure" },
      facts: [deletionOf(user, placesOf(user))],
    })
  }

  /** Adds what an erased record after the watermark left. */
  left(remains: Remains): void {
    this.#storedOf(remains.environment).left(remains)
  }

  #storedOf(environment: string): Counts {
    let counts = this.#stored.get(environment)
    if (counts === undefined) {
      counts = new Counts()
      this.#stored.set(environment, counts)
    }
    return counts
  }

  end(fault: Fault): void {
    for (const { environment, frozen, user } of this.#merging) {
      const isCounted = this.#merged.has(mergeName(environment, frozen))
      if (!isCounted) this.#addOwned(this.#counted.get(environment)!, user)
    }
    for (const environment of new Set([...this.#stored.keys(), ...this.#counted.keys()])) {
      const { badges, goals, quests, sales, users } = this.#storedOf(environment)
      const counted = this.#counted.get(environment)
      const differs = (what: string, stored: number, found: number) => {
        if (stored !== found) fault(`${environment} counts ${stored} ${what}, there are ${found}`)
      }
      differs("users", users, counted?.users ?? 0)
      const ids = [quests, counted?.inProgress, counted?.completed].flatMap((map) => [
        ...(map?.keys() ?? []),
      ])
      for (const id of new Set(ids)) {
        const { completed, inProgress } = quests.get(id) ?? { completed: 0, inProgress: 0 }
        differs(`users midway in ${id}`, inProgress, counted?.inProgress.get(id) ?? 0)
        differs(`users who completed ${id}`, completed, counted?.completed.get(id) ?? 0)
      }
      for (const name of new Set([...badges.keys(), ...(counted?.badges.keys() ?? [])])) {
        differs(`holders of ${name}`, badges.get(name) ?? 0, counted?.badges.get(name) ?? 0)
      }
      const { gone, sold } = sales
      for (const id of new Set([
        ...sold.keys(),
        ...gone.keys(),
        ...(counted?.units.keys() ?? []),
      ])) {
        const found = (counted?.units.get(id) ?? 0) + (gone.get(id) ?? 0)
        differs(`sold units of ${id}`, sold.get(id) ?? 0, found)
      }
      const contributions = counted?.goals ?? new GoalCheck()
      contributions.end(goals, differs)
    }
  }
}

const mergeName = (environment: string, frozen: number): string => `${environment}\n${frozen}`
