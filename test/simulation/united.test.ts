/**
 * Two users of a random run of the domain are merged. What they are together is what their histories
 * add up to, and afterwards everything that either did can be undone, in any order.
 */
import assert from "node:assert/strict"
import { Result } from "effect"
import { describe, it } from "vitest"
import { decideUser } from "../../src/domain/decide/Decide.ts"
import { applyUser } from "../../src/domain/record/applyUser.ts"
import type { Fact, JournalRecord, UserCommand } from "../../src/domain/record/Record.ts"
import { otherParts, unitedParts } from "../../src/domain/record/United.ts"
import { daysOf as activeDays } from "../../src/domain/user/ActiveDays.ts"
import { metricTotal } from "../../src/domain/user/MetricState.ts"
import type { DayRange } from "../../src/domain/user/StreakPeriods.ts"
import { balanceOf, type UserState } from "../../src/domain/user/User.ts"
import { Names } from "../../src/engine/records/Names.ts"
import { decodeUser, encodeUser } from "../../src/engine/records/UserCodec.ts"
import { decideRecalling } from "../domain/recalled.ts"
import { DomainRun } from "./DomainRun.ts"
import { seeds } from "./random.ts"

const users = ["from", "into"] as const

/** A run after which both users exist. */
const play = (seed: number): DomainRun => {
  const run = new DomainRun(seed)
  for (let step = 0; step < 200; step++) run.step(users)
  for (const userId of users) {
    run.command(userId, { kind: "reward", type: "points", amount: 3 })
    run.command(userId, { kind: "tick" })
  }
  return run
}

/** The merge of two users of a run, and what comes after it. */
class Merged {
  readonly run: DomainRun
  readonly from: UserState
  readonly into: UserState
  readonly merge: JournalRecord
  user: UserState
  records: ReadonlyArray<JournalRecord>

  constructor(run: DomainRun) {
    this.run = run
    this.from = run.users.get("from")!
    this.into = run.users.get("into")!
    this.user = this.into
    this.records = run.records
    const frozen = ++run.sequence
    const command = { kind: "absorb", from: "from", frozen, state: this.from } as const
    const decided = this.decide(command)
    assert(Result.isSuccess(decided), "the merge is accepted")
    this.merge = this.append(decided.success)
  }

  decide(command: UserCommand, found?: JournalRecord) {
    const { now, project } = this.run
    return decideRecalling(this.records, (past) =>
      decideUser(this.user, project, command, now, found, undefined, past, "into"),
    )
  }

  append({ cause, facts }: Pick<JournalRecord, "cause" | "facts">): JournalRecord {
    const record: JournalRecord = {
      sequence: ++this.run.sequence,
      at: this.run.now,
      subject: { actor: "user", environment: "demo:sandbox", userId: "into" },
      // After a round trip through the journal's text.
      ...(JSON.parse(JSON.stringify({ cause, facts })) as Pick<JournalRecord, "cause" | "facts">),
    }
    this.user = applyUser(this.user, record)!
    this.records = [...this.records, record]
    return record
  }
}

/** What the facts of all records add up to. */
const sumOf = (records: ReadonlyArray<JournalRecord>, key: string): number => {
  let sum = 0
  for (const { facts } of records) for (const fact of facts) sum += changeOf(fact, key)
  return sum
}

const changeOf = (fact: Fact, key: string): number => {
  if (fact.kind === "user.opened") return fact.balances[key]?.amount ?? 0
  const [family, change] = fact.kind.split(".") as [string, string]
  if (!("amount" in fact)) return 0
  const of = family === "currency" && "currency" in fact ? fact.currency : family
  if (of !== key) return 0
  if (["earned", "refunded", "refilled"].includes(change)) return fact.amount
  return ["revoked", "spent", "expired"].includes(change) ? 0 - fact.amount : 0
}

const daysOf = (ranges: ReadonlyArray<DayRange> = []): ReadonlySet<number> =>
  new Set(
    ranges.flatMap(([first, last]) =>
      Array.from({ length: last - first + 1 }, (_, n) => first + n),
    ),
  )

const balancesAddUp = ({ records, user }: Merged): void => {
  assert.equal(user.xp, sumOf(records, "xp"))
  assert.equal(user.points, sumOf(records, "points"))
}

/** The personal boosts that a user keeps of all: at most 20. */
const lastToEnd = (all: UserState["boosts"]): UserState["boosts"] =>
  all.length <= 20 ? all : all.toSorted((one, other) => one.endsAt - other.endsAt).slice(-20)

/** The further balances at the merge, at which time may have added to both. */
const partsUnite = ({ from, into, merge, run, user }: Merged): void => {
  for (const [part, what] of Object.entries(otherParts)) {
    const name = part as keyof typeof otherParts
    if (what === "kept") assert.deepEqual(user[name], into[name], part)
  }
  const fact = merge.facts.find(({ kind }) => kind === "user.merged")!
  assert(fact.kind === "user.merged")
  const parts = unitedParts({ from, into, project: run.project, now: run.now })
  assert.deepEqual(fact.parts, JSON.parse(JSON.stringify(parts)))
  assert.deepEqual(
    new Set((fact.ownBoosts ?? into.boosts).map((boost) => JSON.stringify(boost))),
    new Set(lastToEnd([...into.boosts, ...from.boosts]).map((boost) => JSON.stringify(boost))),
  )
  const days = [into, from].flatMap(({ activity }) =>
    activity === null ? [] : activeDays(activity),
  )
  assert.deepEqual(
    new Set(user.activity && activeDays(user.activity)),
    new Set(days.sort((a, b) => a - b)),
  )
  for (const [key, { amount, spent }] of parts.balances ?? []) {
    const [mine, theirs] = [into.balances.get(key), from.balances.get(key)]
    assert.equal(spent, (mine?.spent ?? 0) + (theirs?.spent ?? 0))
    assert(amount >= (mine?.amount ?? 0) + (theirs?.amount ?? 0))
  }
  for (const key of [...user.balances.keys(), "points"]) {
    const lots = [
      ...(user.pending.get(key) ?? []).map(([, amount]) => amount),
      ...(user.expiring.get(key)?.open ?? []).map(([, , amount]) => amount),
    ]
    const { amount } = balanceOf(user, key)
    assert(lots.reduce((sum, each) => sum + each, 0) <= amount, "lots are parts of the balance")
  }
  for (const [id, state] of parts.metrics ?? []) {
    const [mine, theirs] = [into.metrics.get(id), from.metrics.get(id)!]
    const totals = [mine, theirs].flatMap((one) => metricTotal(one) ?? [])
    switch (run.project.metrics.get(id)!.aggregate) {
      case "count":
      case "sum":
        assert.equal(
          metricTotal(state),
          totals.reduce((sum, total) => sum + total, 0),
        )
        break
      case "max":
        assert.equal(metricTotal(state), Math.max(...totals))
        break
      case "min":
        assert.equal(metricTotal(state), Math.min(...totals))
        break
      case "last":
        assert(totals.includes(metricTotal(state)!))
        break
      case "distinct_days":
        assert.deepEqual(
          daysOf(state.days),
          new Set([...daysOf(mine?.days), ...daysOf(theirs.days)].sort((a, b) => a - b)),
        )
    }
  }
  for (const [key, streak] of parts.streaks ?? []) {
    const both = [into.streaks.get(key), from.streaks.get(key)]
    const days = both.flatMap((one) => [...daysOf(one?.days)])
    assert.deepEqual(daysOf(streak.days), new Set(days.sort((one, other) => one - other)))
    assert(streak.best >= Math.max(...both.map((one) => one?.best ?? 0)))
  }
  for (const [id, awards] of parts.badges ?? []) {
    const tiers = [into, from].flatMap(({ badges }) => badges.get(id) ?? [])
    assert.deepEqual(
      new Set(awards.map(({ tier }) => tier)),
      new Set(tiers.map(({ tier }) => tier)),
    )
  }
}

/** The user who stays keeps the variant; what either had before an exposure counts as before. */
const experimentsUnite = ({ from, into, run, user }: Merged): void => {
  const ids = new Set([...from.experiments.keys(), ...into.experiments.keys()])
  assert.deepEqual(new Set(user.experiments.keys()), ids)
  for (const [id, { at, before = 0, mixed = false, variant }] of user.experiments) {
    const [mine, theirs] = [into.experiments.get(id), from.experiments.get(id)]
    const both = [mine, theirs].flatMap((one) => one ?? [])
    assert.equal(variant, both[0]!.variant)
    assert.equal(mixed, new Set(both.map((one) => one.variant)).size > 1)
    assert.equal(at, Math.min(...both.map((one) => one.at)))
    const key = run.project.experiments.get(id)!.metric
    const metric = [...run.project.metrics.values()].find((one) => one.key === key)
    if (metric === undefined || ["max", "min", "last"].includes(metric.aggregate)) {
      assert.equal(before, 0)
      continue
    }
    const parts = [into, from].map((one) => {
      const entered = one.experiments.get(id)
      const had = entered === undefined ? metricTotal(one.metrics.get(metric.id)) : entered.before
      return had ?? 0
    })
    assert.equal(before, parts[0]! + parts[1]!)
  }
}

const isStored = ({ user }: Merged): void => {
  const names = new Names()
  const bytes = Buffer.from(encodeUser(user, 7, names))
  assert.deepEqual(decodeUser(user.id, bytes, names), user)
}

/** Undoes all that either did, in a random order. */
const undo = (merged: Merged): void => {
  const { records, run } = merged
  const undone = new Set(
    records.flatMap(({ cause }) => (cause.kind === "revocation" ? [cause.sequence] : [])),
  )
  const left = records.filter(
    ({ cause, facts, sequence }) =>
      ["event", "reward", "spend", "purchase"].includes(cause.kind) &&
      facts.length > 0 &&
      !undone.has(sequence),
  )
  for (const found of run.random.shuffled(left)) {
    const { at, cause, sequence } = found
    const of = cause.kind as "event"
    const decided = merged.decide({ kind: "revocation", of, sequence, at }, found)
    assert(Result.isSuccess(decided), `record ${sequence} can be undone`)
    merged.append(decided.success)
    balancesAddUp(merged)
  }
}

const nothingIsLeft = ({ merge, records, user }: Merged): void => {
  // A pause pays milestones by a request or by the clock.
  const stays = ["backfill", "absorb", "opening", "pause", "tick"]
  const paid = records.filter(({ cause }) => stays.includes(cause.kind))
  // The merge says what the other user gained, not what was earned.
  assert(user.xp <= sumOf(paid, "xp"), "xp")
  const given = paid.flatMap(({ facts }) => facts.filter(({ kind }) => kind === "boost.earned"))
  assert(user.boosts.length <= given.length, "personal boosts")
  const completed = merge.facts.filter(({ kind }) => kind === "quest.completed").length
  assert.equal(user.questsCompleted, completed)
  for (const [id, quest] of user.quests) {
    const isPaid = merge.facts.some((one) => one.kind === "quest.completed" && one.questId === id)
    if (!isPaid) assert.equal(quest.times, 0)
  }
  for (const count of user.badgeCounts.values()) assert.equal(count, 0)
  for (const { recalculating } of user.metrics.values()) assert.equal(recalculating, true)
  assert.equal(user.activity, null)
}

describe("Two users who are merged", () => {
  for (const seed of seeds(6)) {
    it(`are one with what both had, and can undo it; repeat it with LAUREL_TEST_SEED=${seed}`, () => {
      const merged = new Merged(play(seed))
      balancesAddUp(merged)
      partsUnite(merged)
      experimentsUnite(merged)
      isStored(merged)
      undo(merged)
      isStored(merged)
      nothingIsLeft(merged)
    })
  }
})
