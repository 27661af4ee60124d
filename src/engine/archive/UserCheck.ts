/**
 * Compares users with their records: the fold of all records equals the snapshot's value plus the journal after it, and
 * every total is the previous one plus or minus the change.
 */

import { Effect } from "effect"
import { BoardBuilder, type Leaderboard } from "../../domain/board/Leaderboard.ts"
import { applyUser } from "../../domain/record/applyUser.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import { isMidway, type UserState } from "../../domain/user/User.ts"
import { BrokenInvariant } from "../../domain/values/invariants.ts"
import { keyParts } from "../../storage/Keys.ts"
import { openValue } from "../../storage/Values.ts"
import { yieldToEventLoop } from "../../storage/yieldToEventLoop.ts"
import { Counts, countsPrefix } from "../actor/Counts.ts"
import { Names } from "../records/Names.ts"
import { encodeUser } from "../records/UserCodec.ts"
import type { ArchiveBase } from "./ArchiveBase.ts"
import type { Fault } from "./JournalTail.ts"
import type { SavedState, SavedUser } from "./SavedState.ts"

/**
 * Calls `visit` with each record; returns the state after all of them, `undefined` if there is none. With a base, the
 * fold begins with its state, and records up to its last one are only visited.
 */
export const checkUser = (
  user: SavedUser,
  fault: Fault,
  visit: (record: JournalRecord) => void,
  base?: Pick<ArchiveBase, "manifest" | "saved">,
): UserState | undefined => {
  const { environment, records, stored, tail, userId } = user
  const name = `User ${JSON.stringify(userId)} of ${environment}`
  const after = base?.manifest.sequence ?? 0
  let folded = base?.saved.stateOf(user)
  for (const record of records) {
    visit(record)
    if (record.sequence <= after) continue
    // Between the two, the user was erased.
    if (record.facts[0]?.kind === "user.created") folded = undefined
    checkTotals(folded, record, name, fault)
    folded = applied(folded, record, name, fault)
  }
  let state = stored
  for (const record of tail) {
    if (record.sequence > (state?.sequence ?? 0)) state = applied(state, record, name, fault)
  }
  if (!isSame(folded, state)) {
    fault(`${name} differs from its records: ${difference(folded, state)}`)
  }
  if (state !== undefined && state.id !== userId) {
    fault(`${name} says that it is ${JSON.stringify(state.id)}`)
  }
  return state
}

/** The state after the record. A record that breaks an invariant is a fault and changes nothing. */
const applied = (
  state: UserState | undefined,
  record: JournalRecord,
  name: string,
  fault: Fault,
): UserState | undefined => {
  try {
    return applyUser(state, record)
  } catch (error) {
    if (!(error instanceof BrokenInvariant)) throw error
    fault(`${name}: ${error.message}`)
    return state
  }
}

const checkTotals = (
  before: UserState | undefined,
  { facts, sequence }: JournalRecord,
  name: string,
  fault: Fault,
): void => {
  // An erasure may have removed the records before.
  if (before === undefined && facts[0]?.kind !== "user.created") return
  const totals = { xp: before?.xp ?? 0, points: before?.points ?? 0 }
  const moved = (what: "xp" | "points", by: number, total: number) => {
    totals[what] += by
    if (totals[what] === total) return
    fault(`${name}: by record ${sequence} the ${what} should be ${totals[what]}, not ${total}`)
    totals[what] = total
  }
  for (const fact of facts) {
    if (fact.kind === "xp.earned") moved("xp", fact.amount, fact.total)
    else if (fact.kind === "xp.revoked") moved("xp", -fact.amount, fact.total)
    else if (fact.kind === "points.earned") moved("points", fact.amount, fact.total)
    else if (fact.kind === "points.revoked") moved("points", -fact.amount, fact.total)
    else if (fact.kind === "points.spent") moved("points", -fact.amount, fact.total)
    else if (fact.kind === "points.refunded") moved("points", fact.amount, fact.total)
  }
}

/** Only compared with each other, states can share names. */
const names = new Names()

const isSame = (one: UserState | undefined, other: UserState | undefined): boolean =>
  one === other || one === undefined || other === undefined
    ? one === other
    : // When something is due again depends on the clock, and is no part of a state.
      Buffer.compare(Buffer.from(encodeUser(one, 0, names)), encodeUser(other, 0, names)) === 0

/** Names the difference, without values, which may be private. */
const difference = (folded: UserState | undefined, stored: UserState | undefined): string => {
  if (folded === undefined) return "there are none"
  if (stored === undefined) return "there is no state"
  if (folded.xp !== stored.xp) return `xp is ${stored.xp}, not ${folded.xp}`
  if (folded.sequence !== stored.sequence) {
    return `its last record is ${stored.sequence}, not ${folded.sequence}`
  }
  return "other members differ"
}

/* Builds the all-time leaderboards from users, as a start does, and checks every place. */

export class BoardCheck {
  readonly #boards = new Map<string, BoardBuilder>()
  /** Sum over listed users. */
  #xp = 0n

  add(environment: string, user: UserState): void {
    if (user.profile.hidden) return
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

/* Compares the stored counts of each environment with its users. */

interface Counted {
  users: number
  readonly inProgress: Map<string, number>
  readonly completed: Map<string, number>
}

export class CountsCheck {
  readonly #counted = new Map<string, Counted>()

  add(environment: string, { quests }: UserState): void {
    let counted = this.#counted.get(environment)
    if (counted === undefined) {
      counted = { users: 0, inProgress: new Map(), completed: new Map() }
      this.#counted.set(environment, counted)
    }
    counted.users++
    const more = (counts: Map<string, number>, id: string) =>
      counts.set(id, (counts.get(id) ?? 0) + 1)
    for (const [id, state] of quests) {
      if (isMidway(state)) more(counted.inProgress, id)
      if (state.times > 0) more(counted.completed, id)
    }
  }

  /** Compares with the snapshot's counts, plus the journal after its watermark. */
  end(saved: SavedState, fault: Fault): void {
    const all = new Map<string, Counts>()
    const of = (environment: string): Counts => {
      let counts = all.get(environment)
      if (counts === undefined) {
        counts = new Counts()
        all.set(environment, counts)
      }
      return counts
    }
    for (const [key, value] of saved.entries("meta")) {
      const [kind, environment] = keyParts(key)
      const body = kind === countsPrefix ? openValue(value) : ""
      if (typeof body !== "string") of(environment as string).load(body)
    }
    for (const { records } of saved.tail.users()) {
      for (const record of records) {
        if (record.subject.actor === "user") of(record.subject.environment).fold(record)
      }
    }
    for (const environment of new Set([...all.keys(), ...this.#counted.keys()])) {
      const { quests, users } = of(environment)
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
    }
  }
}
