import { Result, SchemaIssue, SchemaParser } from "effect"
import { describe, expect, it } from "vitest"
import { isShown, shownKinds } from "../../../src/domain/message/FactMembers.ts"
import { historyFact } from "../../../src/domain/message/HistoryFact.ts"
import { firstVersion } from "../../../src/domain/project/Definition.ts"
import type { JournalRecord, Spending } from "../../../src/domain/record/Record.ts"
import { recordId } from "../../../src/domain/values/Ids.ts"
import { Fact } from "../../../src/http/api/History.ts"
import { World } from "../decide/World.ts"
import { boostWith, experimentWith, levelWith, prizePayment } from "../definitions.ts"
import { played } from "../played.ts"

const shownOf = (record: JournalRecord) =>
  record.facts.filter(isShown).map((fact) => historyFact(record, fact))

/** One of everything that can happen to a user. */
const everything = () => {
  const world = new World("2026-11-04T12:00:00Z")
  world.streak({ atRisk: { hoursBefore: 4 } })
  const milestones = [{ target: 1, reward: { xp: 0, points: 0, badgeId: null } }]
  world.streak({ id: "stk_two", needs: [{ action: "TAP", target: 2 }], milestones })
  world.rule({ id: "r", reward: { xp: 150, points: 3 }, limit: { times: 5, per: "day" } })
  world.badge({ id: "b", name: "B", criteria: { kind: "xp", target: 300 } })
  world.badge({ id: "c", criteria: { kind: "action_count", action: "TAP", where: [], target: 9 } })
  const step = { key: "taps", action: "TAP", where: [], target: 2 }
  world.quest({ id: "q", title: "Q", steps: [step] })
  world.quest({ id: "e", title: "E" })
  world.quest({ id: "d", steps: [{ ...step, target: 5 }], recurrence: "daily" })
  world.do({ kind: "profile", change: { displayName: "Ada", attributes: { n: 1 } } })
  world.metric({ key: "taps" })
  world.track("TAP", { id: "mine", metadata: { lesson: 7 } })
  const second = world.track()
  world.complete("e")
  world.complete("e")
  const points = world.do({ kind: "reward", type: "points", amount: 5, reason: "kind", id: "r1" })
  const badge = world.do({ kind: "reward", type: "badge", badgeId: "c" })
  world.undo(second)
  world.refund(world.spend(4, { reason: "Freeze", id: "s1" }))
  world.undo(points)
  world.undo(badge)
  world.do({ kind: "pause", streak: "daily", from: 20_000, to: 20_001 })
  world.at("2026-11-05T21:00:00Z")
  world.do({ kind: "tick" })
  world.at("2026-11-07T12:00:00Z")
  world.do({ kind: "tick" })
  world.track("LATE", { occurredAt: Date.parse("2026-11-03T12:00:00Z"), imported: true })
  world.badge({ id: "x", criteria: { kind: "xp", target: 1 } })
  world.do({ kind: "backfill", badgeId: "x", notify: false })
  world.streak({ repair: { withinDays: 9, price: null } })
  world.refund(world.do<Spending>({ kind: "spend", currencies: {}, repair: "daily" }))
  world.currency({ id: "cur_gems", key: "gems", max: 4 })
  const gems = world.give({ gems: 5 })
  world.refund(world.spend({ gems: 3, points: 1 }))
  world.undo(gems)
  const refill = { amount: 1, everyMinutes: 1 }
  world.currency({ id: "cur_hearts", key: "hearts", max: 4, refill })
  world.spend({ hearts: 1 })
  world.quest({
    id: "m",
    steps: [{ ...step, action: "SWIPE", target: 1 }],
    optIn: true,
    claim: "manual",
  })
  world.do({ kind: "start", questId: "m" })
  world.track("SWIPE")
  world.undo(world.complete("m"))
  world.do({ kind: "disqualify", leaderboard: "xp", disqualified: true })
  world.segment({ id: "seg_none", key: "none" })
  const pauses = [{ from: 20_761, to: 20_999, segment: "none", number: 1 }]
  world.streak({ id: "stk_paused", pauses, pausesMade: 1 })
  world.track()
  world.streak({ id: "stk_iced", key: "iced", freezes: { initial: 0, max: 1, everyDays: null } })
  world.undo(world.do({ kind: "reward", reward: { freezes: { iced: 2 } } }))
  const starLevels = { of: "balance", table: [levelWith("one", 1)] } as const
  const stars = { id: "cur_stars", key: "stars", levels: starLevels }
  world.currency({ ...stars, expiry: { afterDays: 1 }, pendingDays: null })
  world.give({ stars: 1 })
  const ends = { questDays: 1, expiryDays: 9 }
  world.settings({ reminders: { inactiveDays: [1, 2], hour: 12, unless: null, ...ends } })
  world.currency({ id: "cur_slow", key: "slow", expiry: { afterDays: 5 } })
  world.give({ slow: 1 })
  const ending = { id: "ending", endsAt: world.now + 2.4 * 86_400_000 }
  world.quest({ ...ending, steps: [{ ...step, action: "SWIPE", target: 9 }] })
  world.track("SWIPE")
  world.quest({
    id: "m",
    steps: [{ ...step, action: "SWIPE", target: 1 }],
    claim: "manual",
    set: "archived",
  })
  world.now += 2 * 86_400_000
  world.do({ kind: "tick" })
  const own = boostWith({ id: "bst_own", key: "own", personal: true })
  world.define({ kind: "experiment.created", experiment: experimentWith({}) })
  world.define({ kind: "boost.created", boost: own })
  world.undo(world.do({ kind: "reward", reward: { boost: { key: "own", minutes: 5 } } }))
  const team = { id: "a", number: 1, kind: "club", name: "A", attributes: {}, ...firstVersion(0) }
  world.define({ kind: "team.created", team })
  world.do({ kind: "join", teamId: "a" })
  world.do({ kind: "leave", teamId: "a" })
  world.do(prizePayment("u1", world.now))
  world.item({ price: { points: 1 }, reward: { xp: 5, points: 0, badgeId: null } })
  world.giveBack(world.buy("itm_1"))
  const visitor = new World("2026-11-07T12:00:00Z")
  visitor.grant(5)
  world.absorb(visitor, "visitor")
  return world
}

describe("The facts in a history", () => {
  it("is as the contract declares it, for every kind of fact", () => {
    const decode = SchemaParser.decodeUnknownResult(Fact, {
      errors: "all",
      onExcessProperty: "error",
    })
    const kinds = new Set<string>()
    const mover = new World()
    mover.do({ kind: "opening", balances: { points: 1 } })
    for (const record of [...everything().records, ...mover.records, ...played().records]) {
      for (const fact of shownOf(record)) {
        kinds.add(fact.kind)
        const decoded = decode(JSON.parse(JSON.stringify(fact)))
        const fault = Result.isFailure(decoded)
          ? SchemaIssue.makeFormatterDefault()(decoded.failure)
          : undefined
        expect([fact.kind, fault]).toEqual([fact.kind, undefined])
      }
    }
    expect([...kinds].sort()).toEqual([...shownKinds].sort())
  })

  it("leaves out bookkeeping facts", () => {
    const hidden = new Set(
      everything()
        .records.flatMap(({ facts }) => facts)
        .filter((fact) => !isShown(fact))
        .map(({ kind }) => kind),
    )
    expect([...hidden].sort()).toEqual([
      "badge.counted",
      "balances.settled",
      "rule.used",
      "streak.pause_seen",
      "streak.progressed",
      "windows.credited",
    ])
  })

  it("adds up to the balances", () => {
    const world = everything()
    const sum = (...kinds: ReadonlyArray<string>) =>
      world.records.flatMap(shownOf).reduce((total, fact) => {
        const amount = "amount" in fact && kinds.includes(fact.kind) ? fact.amount : 0
        return total + amount
      }, 0)
    // The visitor who was merged had 5 xp.
    expect(5 + sum("xp.earned") - sum("xp.revoked")).toBe(world.user?.xp)
    expect(sum("points.earned", "points.refunded") - sum("points.revoked", "points.spent")).toBe(
      world.user?.points,
    )
  })

  it("shows the cause of a fact", () => {
    const world = everything()
    const causeOf = (index: number) => shownOf(world.records[index]!)[0]?.cause
    const [, event, undone, , , points] = world.records
    expect(causeOf(0)).toEqual({ kind: "profile" })
    expect(causeOf(1)).toEqual({
      kind: "event",
      eventId: recordId("evt", event!),
      id: "mine",
      action: "TAP",
      occurredAt: "2026-11-04T12:00:00.000Z",
      metadata: { lesson: 7 },
      imported: false,
      segments: [],
    })
    expect(causeOf(5)).toEqual({
      kind: "reward",
      rewardId: recordId("rwd", points!),
      id: "r1",
      reward: { xp: 0, points: 5, badgeId: null },
      type: "points",
      amount: 5,
      badgeId: null,
      reason: "kind",
    })
    expect(causeOf(7)).toEqual({
      kind: "revocation",
      eventId: recordId("evt", undone!),
      rewardId: null,
      spendId: null,
      purchaseId: null,
    })
    const spendId = recordId("spd", world.records[8]!)
    const spending = { kind: "spend", spendId, id: "s1", amount: 4, reason: "Freeze" }
    expect(causeOf(8)).toEqual(spending)
    const refund = { kind: "revocation", eventId: null, rewardId: null, spendId, purchaseId: null }
    expect(causeOf(9)).toEqual(refund)
    expect(causeOf(13)).toEqual({ kind: "clock" })
    expect(causeOf(15)).toMatchObject({
      kind: "event",
      occurredAt: "2026-11-03T12:00:00.000Z",
      imported: true,
    })
    expect(causeOf(16)).toEqual({ kind: "backfill", badgeId: "x" })
  })
})
