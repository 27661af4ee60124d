/**
 * What the boards of an environment cost an event: commits of records of random users on four
 * boards of a million members, and then a look at each board, since moves may wait until somebody
 * looks. The reference does the least that any board does: it writes the new scores of the same
 * users into arrays by member number, without an order. It flatters the boards: a server's other
 * work evicts their memory from the caches between two commits.
 */
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import {
  newcomer,
  noWindows,
  type UserState,
  type WindowScores,
} from "../../src/domain/user/User.ts"
import { windowKinds } from "../../src/domain/values/Calendar.ts"
import { Boards } from "../../src/engine/boards/Boards.ts"
import { answer } from "../children.ts"
import { userIdAt } from "../events.ts"
import { median } from "../statistics.ts"

export interface BoardCommitsOptions {
  readonly members: number
  readonly rounds: number
  readonly eventsPerRound: number
  readonly eventsPerCommit: number
}

/** Microseconds of processor time of an event. */
export interface BoardCommitsReport {
  /** All users have one of a few scores, as after a few equal events. */
  readonly tied: { readonly boardsUs: number; readonly arraysUs: number }
  /** Log-normal scores. */
  readonly spread: { readonly boardsUs: number; readonly arraysUs: number }
}

const boardsOfUser = 4

const subject = { actor: "user", environment: "prj_bench:sandbox", userId: "" } as const
const recordOf = (sequence: number): JournalRecord => ({
  sequence,
  at: 0,
  subject,
  cause: { kind: "event", eventId: "", action: "", metadata: {} } as never,
  facts: [],
})

const windowOf = (xp: number, sequence: number): WindowScores => ({
  index: 1,
  xp,
  sequence,
  indexBefore: 0,
  xpBefore: 0,
  sequenceBefore: 0,
})

const stateOf = (id: string, xp: number, sequence: number): UserState => {
  const window = windowOf(xp, sequence)
  const windows = { daily: window, weekly: window, monthly: window, days: noWindows.days }
  return { ...newcomer, id, xp, sequence, scoreSequence: sequence, windows }
}

const logNormal = (): number => {
  const normal = Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random())
  return Math.max(1, Math.round(Math.exp(6 + 1.5 * normal)))
}

const us = (work: () => void): number => {
  const before = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(before)
  return system + user
}

/** Each member begins with a score that `first` draws; an event adds what `gain` draws. */
const measure = (
  { eventsPerCommit, eventsPerRound, members, rounds }: BoardCommitsOptions,
  first: () => number,
  gain: () => number,
) => {
  const boards = new Boards()
  const scores = new Float64Array(members)
  const actors = Array.from({ length: members }, () => ({
    member: undefined as number | undefined,
  }))
  const ids = Array.from({ length: members }, (_, n) => Buffer.from(userIdAt(n)).toString())
  let sequence = 0
  const event = (n: number, xp: number): void => {
    sequence++
    scores[n] = xp
    boards.follow(actors[n]!, stateOf(ids[n]!, xp, sequence), recordOf(sequence))
  }
  const arrays = Array.from({ length: boardsOfUser }, () => new Float64Array(2 * members))
  const look = () => {
    boards.allTime.rankOfScore(1)
    for (const kind of windowKinds) boards.windows[kind].openBoard(1)!.rankOfScore(1)
  }
  for (let n = 0; n < members; n++) event(n, first())
  look()
  const measured: Array<{ boardsUs: number; arraysUs: number }> = []
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    let boardsUs = 0
    let arraysUs = 0
    for (let done = 0; done < eventsPerRound; done += eventsPerCommit) {
      const chosen = Array.from({ length: eventsPerCommit }, () => {
        const n = Math.floor(Math.random() * members)
        const xp = scores[n]! + gain()
        scores[n] = xp
        sequence++
        const state = stateOf(ids[n]!, xp, sequence)
        return { n, state, actor: actors[n]!, record: recordOf(sequence) }
      })
      boardsUs += us(() => {
        for (const { actor, record, state } of chosen) boards.follow(actor, state, record)
      })
      arraysUs += us(() => {
        for (const { actor, state } of chosen) {
          const at = 2 * actor.member!
          for (const array of arrays) {
            array[at] = state.xp
            array[at + 1] = state.sequence
          }
        }
      })
    }
    boardsUs += us(look)
    const of = { boardsUs: boardsUs / eventsPerRound, arraysUs: arraysUs / eventsPerRound }
    if (round > 0) measured.push(of)
  }
  return {
    boardsUs: median(measured.map(({ boardsUs }) => boardsUs)),
    arraysUs: median(measured.map(({ arraysUs }) => arraysUs)),
  }
}

await answer((options: BoardCommitsOptions): BoardCommitsReport => {
  const tied = measure(
    options,
    () => 10,
    () => 10,
  )
  const spread = measure(options, logNormal, () => 1 + Math.floor(Math.random() * 100))
  return { tied, spread }
})
