/**
 * What a snapshot writes of a shared goal that each team has for itself, and the longest turn of the
 * event loop meanwhile: after one contribution, and after one of each team. The reference is one value
 * with all totals. No disk.
 */
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import { GoalTotals } from "../../src/engine/actor/GoalTotals.ts"
import { SnapshotTurns } from "../../src/engine/snapshot/SliceWriter.ts"
import { EntrySlice } from "../../src/storage/EntryBlock.ts"
import { compositeKey } from "../../src/storage/Keys.ts"
import type { Entry } from "../../src/storage/Storage.ts"
import { encodeValue } from "../../src/storage/Values.ts"
import { answer } from "../children.ts"
import { median } from "../statistics.ts"

export interface GoalsOptions {
  readonly teams: number
  readonly rounds: number
}

export interface Written {
  readonly bytes: number
  readonly turnMs: number
}

export interface GoalsReport {
  readonly one: Written
  readonly all: Written
  readonly whole: Written
}

const environment = "prj_bench:sandbox"
const goalId = "gol_01hzy3j2t9d8q4x6v7w5k1m0ab"
const ref = { goalId, key: "club-week", name: "Club week" }
const subject = { actor: "user", environment, userId: "u" } as const

let sequence = 0
const contribute = (totals: GoalTotals, team: number): void => {
  sequence++
  const place = { period: 2_970, team, teamId: `team-${team}` }
  const fact = { kind: "goal.contributed", ...ref, ...place, amount: 5, mine: 5 } as const
  const cause = { kind: "event" } as JournalRecord["cause"]
  totals.durable(fact, { sequence, at: 0, subject, cause, facts: [fact] })
}

const slice = new EntrySlice()

/** Packs a slice as a snapshot does. */
const written = (begin: () => Iterable<Entry>): Written => {
  const turns = new SnapshotTurns()
  slice.clear()
  turns.begin()
  let turnMs = 0
  let begun = performance.now()
  for (const entry of begin()) {
    slice.add(entry)
    if (!turns.isOver) continue
    turnMs = Math.max(turnMs, performance.now() - begun)
    turns.begin()
    begun = performance.now()
  }
  return { bytes: slice.bytes, turnMs: Math.max(turnMs, performance.now() - begun) }
}

const typical = (all: ReadonlyArray<Written>): Written => ({
  bytes: median(all.map(({ bytes }) => bytes)),
  turnMs: median(all.map(({ turnMs }) => turnMs)),
})

await answer(({ rounds, teams }: GoalsOptions): GoalsReport => {
  const totals = new GoalTotals()
  const [one, all, whole]: ReadonlyArray<Array<Written>> = [[], [], []]
  for (let round = 0; round < rounds; round++) {
    for (let team = 1; team <= teams; team++) contribute(totals, team)
    all!.push(written(() => totals.rows.begin(environment)))
    totals.rows.ended()
    contribute(totals, 1 + (round % teams))
    one!.push(written(() => totals.rows.begin(environment)))
    totals.rows.ended()
    whole!.push(
      written(() => {
        const value = encodeValue(JSON.stringify([...totals.durableTotals(goalId)]))
        return [{ table: "meta", key: compositeKey("counts", environment), value }]
      }),
    )
  }
  return { one: typical(one!), all: typical(all!), whole: typical(whole!) }
})
