/** Invariants that hold after any run of the domain. */
import assert from "node:assert/strict"
import { applyUser } from "../../src/domain/record/applyUser.ts"
import { decidedAt, type JournalRecord } from "../../src/domain/record/Record.ts"
import { isReminderKind } from "../../src/domain/user/Comeback.ts"
import { expiredOf, type UserState } from "../../src/domain/user/User.ts"
import type { DomainRun } from "./DomainRun.ts"
import { windowAt, windowKinds } from "./model/calendar.ts"
import { credited, standing } from "./model/log.ts"
import { closedOf } from "./model/windows.ts"
import { stateView } from "./views.ts"

/**
 * The live state of each user is the fold of its records after a round trip through the journal's
 * text.
 */
export const replayEqualsLive = ({ journal, users }: DomainRun): void => {
  const replayed = new Map<string, UserState | undefined>()
  for (const written of journal) {
    const record: JournalRecord = JSON.parse(JSON.stringify(written))
    if (record.subject.actor !== "user") continue
    const { userId } = record.subject
    replayed.set(userId, applyUser(replayed.get(userId), record))
  }
  assert.deepEqual(replayed, users)
}

const none = { amount: 0, spent: 0 }

/** Amounts earned and revoked in the history add up to the balances. */
export const historyAddsUp = ({ records, users }: DomainRun): void => {
  for (const [userId, user] of users) {
    const sums = { xp: 0, points: 0 }
    const balances = new Map<string, number>()
    const add = (key: string, amount: number) =>
      balances.set(key, (balances.get(key) ?? 0) + amount)
    for (const { facts, subject } of records) {
      if (subject.actor !== "user" || subject.userId !== userId) continue
      for (const fact of facts) {
        if (fact.kind === "user.opened") {
          const { points = none, xp = none, ...further } = fact.balances
          sums.xp += xp.amount
          sums.points += points.amount
          for (const [key, { amount }] of Object.entries(further)) add(key, amount)
        }
        if (fact.kind === "xp.earned") sums.xp += fact.amount
        if (fact.kind === "xp.revoked") sums.xp -= fact.amount
        if (fact.kind === "points.earned") sums.points += fact.amount
        if (fact.kind === "points.revoked") sums.points -= fact.amount
        if (fact.kind === "points.spent") sums.points -= fact.amount
        if (fact.kind === "points.refunded") sums.points += fact.amount
        if (
          fact.kind === "currency.earned" ||
          fact.kind === "currency.refilled" ||
          fact.kind === "currency.refunded"
        ) {
          add(fact.currency, fact.amount)
        }
        if (fact.kind === "currency.revoked" || fact.kind === "currency.spent") {
          add(fact.currency, -fact.amount)
        }
        if (fact.kind === "currency.expired") {
          if (fact.currency === "points") sums.points -= fact.amount
          else add(fact.currency, -fact.amount)
        }
      }
    }
    const further = [...(user?.balances ?? [])].map(([key, { amount }]) => [key, amount] as const)
    assert.deepEqual(balances, new Map(further))
    assert.deepEqual(sums, { xp: user?.xp ?? 0, points: user?.points ?? 0 })
  }
}

/**
 * An undo of all events and rewards, in any order, leaves only days of streaks and what these gave,
 * and what the user had at the opening.
 */
export const undoneToNothing = (run: DomainRun): void => {
  for (const userId of run.users.keys()) {
    for (let left = standing(run.model.log(userId)); left.length > 0; ) {
      const { at, kind, sequence } = run.random.pick(left)
      run.command(userId, { kind: "tick" })
      run.command(userId, { kind: "revocation", of: kind, sequence, at })
      left = standing(run.model.log(userId))
    }
    const user = run.users.get(userId)
    if (user === undefined) continue
    const { badgeCounts, badges, pointsEarned, questCount, quests, windows, xp } = stateView(
      user,
      run.project,
      run.now,
    )
    assert.equal(user.activity, null)
    // What a badge paid in a backfill stays, as an opening does. A spend may have used it up.
    const kept = run.model
      .log(userId)
      .filter((entry) => entry.kind === "backfilled" || entry.kind === "opened")
    const had = new Set(
      kept.flatMap(({ badges, kind }) =>
        kind === "opened" ? badges.map(({ badgeId }) => badgeId) : [],
      ),
    )
    const keptOf = (key: string) => kept.reduce((sum, entry) => sum + credited(entry, key), 0)
    for (const [key, { amount, since, spent }] of user.balances) {
      // What time added is nobody's to take back.
      if (since === undefined) {
        assert(amount + spent + expiredOf(user, key) <= keptOf(key), key)
      }
    }
    // No points are left either: the debt of a spend that was not undone is forgiven.
    assert(pointsEarned <= keptOf("points"), "more points than stay")
    assert.deepEqual({ xp, questCount }, { xp: keptOf("xp"), questCount: 0 })
    const began = run.model.log(userId).flatMap((one) => (one.kind === "began" ? one.questId : []))
    for (const [questId, quest] of Object.entries(quests)) {
      const { claim, completedAt, status, steps, times } = quest
      assert.deepEqual({ claim, completedAt, times }, { claim: null, completedAt: null, times: 0 })
      // A start by request stays.
      assert(status === "not_started" || began.includes(questId))
      for (const count of steps) assert.equal(count, 0)
    }
    // Nothing is left in open windows. A closed window is unchanged, also if a change of zone to the
    // west brought its day back.
    for (const kind of windowKinds) {
      const { first, xp } = windows[kind]?.at(-1) ?? { first: "", xp: 0 }
      const present = windowAt(kind, run.project.settings.timezone, run.now)
      if (first >= present && first > closedOf(run.closes)[kind]) assert.equal(xp, 0)
    }
    assert.deepEqual(
      Object.values(badgeCounts).filter((count) => count !== 0),
      [],
    )
    // Badges whose numbers an undo lowered are lost. A later event may have lowered a latest value
    // before, so that no undo did.
    for (const badgeId of Object.keys(badges)) {
      const badge = run.project.badges.get(badgeId)
      const criteria = badge?.criteria
      const kind = criteria?.kind
      const isKept = (kind === "xp" || kind === "points") && keptOf(kind) > 0
      const isLatest =
        kind === "metric" &&
        [...run.project.metrics.values()].some(
          ({ aggregate, key }) => key === criteria?.metric && aggregate === "last",
        )
      // The list of an edited badge may be one of which the user had nothing to lose.
      const isListed =
        criteria?.kind === "badges" &&
        (badge!.version > 1 ||
          run.project.badges
            .values()
            .some(({ id, key }) => criteria.badges.includes(key) && id in badges))
      const stays = had.has(badgeId) || kind === "streak" || kind === "level"
      assert(stays || isKept || isLatest || isListed)
    }
  }
}

/** Each reminder that an event follows within a day is noted as followed, once, and no other one. */
export const followedReminders = ({ records }: DomainRun): number => {
  const timeOf = (record: JournalRecord) => {
    const { cause } = record
    if (cause.kind !== "event" || cause.imported === true) return Number.NEGATIVE_INFINITY
    return Math.min(cause.occurredAt ?? Number.POSITIVE_INFINITY, decidedAt(record))
  }
  const ofUser = ({ subject }: JournalRecord) => (subject.actor === "user" ? subject.userId : "")
  const expected = records.flatMap((record, place) => {
    const at = decidedAt(record)
    const isFollowed = records
      .slice(place + 1)
      .filter((later) => ofUser(later) === ofUser(record) && later.facts.length > 0)
      .some((later) => timeOf(later) > at && decidedAt(later) <= at + 86_400_000)
    if (!isFollowed) return []
    return record.facts
      .filter(({ kind }) => isReminderKind(kind))
      .map(({ kind }) => `${kind} ${at}`)
  })
  const noted = records.flatMap(({ facts }) =>
    facts.flatMap((fact) =>
      fact.kind === "reminders.followed" ? fact.reminders.map((one) => one.join(" ")) : [],
    ),
  )
  assert.deepEqual(noted.sort(), expected.sort())
  return noted.length
}
