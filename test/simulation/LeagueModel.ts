/**
 * A naive model of one league with windows of a day of the project, fed with the records of a journal in their
 * order. Of the facts it takes only what the commands did (amounts of xp, ids of records), the numbers
 * of cohorts, and the moment at which a window closed. From these it says which facts of the league
 * each record must have, by going through all users.
 */
import { expect } from "@effect/vitest"
import type { League } from "../../src/domain/project/League.ts"
import type { Reminders } from "../../src/domain/project/Project.ts"
import { decidedAt, type Fact, type JournalRecord } from "../../src/domain/record/Record.ts"
import { localDay } from "./BoardModel.ts"
import { hasCome, hoursBefore } from "./model/reminders.ts"

const quarterMs = 900_000

interface Score {
  readonly window: number
  score: number
  /** When it was reached. */
  at: number
}

interface Player {
  /** When the user was created. */
  seen: number
  division: number
  /** A merge gave the division. */
  hasTaken: boolean
  hidden: boolean
  disqualified: boolean
  /** A disqualification gave a place among the users of the league. */
  wasDisqualified: boolean
  entry: (Score & { readonly cohort: number }) | undefined
  waiting: Array<Score>
  results: Array<string>
  points: number
  /** The user's own time zone; null: the project's. */
  zone: string | null
  /** An attribute switches reminders off. */
  quiet: boolean
  lastEventAt: number
  /** The last window whose end the user was reminded of. */
  told: number
  isMerging: boolean
}

interface Due {
  readonly division: number
  readonly rank: number | null
  readonly of: number
  readonly outcome: string
  readonly score: number
  readonly points: number
}

/** A fact of the league as the model knows it, as text. */
type Told = string

const outcomes = ["promoted", "stayed", "demoted"]

export class LeagueModel {
  readonly players = new Map<string, Player>()
  /** What comes of the closed window, for those whose records have not said it. */
  readonly due = new Map<string, Due>()
  /** Users whom a defect keeps from being settled, now or since the last close. */
  readonly refusing = new Set<string>()
  closedThrough = Number.NEGATIVE_INFINITY
  zone = "UTC"
  reminders: Reminders | undefined
  /** The time zones of the project before, and until when. */
  readonly #moves: Array<{ readonly zone: string; readonly until: number }> = []
  /** How much has happened. */
  readonly seen = {
    promoted: 0,
    stayed: 0,
    demoted: 0,
    waited: 0,
    united: 0,
    windows: 0,
    points: 0,
    moves: 0,
    disqualified: 0,
    reminded: 0,
    remindedLate: 0,
    promotionAhead: 0,
    demotionAhead: 0,
  }
  readonly late = {
    /** Closes of windows while a user was not settled in an earlier one. */
    closedWithout: 0,
    /** Outcomes of windows before the latest closed one. */
    late: 0,
    /** Scores of windows that closed meanwhile. */
    missed: 0,
  }
  readonly #league: League
  /** The window and the amount that a record scored. */
  readonly #scored = new Map<number, readonly [window: number, amount: number]>()

  constructor(league: League) {
    this.#league = league
  }

  follow(record: JournalRecord): void {
    const { subject } = record
    if (subject.actor === "project") {
      for (const fact of record.facts) {
        if (fact.kind === "league.window_closed") this.#close(fact.index)
        if (fact.kind !== "project.updated") continue
        this.#move(fact.settings.timezone, decidedAt(record))
        this.reminders = fact.settings.reminders
      }
    } else if (subject.actor === "user") {
      const told = record.facts.flatMap((fact) => this.#toldBy(fact))
      expect([record.sequence, told]).toEqual([record.sequence, this.#expected(record)])
    }
  }

  mayRefuse(userId: string): boolean {
    const isWaiting = this.refusing.size > 0 && this.players.get(userId)?.isMerging === true
    return this.refusing.has(userId) || isWaiting
  }

  #move(zone: string, until: number): void {
    if (zone === this.zone) return
    this.#moves.push({ zone: this.zone, until })
    this.zone = zone
    this.seen.moves++
  }

  /** The window of an event in the project's zone of that time; for earlier events, of the user's creation. */
  #windowThen({ seen }: Player, ms: number): number {
    const zone = this.#moves.find(({ until }) => Math.max(seen, ms) < until)?.zone ?? this.zone
    return localDay(zone, ms)
  }

  /** When a window closes in the present zone: the days of all zones begin at a quarter of an hour. */
  closesAt(window: number): number {
    const begins = (window + 1) * 86_400_000
    let at = begins - 16 * 3_600_000
    while (localDay(this.zone, at) <= window) at += quarterMs
    return at + this.#league.graceMinutes * 60_000
  }

  #toldBy(fact: Fact): ReadonlyArray<Told> {
    switch (fact.kind) {
      case "league.joined":
        return [`joined ${fact.window} in ${fact.division.index}`]
      case "league.scored":
        return [`scored ${fact.window} ${fact.amount}`]
      case "league.taken":
        return [`took ${fact.division}${fact.disqualified === true ? ", disqualified" : ""}`]
      case "league.closing": {
        const { division, endsAt, of, outcome, rank, score, size, window } = fact
        const place = `${division.index} ${score} ${rank}/${of} of ${size}`
        return [`${window} ends at ${endsAt}: ${place}, ${outcome} ahead`]
      }
      case "league.disqualified":
        return [fact.disqualified ? "disqualified" : "ranked again"]
      case "league.promoted":
      case "league.stayed":
      case "league.demoted": {
        const { division, of, rank, rewards = [], score, window } = fact
        const outcome = fact.kind.slice("league.".length)
        const points = rewards.reduce((sum, reward) => sum + reward.points, 0)
        return [`${outcome} ${window} from ${division.index} ${score} ${rank}/${of} +${points}`]
      }
      default:
        return []
    }
  }

  #close(window: number): void {
    expect(window).toBeGreaterThan(this.closedThrough)
    // The windows before are settled for all who do not refuse, and whose merge does not wait for one who does.
    expect([...this.due.keys()].filter((userId) => !this.mayRefuse(userId))).toEqual([])
    if (this.due.size > 0) this.late.closedWithout++
    this.closedThrough = window
    this.seen.windows++
    for (const [userId, player] of this.players) {
      if (player.entry?.window !== window) continue
      const { of, outcome, rank } = this.#standing(userId, player)
      this.due.set(userId, {
        division: player.division,
        rank,
        of,
        outcome,
        score: player.entry.score,
        points: this.#points(player.division, rank, outcome),
      })
    }
  }

  /** The rank of a user in the cohort, and the outcome if the window closed now. */
  #standing(userId: string, { division, entry }: Player) {
    const mates = [...this.players].filter(
      ([, other]) =>
        other.division === division &&
        other.entry?.window === entry!.window &&
        other.entry.cohort === entry!.cohort,
    )
    const rivals = mates
      .filter(([, { disqualified, entry: theirs, hidden }]) => {
        return !disqualified && !hidden && theirs!.score > 0
      })
      .sort(([, a], [, b]) => b.entry!.score - a.entry!.score || a.entry!.at - b.entry!.at)
    const place = rivals.findIndex(([id]) => id === userId)
    const rank = place < 0 ? null : place + 1
    const outcome = this.#outcome(division, rank, rivals.length)
    return { rank, of: rivals.length, size: mates.length, outcome }
  }

  /** The times at which the user may be reminded of the end of the window, the latest first. */
  remindersOf(player: Player): ReadonlyArray<number> {
    const { disqualified, entry, hidden, quiet, told } = player
    const { hour = 0, leagueDays, unless } = this.reminders ?? {}
    if (leagueDays === undefined || (quiet && unless === "quiet")) return []
    if (entry === undefined || hidden || disqualified || told >= entry.window) return []
    return hoursBefore(player.zone ?? this.zone, hour, leagueDays, this.#endsAt(entry.window))
  }

  /** Whether the user must be reminded now. */
  isRemindable(player: Player, now: number): boolean {
    const times = this.remindersOf(player)
    if (times.length === 0 || this.#endsAt(player.entry!.window) <= now) return false
    return hasCome(times, player.lastEventAt, now)
  }

  #endsAt(window: number): number {
    return this.closesAt(window) - this.#league.graceMinutes * 60_000
  }

  #remind(userId: string, player: Player, now: number): ReadonlyArray<Told> {
    if (!this.isRemindable(player, now)) return []
    const { score, window } = player.entry!
    const { of, outcome, rank, size } = this.#standing(userId, player)
    if (!this.remindersOf(player).includes(now)) this.seen.remindedLate++
    player.told = window
    this.seen.reminded++
    if (outcome === "promoted") this.seen.promotionAhead++
    if (outcome === "demoted") this.seen.demotionAhead++
    const place = `${player.division} ${score} ${rank}/${of} of ${size}`
    return [`${window} ends at ${this.#endsAt(window)}: ${place}, ${outcome} ahead`]
  }

  /** Counts one by one who moves. */
  #outcome(division: number, rank: number | null, of: number): string {
    if (rank === null) return "stayed"
    const { cohortSize, divisions } = this.#league
    const { demote, promote } = divisions[division]!
    let up = 0
    while (up < of && up * cohortSize < promote * of) up++
    if (division === divisions.length - 1) up = 0
    if (rank <= up) return "promoted"
    let down = 0
    while (down < of - up && (down + 1) * cohortSize <= demote * of) down++
    if (division === 0) down = 0
    return rank > of - down ? "demoted" : "stayed"
  }

  #points(division: number, rank: number | null, outcome: string): number {
    let points = 0
    for (const reward of rank === null ? [] : this.#league.rewards) {
      const { key } = this.#league.divisions[division]!
      if (reward.division !== null && reward.division !== key) continue
      if (reward.outcome !== null && reward.outcome !== outcome) continue
      if (reward.ranks !== null && (rank! < reward.ranks[0] || rank! > reward.ranks[1])) continue
      points += reward.reward.points
    }
    return points
  }

  /** What the record must say of the league; brings the model up to date. */
  #expected(record: JournalRecord): ReadonlyArray<Told> {
    const { cause, facts, subject } = record
    const { userId } = subject as { readonly userId: string }
    if (cause.kind === "erasure" || (cause.kind === "mergeEnd" && cause.done)) {
      this.players.delete(userId)
      this.due.delete(userId)
      return []
    }
    const known = this.players.get(userId)
    if (known !== undefined && cause.kind === "mergeEnd") known.isMerging = false
    // A kept refusal or a repeat says nothing.
    if (facts.length === 0 || cause.kind === "mergeEnd") return []
    const told: Array<Told> = []
    if (known !== undefined) this.#settle(userId, known, record, told)
    const player = known ?? this.#made(userId, decidedAt(record))
    if (cause.kind === "merge") player.isMerging = true
    // A record that settles a window reminds of none.
    if (cause.kind === "tick" && told.length === 0) {
      told.push(...this.#remind(userId, player, decidedAt(record)))
    }
    if (cause.kind === "profile") {
      const { attributes, hidden, timezone } = cause.change
      player.hidden = hidden ?? player.hidden
      if (timezone !== undefined) player.zone = timezone
      if (attributes !== undefined) player.quiet = attributes.quiet === true
    }
    if (cause.kind === "disqualifyInLeague" && cause.disqualified !== player.disqualified) {
      player.disqualified = cause.disqualified
      player.wasDisqualified = true
      this.seen.disqualified++
      told.push(cause.disqualified ? "disqualified" : "ranked again")
    }
    if (cause.kind === "event" || cause.kind === "reward") {
      const amount = this.#amountOf(record)
      const at = decidedAt(record)
      const occurred = cause.kind === "event" ? Math.min(cause.occurredAt ?? at, at) : at
      if (cause.kind === "event") player.lastEventAt = Math.max(player.lastEventAt, occurred)
      const window = this.#countingWindow(player, occurred, at)
      if (window !== undefined) this.#score(player, record, window, amount, told)
    }
    if (cause.kind === "revocation") this.#undo(player, record, cause.sequence, told)
    if (cause.kind === "absorb") this.#unite(userId, cause.from, record, told)
    return told
  }

  /** What the record scores: xp, or one for an event. */
  #amountOf({ cause, facts }: JournalRecord): number {
    if ("metric" in this.#league.score) return cause.kind === "event" ? 1 : 0
    return facts.reduce((sum, fact) => sum + (fact.kind === "xp.earned" ? fact.amount : 0), 0)
  }

  /** The window for which what occurred counts; `undefined`: it takes no more scores. */
  #countingWindow(player: Player, occurred: number, now: number): number | undefined {
    const present = localDay(this.zone, now)
    const window = this.#windowThen(player, occurred)
    if (window === present) {
      const latest = player.waiting.at(-1)?.window ?? player.entry?.window ?? present
      return Math.max(present, this.closedThrough + 1, latest)
    }
    return window < present && this.#takes(window, now) ? window : undefined
  }

  #made(userId: string, seen: number): Player {
    const player: Player = {
      seen,
      division: 0,
      hasTaken: false,
      hidden: false,
      disqualified: false,
      wasDisqualified: false,
      entry: undefined,
      waiting: [],
      results: [],
      points: 0,
      zone: null,
      quiet: false,
      lastEventAt: 0,
      told: Number.NEGATIVE_INFINITY,
      isMerging: false,
    }
    this.players.set(userId, player)
    return player
  }

  #settle(userId: string, player: Player, record: JournalRecord, told: Array<Told>): void {
    const due = this.due.get(userId)
    if (due === undefined) return
    this.due.delete(userId)
    const { division, of, outcome, points, rank, score } = due
    const { window } = player.entry!
    const said = `${outcome} ${window} from ${division} ${score} ${rank}/${of} +${points}`
    told.push(said)
    player.results.push(said)
    player.points += points
    this.seen.points += points
    player.division += 1 - outcomes.indexOf(outcome)
    player.entry = undefined
    this.seen[outcome as "promoted" | "stayed" | "demoted"]++
    if (window < this.closedThrough) this.late.late++
    while (player.waiting.length > 0 && player.waiting[0]!.window <= this.closedThrough) {
      player.waiting.shift()
      this.late.missed++
    }
    const next = player.waiting.shift()
    if (next !== undefined) {
      this.seen.waited++
      this.#join(player, next, record, told)
    }
  }

  #join(player: Player, score: Score, { facts }: JournalRecord, told: Array<Told>): void {
    told.push(`joined ${score.window} in ${player.division}`)
    const joined = facts.find(
      (fact) => fact.kind === "league.joined" && fact.window === score.window,
    )
    if (joined?.kind !== "league.joined") return
    const { cohort } = joined
    const mates = [...this.players.values()].filter(
      ({ division, entry }) =>
        division === player.division && entry?.window === score.window && entry.cohort === cohort,
    )
    expect(mates.length).toBeLessThan(this.#league.cohortSize)
    player.entry = { ...score, cohort }
  }

  #takes(window: number, now: number): boolean {
    return window > this.closedThrough && now < this.closesAt(window)
  }

  #score(
    player: Player,
    record: JournalRecord,
    window: number,
    amount: number,
    told: Array<Told>,
  ): void {
    if (amount === 0) return
    const at = record.sequence
    if (player.entry === undefined) {
      this.#join(player, { window, score: 0, at }, record, told)
    }
    const places = [player.entry, ...player.waiting].filter((place) => place !== undefined)
    let place: Score | undefined = places.find((one) => one.window === window)
    if (place === undefined) {
      if (places.some((one) => one.window > window)) return
      place = { window, score: 0, at }
      player.waiting.push(place)
    }
    place.score += amount
    place.at = at
    const [, before] = this.#scored.get(record.sequence) ?? [window, 0]
    this.#scored.set(record.sequence, [window, before + amount])
    told.push(`scored ${window} ${amount}`)
  }

  #undo(player: Player, record: JournalRecord, sequence: number, told: Array<Told>): void {
    const scored = this.#scored.get(sequence)
    if (scored === undefined || !record.facts.some(({ kind }) => kind === "event.revoked")) return
    const [window, amount] = scored
    const place = [player.entry, ...player.waiting].find((one) => one?.window === window)
    const back = Math.min(amount, place?.score ?? 0)
    if (place === undefined || back === 0 || !this.#takes(window, decidedAt(record))) return
    place.score -= back
    place.at = record.sequence
    told.push(`scored ${window} ${-back}`)
  }

  #unite(userId: string, from: string, record: JournalRecord, told: Array<Told>): void {
    const mine = this.players.get(userId)!
    const theirs = this.players.get(from)
    if (theirs === undefined) return
    mine.points += theirs.points
    mine.lastEventAt = Math.max(mine.lastEventAt, theirs.lastEventAt)
    mine.told = Math.max(mine.told, theirs.told)
    if (!isInLeague(theirs)) return
    const wasIn = isInLeague(mine)
    const gains = theirs.disqualified && !mine.disqualified
    if (!isInLeague(mine)) {
      mine.division = theirs.division
      mine.hasTaken = true
    }
    if (gains || !wasIn) told.push(`took ${mine.division}${gains ? ", disqualified" : ""}`)
    mine.disqualified ||= gains
    for (const place of [theirs.entry, ...theirs.waiting]) {
      if (place === undefined || place.score === 0) continue
      if (!this.#takes(place.window, decidedAt(record))) continue
      this.seen.united++
      this.#score(mine, record, place.window, place.score, told)
    }
  }
}

/** Whether the user ever had a place, or a division that was taken over. */
const isInLeague = ({ entry, hasTaken, results, wasDisqualified }: Player): boolean =>
  wasDisqualified || hasTaken || entry !== undefined || results.length > 0
