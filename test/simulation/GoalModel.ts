/**
 * Shared goals as a plain program would keep them: lists of users and totals, changed record by record
 * by what was asked. It reads no fact of a contribution, but checks that the record has the ones that
 * it expects.
 */
import { expect } from "@effect/vitest"
import type { Goal } from "../../src/domain/project/Goal.ts"
import { decidedAt, type Fact, type JournalRecord } from "../../src/domain/record/Record.ts"

const day = 86_400_000
/** What an event gives. */
export const tapXp = 3

interface Part {
  amount: number
  since: number
  paid: boolean
  /** The user was in the team at the completion. */
  isDue: boolean
}

interface Player {
  team: number
  joinedAt: number
  /** By goal, period and team. */
  readonly parts: Map<string, Part>
  /** Where the latest contribution to each goal was. */
  readonly latest: Map<string, string>
  points: number
}

interface Place {
  readonly goal: Goal
  readonly period: number
  readonly team: number
  total: number
  contributors: number
  reached: number
  completedAt: number
  isPaid: boolean
}

interface Contribution {
  readonly place: string
  readonly amount: number
  readonly day: string
}

const newPlayer = (): Player => ({
  team: 0,
  joinedAt: 0,
  parts: new Map(),
  latest: new Map(),
  points: 0,
})

/** How often each of these happened in a run. */
export const nothingSeen = {
  completed: 0,
  edits: 0,
  undone: 0,
  united: 0,
  paid: 0,
  small: 0,
  told: 0,
  /** Rewards of users who had left the team meanwhile. */
  left: 0,
  /** Members who contributed, and were not in the team at its completion. */
  missed: 0,
}

export class GoalModel {
  readonly players = new Map<string, Player>()
  readonly places = new Map<string, Place>()
  readonly goals = new Map<string, Goal>()
  /** By the sequence of a record: what it contributed. */
  readonly #made = new Map<number, ReadonlyArray<Contribution>>()
  /** The contributions, by goal and day. */
  readonly days = new Map<string, number>()
  readonly seen = { ...nothingSeen }

  /** The places that wait for rewards. */
  get owed(): ReadonlyArray<Place> {
    return [...this.places.values()].filter((place) => place.completedAt > 0 && !place.isPaid)
  }

  follow(record: JournalRecord): void {
    const { cause, facts, sequence, subject } = record
    if (subject.actor === "project") this.#ofProject(record)
    if (subject.actor !== "user" || facts.length === 0) return
    const { userId } = subject
    const now = decidedAt(record)
    switch (cause.kind) {
      case "event":
        this.#earn(record, userId, tapXp, cause.occurredAt ?? now)
        return
      case "reward":
        this.#earn(record, userId, "amount" in cause ? cause.amount : 0, now)
        return
      case "revocation":
        this.#undo(record, userId, cause.sequence)
        return
      case "join": {
        const player = this.#player(userId)
        const team = Number(cause.teamId.slice(1))
        if (player.team !== team) Object.assign(player, { team, joinedAt: now })
        return
      }
      case "leave":
        this.#player(userId).team = 0
        return
      case "absorb":
        this.#unite(userId, cause.from, sequence)
        return
      case "mergeEnd":
        if (cause.done) this.players.delete(userId)
        return
      case "erasure":
        this.players.delete(userId)
        return
      case "payment":
        this.#pay(record, userId)
        return
      default:
        expect([sequence, goalFacts(facts)]).toEqual([sequence, []])
    }
  }

  #player(userId: string): Player {
    let player = this.players.get(userId)
    if (player === undefined) {
      player = newPlayer()
      this.players.set(userId, player)
    }
    return player
  }

  #earn(record: JournalRecord, userId: string, amount: number, occurredAt: number): void {
    const player = this.#player(userId)
    const made: Array<Contribution> = []
    const expected: Array<string> = []
    const now = decidedAt(record)
    for (const goal of this.goals.values()) {
      const periodAt = (time: number) => (goal.recurrence === "none" ? 0 : Math.floor(time / day))
      if (goal.set !== "published" || occurredAt < goal.createdAt) continue
      if (periodAt(occurredAt) !== periodAt(now)) continue
      const team = goal.scope === "team" ? player.team : 0
      if (goal.scope === "team" && (team === 0 || occurredAt < player.joinedAt)) continue
      const name = `${goal.id} ${periodAt(now)} ${team}`
      const place = this.#place(name, goal, periodAt(now), team)
      if (place.completedAt > 0) continue
      this.#move(player, goal.id, name)
      const part = player.parts.get(name) ?? {
        ...{ amount: 0, since: record.sequence },
        ...{ paid: false, isDue: false },
      }
      player.parts.set(name, part)
      if (part.amount === 0) place.contributors++
      part.amount += amount
      place.total += amount
      const dayName = `${goal.id} ${Math.floor(occurredAt / day)}`
      this.#addDay(dayName, amount)
      made.push({ place: name, amount, day: dayName })
      expected.push(`${name} +${amount}`)
      const percent = [100, 75, 50, 25].find((one) => place.total * 100 >= one * goal.target) ?? 0
      if (percent <= place.reached) continue
      this.#reach(name, percent, now)
      expected.push(`${name} ${percent}%`)
    }
    this.#made.set(record.sequence, made)
    expect([record.sequence, goalFacts(record.facts)]).toEqual([record.sequence, expected])
  }

  /** The user's part in another place ends, unless it waits for its reward. */
  #move(player: Player, goalId: string, name: string): void {
    for (const other of [...player.parts.keys()]) {
      if (!other.startsWith(`${goalId} `) || other === name) continue
      const place = this.places.get(other)!
      const waits = place.completedAt > 0 && !place.isPaid && !player.parts.get(other)!.paid
      if (!waits) player.parts.delete(other)
    }
    player.latest.set(goalId, name)
  }

  #addDay(name: string, amount: number): void {
    this.days.set(name, (this.days.get(name) ?? 0) + amount)
  }

  #place(name: string, goal: Goal, period: number, team: number): Place {
    let place = this.places.get(name)
    if (place === undefined) {
      const empty = { total: 0, contributors: 0, reached: 0, completedAt: 0, isPaid: false }
      place = { goal, period, team, ...empty }
      this.places.set(name, place)
    }
    return place
  }

  #reach(name: string, percent: number, now: number): void {
    const place = this.places.get(name)!
    place.reached = percent
    this.seen.told++
    if (percent < 100) return
    this.seen.completed++
    place.completedAt = now
    for (const { parts, team } of this.players.values()) {
      const part = parts.get(name)
      if (part !== undefined) part.isDue = place.team === 0 || place.team === team
    }
  }

  #undo(record: JournalRecord, userId: string, sequence: number): void {
    const player = this.#player(userId)
    const expected: Array<string> = []
    const now = decidedAt(record)
    for (const { amount, day: dayName, place: name } of this.#made.get(sequence) ?? []) {
      const place = this.places.get(name)!
      const { goal, period } = place
      const present = goal.recurrence === "none" ? 0 : Math.floor(now / day)
      if (place.completedAt > 0 || period !== present) continue
      place.total -= amount
      this.#addDay(dayName, -amount)
      expected.push(`${name} ${-amount}`)
      this.seen.undone++
      const part = player.parts.get(name)
      if (part === undefined || part.since > sequence) continue
      const before = part.amount
      part.amount = Math.max(0, before - amount)
      if (before > 0 && part.amount === 0) place.contributors--
    }
    expect([record.sequence, goalFacts(record.facts)]).toEqual([record.sequence, expected])
  }

  #unite(into: string, from: string, sequence: number): void {
    const mine = this.#player(into)
    const theirs = this.#player(from)
    expect(sequence).toBeGreaterThan(0)
    if (mine.team === 0) Object.assign(mine, { team: theirs.team, joinedAt: theirs.joinedAt })
    for (const [name, part] of theirs.parts) {
      const own = mine.parts.get(name)
      if (own === undefined) {
        mine.parts.set(name, part)
        continue
      }
      this.seen.united++
      if (own.amount > 0 && part.amount > 0) this.places.get(name)!.contributors--
      own.amount += part.amount
      own.since = Math.min(own.since, part.since)
      own.paid ||= part.paid
      own.isDue ||= part.isDue
    }
    mine.points += theirs.points
  }

  /** Exactly who is due a reward gets it, and no one twice. */
  #pay({ cause, facts, sequence }: JournalRecord, userId: string): void {
    if (cause.kind !== "payment" || cause.goal === undefined) return
    const { goalId, period, team = 0 } = cause.goal
    const place = this.places.get(`${goalId} ${period} ${team}`)!
    const player = this.#player(userId)
    const part = player.parts.get(`${goalId} ${period} ${team}`)
    expect([sequence, part?.paid, place.completedAt > 0]).toEqual([sequence, false, true])
    expect(part!.amount).toBeGreaterThanOrEqual(place.goal.minContribution)
    expect([sequence, part!.isDue]).toEqual([sequence, true])
    if (team > 0 && player.team !== team) this.seen.left++
    part!.paid = true
    const { points } = place.goal.reward
    player.points += points
    this.seen.paid++
    const gained = facts.flatMap((fact) => (fact.kind === "points.earned" ? [fact.amount] : []))
    expect([sequence, gained, goalFacts(facts)]).toEqual([sequence, [points], []])
  }

  #ofProject(record: JournalRecord): void {
    for (const fact of record.facts) {
      switch (fact.kind) {
        case "goal.created":
        case "goal.updated":
          this.goals.set(fact.goal.id, fact.goal)
          break
        case "goal.completed": {
          const { goalId, period, team = 0 } = fact
          const place = this.places.get(`${goalId} ${period} ${team}`)!
          expect(place.completedAt).toBe(0)
          expect(place.total).toBeGreaterThanOrEqual(this.goals.get(goalId)!.target)
          this.seen.edits++
          this.#reach(`${goalId} ${period} ${team}`, 100, decidedAt(record))
          break
        }
        case "goal.rewards_paid": {
          const { goalId, period, team = 0 } = fact
          this.#finish(`${goalId} ${period} ${team}`)
          break
        }
      }
    }
  }

  /** Everyone who was due the reward has it. */
  #finish(name: string): void {
    const place = this.places.get(name)!
    expect([name, place.isPaid]).toEqual([name, false])
    place.isPaid = true
    for (const [userId, { parts, team }] of this.players) {
      const part = parts.get(name)
      if (part === undefined) continue
      if (part.amount < place.goal.minContribution) this.seen.small++
      if (part.amount < place.goal.minContribution) continue
      // Who left the team before, and came back since, gets nothing.
      expect([name, userId, part.paid]).toEqual([name, userId, part.isDue])
      if (!part.isDue && team === place.team) this.seen.missed++
    }
  }
}

/** What a record says of contributions and shares, in short. */
const goalFacts = (facts: ReadonlyArray<Fact>): ReadonlyArray<string> =>
  facts.flatMap((fact) => {
    if (!("goalId" in fact) || fact.kind === "goal.rewarded" || fact.kind === "goal.claim_changed")
      return []
    const place = `${fact.goalId} ${fact.period} ${fact.team ?? 0}`
    if (fact.kind === "goal.contributed") {
      return [`${place} ${fact.amount > 0 ? "+" : ""}${fact.amount}`]
    }
    if (fact.kind === "goal.progressed") return [`${place} ${fact.percent}%`]
    return fact.kind === "goal.completed" ? [`${place} 100%`] : []
  })
