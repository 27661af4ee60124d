/**
 * Leaderboards as naively as they can be written: all users in a map, days computed by `Intl`,
 * every board sorted again for each read. A closed board is a list of rows, without hidden and
 * erased users.
 */
import {
  type DaysWindow,
  type TimedWindow,
  timedWindows,
} from "../../src/domain/values/Calendar.ts"

/** The amounts of a score, by the number of the change that gave each. */
type Score = Map<number, number>

const xpOf = (score: Score): number => [...score.values()].reduce((sum, xp) => sum + xp, 0)

/** The change that gave an amount, and the windows for which it counts. */
export interface Credit extends Partial<Record<TimedWindow, number>> {
  readonly change: number
}

interface ModelUser {
  /** When the user was created. */
  readonly seen: number
  readonly all: Score
  hidden: boolean
  group: string | null
  /** By kind and index. */
  readonly windows: Map<string, Score>
  readonly latest: Record<TimedWindow, number>
}

interface Row {
  readonly userId: string
  readonly xp: number
  /** On a closed board, the group at the close. */
  readonly group: string | null
}

export interface ModelEntry extends Row {
  readonly rank: number
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Days since 1970-01-01 of the local date at `ms`. */
export const localDay = (zone: string, ms: number): number => {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" })
    formats.set(zone, format)
  }
  return Date.parse(`${format.format(ms)}T00:00:00Z`) / 86_400_000
}

const dayMs = 86_400_000

const windowOf = (kind: TimedWindow, { anchor, days }: DaysWindow, day: number): number => {
  if (kind === "daily") return day
  if (kind === "days") return Math.floor((day - Date.parse(anchor) / dayMs) / days)
  // 1970-01-01 was a Thursday.
  if (kind === "weekly") return Math.floor((day + 3) / 7)
  const date = new Date(day * 86_400_000)
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth()
}

const ranked = (rows: ReadonlyArray<Row>): ReadonlyArray<ModelEntry> =>
  rows.map(({ group, userId, xp }) => ({
    userId,
    xp,
    group,
    rank: 1 + rows.filter((other) => other.xp > xp).length,
  }))

/** What each window that closes pays: points for ranks, or for a share of the users. */
export const modelPrizes = [
  { ranks: [1, 1], points: 100 },
  { ranks: [2, 3], points: 10 },
  { percent: 34, points: 1 },
] as const

/**
 * A leaderboard of xp that ends. The first one has all windows from the beginning on, the others only
 * that of all time.
 */
export interface Season {
  readonly id: string
  readonly hasWindows: boolean
  endsAt: number
  /** The rows of each window when it ended; absent: it has not. */
  ended?: Map<string, Array<Row>>
}

export class BoardModel {
  /** How long the windows of days last, which the board `xp` has not. The window 0 begins on the anchor. */
  readonly span: DaysWindow
  readonly seasons: Array<Season> = []
  readonly users = new Map<string, ModelUser>()
  /** The points of the prizes that each user has won. */
  readonly won = new Map<string, number>()
  readonly #closed = new Map<string, Array<Row>>()
  readonly #closedThrough: Record<TimedWindow, number> = {
    daily: -Infinity,
    weekly: -Infinity,
    monthly: -Infinity,
    days: -Infinity,
  }
  zone = "UTC"
  now: number
  #changes = 0
  /** The time zones of the project before, and until when. */
  readonly #moves: Array<{ readonly zone: string; readonly until: number }> = []

  constructor(now: number, span: DaysWindow) {
    this.now = now
    this.span = span
  }

  /** Advances the time by quarters of an hour: the days of all zones begin at one. */
  advance(to: number): void {
    while (this.now < to) {
      const quarter = Math.floor(this.now / 900_000 + 1) * 900_000
      const day = localDay(this.zone, this.now)
      const ends = this.seasons.flatMap(({ ended, endsAt }) => (ended === undefined ? endsAt : []))
      this.now = Math.min(to, quarter, ...ends)
      for (const season of this.seasons) if (season.endsAt <= this.now) this.end(season)
      if (localDay(this.zone, this.now) !== day) this.close()
    }
  }

  /** Changes the project's zone. */
  move(zone: string): void {
    this.#moves.push({ zone: this.zone, until: this.now })
    this.zone = zone
    this.close()
  }

  open(kind: TimedWindow): number {
    return Math.max(this.#current(kind, this.now), this.#closedThrough[kind] + 1)
  }

  #current(kind: TimedWindow, ms: number): number {
    return windowOf(kind, this.span, localDay(this.zone, ms))
  }

  /**
   * The window of an event in the project's zone of that time; for earlier events, of the user's
   * creation.
   */
  #windowThen(kind: TimedWindow, { seen }: ModelUser, ms: number): number {
    const zone = this.#moves.find(({ until }) => Math.max(seen, ms) < until)?.zone ?? this.zone
    return windowOf(kind, this.span, localDay(zone, ms))
  }

  xpOf(userId: string): number | undefined {
    const user = this.users.get(userId)
    return user && xpOf(user.all)
  }

  /** Gives xp for an event that occurred then; returns where it counts. */
  earn(userId: string, xp: number, occurredAt = this.now): Credit {
    const user = this.#user(userId)
    const credit: { change: number } & Partial<Record<TimedWindow, number>> = {
      change: ++this.#changes,
    }
    if (xp === 0) return credit
    user.all.set(credit.change, xp)
    for (const kind of timedWindows) {
      const then = this.#windowThen(kind, user, Math.min(occurredAt, this.now))
      if (then !== this.#current(kind, this.now)) continue
      const index = Math.max(this.open(kind), user.latest[kind])
      credit[kind] = index
      this.#add(user, kind, index, credit.change, xp)
    }
    return credit
  }

  /** Revokes the xp of a call of `earn`. */
  undo(userId: string, credit: Credit): void {
    const user = this.#user(userId)
    user.all.delete(credit.change)
    for (const kind of timedWindows) {
      const index = credit[kind]
      if (index === undefined || index !== user.latest[kind]) continue
      if (index !== Math.max(this.open(kind), user.latest[kind])) continue
      const score = user.windows.get(`${kind} ${index}`)
      score?.delete(credit.change)
      if (score?.size !== 0) continue
      // A user is not bound to a window without xp.
      user.windows.delete(`${kind} ${index}`)
      const before = [...user.windows.keys()].findLast((name) => name.startsWith(kind))
      user.latest[kind] = before === undefined ? -Infinity : Number(before.split(" ")[1])
    }
  }

  #add(user: ModelUser, kind: TimedWindow, index: number, change: number, xp: number): void {
    const score = user.windows.get(`${kind} ${index}`) ?? new Map()
    user.windows.set(`${kind} ${index}`, score.set(change, xp))
    if (index === user.latest[kind]) return
    user.latest[kind] = index
    // The xp of an earlier window is on a closed board or, for a hidden user, lost.
    const names = [...user.windows.keys()].filter((name) => name.startsWith(kind))
    for (const name of names.slice(0, -2)) user.windows.delete(name)
  }

  hide(userId: string, hidden: boolean): void {
    this.#user(userId).hidden = hidden
    if (hidden) this.#leavePast(userId)
  }

  /** Moves the user to another group. */
  regroup(userId: string, group: string | null): void {
    this.#user(userId).group = group
  }

  erase(userId: string): void {
    this.users.delete(userId)
    this.#leavePast(userId)
  }

  touch(userId: string): void {
    this.#user(userId)
  }

  /** The rows of a window of a season that has ended. */
  final({ ended }: Season, name: string): ReadonlyArray<ModelEntry> {
    return ranked(ended?.get(name) ?? [])
  }

  /** The rows of a window, or of all time. */
  board(kind: "all_time" | TimedWindow, index = 0): ReadonlyArray<ModelEntry> {
    if (kind === "all_time") return ranked(this.#sorted(({ all }) => all))
    const closed = this.#closed.get(`${kind} ${index}`)
    if (closed !== undefined) return ranked(closed)
    if (index <= this.#closedThrough[kind]) return []
    return ranked(this.#sorted(({ windows }) => windows.get(`${kind} ${index}`)))
  }

  #sorted(scoreOf: (user: ModelUser) => Score | undefined): Array<Row> {
    return [...this.users]
      .flatMap(([userId, user]) => {
        const score = user.hidden ? undefined : scoreOf(user)
        if (score === undefined || score.size === 0) return []
        return [{ userId, xp: xpOf(score), group: user.group, reached: Math.max(...score.keys()) }]
      })
      .sort((one, other) => other.xp - one.xp || one.reached - other.reached)
      .map(({ group, userId, xp }) => ({ userId, xp, group }))
  }

  /** Ends a season now: closes all its windows. */
  end(season: Season): void {
    if (season.ended !== undefined) return
    const rows = new Map([["all_time 0", this.#sorted(({ all }) => all)]])
    if (season.hasWindows) {
      for (const [name, closed] of this.#closed) rows.set(name, [...closed])
      for (const kind of timedWindows) {
        for (const index of this.#indexes(kind)) {
          if (index <= this.#closedThrough[kind]) continue
          const name = `${kind} ${index}`
          rows.set(
            name,
            this.#sorted(({ windows }) => windows.get(name)),
          )
          if (kind === "weekly") this.#pay(ranked(rows.get(name)!))
        }
      }
    }
    season.ended = rows
    this.#pay(ranked(rows.get("all_time 0")!))
  }

  /** The windows in which users have xp who are not hidden. */
  #indexes(kind: TimedWindow): ReadonlyArray<number> {
    const indexes = new Set<number>()
    for (const { hidden, windows } of this.users.values()) {
      for (const name of windows.keys()) {
        const [of, index] = name.split(" ")
        if (of === kind && !hidden) indexes.add(Number(index))
      }
    }
    return [...indexes].sort((one, other) => one - other)
  }

  /** Closes the windows that are over: at the end of a day, at a change of zone, and at a start. */
  close(): void {
    for (const kind of timedWindows) {
      const open = this.open(kind)
      for (const index of this.#indexes(kind)) {
        if (index <= this.#closedThrough[kind] || index >= open) continue
        const rows = this.#sorted(({ windows }) => windows.get(`${kind} ${index}`))
        this.#closed.set(`${kind} ${index}`, rows)
        if (kind !== "days") this.#pay(ranked(rows))
        const [first] = this.seasons
        if (kind === "weekly" && first !== undefined && first.ended === undefined) {
          this.#pay(ranked(rows))
        }
        this.#closedThrough[kind] = index
      }
    }
  }

  #pay(entries: ReadonlyArray<ModelEntry>): void {
    for (const { rank, userId } of entries) {
      for (const prize of modelPrizes) {
        const [from, to] =
          "ranks" in prize ? prize.ranks : [1, Math.ceil((entries.length * prize.percent) / 100)]
        if (rank < from || rank > to) continue
        this.won.set(userId, (this.won.get(userId) ?? 0) + prize.points)
      }
    }
  }

  #leavePast(userId: string): void {
    for (const closed of [this.#closed, ...this.seasons.flatMap(({ ended }) => ended ?? [])]) {
      for (const [name, rows] of closed) {
        closed.set(
          name,
          rows.filter((row) => row.userId !== userId),
        )
      }
    }
  }

  #user(userId: string): ModelUser {
    let user = this.users.get(userId)
    if (user === undefined) {
      const latest = { daily: -Infinity, weekly: -Infinity, monthly: -Infinity, days: -Infinity }
      user = {
        seen: this.now,
        all: new Map(),
        hidden: false,
        group: null,
        windows: new Map(),
        latest,
      }
      this.users.set(userId, user)
    }
    return user
  }
}
