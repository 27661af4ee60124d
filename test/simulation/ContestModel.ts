/**
 * A leaderboard of teams as naively as it can be written: a sum for each window and team, to which an
 * event adds for the team that its user is in. The zone never changes, so a window is over when its last
 * day is, and its grace.
 */
import {
  type DaysWindow,
  dayOf,
  type TimedWindow,
  timedWindows,
  type Zone,
  zoneOf,
} from "../../src/domain/values/Calendar.ts"

interface Score {
  amount: number
  /** The change that set it. */
  since: number
}

export interface Contribution {
  readonly team: string
  readonly amount: number
  readonly windows: ReadonlyArray<readonly [TimedWindow, number]>
}

/** A prize of a window that closed, which waits for its payment. */
interface Owed {
  userId: string
  readonly window: string
  readonly team: string
}

/** What a user scored for the team that got its latest score, by window. */
interface Share {
  readonly team: string
  readonly sums: Map<string, number>
}

export interface ContestRow {
  readonly rank: number
  readonly team: string
  readonly score: number
}

export class ContestModel {
  /** The team of each user who is in one. */
  readonly members = new Map<string, string>()
  readonly teams = new Set<string>()
  /** By window, and by team. */
  readonly #scores = new Map<string, Map<string, Score>>()
  readonly #zone: Zone
  readonly #graceMs: number
  readonly #span: DaysWindow
  readonly #shares = new Map<string, Share>()
  readonly hidden = new Set<string>()
  /** The teams that are disqualified. */
  readonly #off = new Set<string>()
  /** The points of the prizes that each user has won. */
  readonly won = new Map<string, number>()
  /** The windows that are closed. */
  readonly #closed = new Set<string>()
  #owed: ReadonlyArray<Owed> = []
  #changes = 0

  constructor(timezone: string, graceMs: number, span: DaysWindow) {
    this.#span = span
    this.#zone = zoneOf(timezone)
    this.#graceMs = graceMs
  }

  current(kind: TimedWindow, now: number): number {
    if (kind !== "days") return this.#zone.windowAt(kind, now)
    const { anchor, days } = this.#span
    return Math.floor((this.#zone.dayAt(now) - dayOf(anchor)!) / days)
  }

  /** Whether a window takes scores, and undos of them. */
  isOpen(kind: TimedWindow, index: number, now: number): boolean {
    return index >= this.current(kind, now - this.#graceMs)
  }

  /** `undefined`: the user is in no team. */
  earn(userId: string, amount: number, now: number, occurredAt = now): Contribution | undefined {
    const team = this.members.get(userId)
    if (team === undefined) return undefined
    const windows = timedWindows.flatMap((kind) => {
      const index = this.current(kind, occurredAt)
      return this.isOpen(kind, index, now) ? [[kind, index] as const] : []
    })
    const contribution = { team, amount, windows }
    this.#add(contribution, windows, amount)
    const known = this.#shares.get(userId)
    const share = known?.team === team ? known : { team, sums: new Map<string, number>() }
    this.#shares.set(userId, share)
    this.#addShare(share, windows, amount)
    return contribution
  }

  /** A window that is over keeps the amount. */
  undo(userId: string, contribution: Contribution, now: number): void {
    const open = contribution.windows.filter(([kind, index]) => this.isOpen(kind, index, now))
    this.#add(contribution, open, -contribution.amount)
    const share = this.#shares.get(userId)
    if (share?.team === contribution.team) this.#addShare(share, open, -contribution.amount)
  }

  #addShare({ sums }: Share, windows: Contribution["windows"], amount: number): void {
    for (const window of windows.map((one) => one.join(" "))) {
      sums.set(window, Math.max(0, (sums.get(window) ?? 0) + amount))
    }
  }

  /** The user who stays keeps its share, and is owed the prizes of both, once for each window. */
  merge(from: string, into: string): void {
    for (const owed of this.#owed) if (owed.userId === from) owed.userId = into
    const [theirs, mine] = [this.#shares.get(from), this.#shares.get(into)]
    this.#shares.delete(from)
    if (theirs === undefined || (mine !== undefined && mine.team !== theirs.team)) return
    const sums = new Map(mine?.sums)
    for (const [window, amount] of theirs.sums) {
      if (!this.#closed.has(window)) sums.set(window, (sums.get(window) ?? 0) + amount)
    }
    this.#shares.set(into, { team: theirs.team, sums })
  }

  forget(userId: string): void {
    this.#shares.delete(userId)
    this.#owed = this.#owed.filter((owed) => owed.userId !== userId)
    this.hidden.delete(userId)
    this.won.delete(userId)
  }

  /** Each window that is over gives a point to those members of the first team who scored for it. */
  close(now: number): void {
    for (const window of this.#scores.keys()) {
      const [kind, index] = window.split(" ") as [TimedWindow | "all_time", string]
      if (kind === "all_time" || this.#closed.has(window)) continue
      if (this.isOpen(kind, Number(index), now)) continue
      for (const team of this.#off) this.#scores.get(window)!.delete(team)
      this.#closed.add(window)
      const first = this.board(kind, Number(index))[0]?.team
      for (const [userId, { sums, team }] of this.#shares) {
        const isThere = team === first && this.members.get(userId) === team
        if (!isThere || (sums.get(window) ?? 0) === 0) continue
        this.#owed = [...this.#owed, { userId, window, team }]
      }
    }
  }

  /** Pays all prizes that are owed. Returns how many are of windows before the last one. */
  pay(now: number): number {
    const paid = new Set<string>()
    let late = 0
    for (const { team, userId, window } of this.#owed) {
      const name = `${userId} ${window}`
      if (paid.has(name) || this.hidden.has(userId) || !this.teams.has(team)) continue
      paid.add(name)
      this.won.set(userId, (this.won.get(userId) ?? 0) + 1)
      const [kind, index] = window.split(" ") as [TimedWindow, string]
      if (Number(index) < this.current(kind, now) - 2) late++
    }
    this.#owed = []
    return late
  }

  #add({ team }: Contribution, windows: Contribution["windows"], amount: number): void {
    if (!this.teams.has(team)) return
    const since = ++this.#changes
    for (const window of ["all_time", ...windows.map((one) => one.join(" "))]) {
      const scores = this.#scores.get(window) ?? new Map<string, Score>()
      this.#scores.set(window, scores)
      const score = (scores.get(team)?.amount ?? 0) + amount
      if (score > 0) scores.set(team, { amount: score, since })
      else scores.delete(team)
    }
  }

  isOff(team: string): boolean {
    return this.#off.has(team)
  }

  /** A disqualified team leaves closed windows for good. */
  disqualify(team: string, isOff: boolean): void {
    if (isOff) this.#off.add(team)
    else this.#off.delete(team)
    if (!isOff) return
    for (const window of this.#closed) this.#scores.get(window)?.delete(team)
    this.#owed = this.#owed.filter((owed) => owed.team !== team)
  }

  /** A deleted team leaves every window. Its name must not be used again. */
  delete(team: string): void {
    this.teams.delete(team)
    this.#off.delete(team)
    for (const scores of this.#scores.values()) scores.delete(team)
    for (const [userId, own] of this.members) if (own === team) this.members.delete(userId)
  }

  board(kind: "all_time" | TimedWindow, index: number): ReadonlyArray<ContestRow> {
    const window = kind === "all_time" ? kind : `${kind} ${index}`
    const rows = [...(this.#scores.get(window) ?? [])]
      .filter(([team]) => !this.#off.has(team))
      .sort(([, one], [, other]) => other.amount - one.amount || one.since - other.since)
    return rows.map(([team, { amount }]) => ({
      rank: 1 + rows.filter(([, other]) => other.amount > amount).length,
      team,
      score: amount,
    }))
  }
}
