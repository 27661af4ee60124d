/**
 * Leaderboards as naively as they can be written: all users in a map, days computed by `Intl`, every board sorted
 * again for each read. A closed board is a list of rows, without hidden and erased users.
 */
import { type WindowKind, windowKinds } from "../../src/domain/values/Calendar.ts"

interface Score {
  xp: number
  /** When it was reached, counted in changes. */
  reached: number
}

interface ModelUser {
  all: Score
  hidden: boolean
  /** By kind and index. */
  readonly windows: Map<string, Score>
  readonly latest: Record<WindowKind, number>
}

interface Row {
  readonly userId: string
  readonly xp: number
}

export interface ModelEntry extends Row {
  readonly rank: number
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Days since 1970-01-01 of the local date at `ms`. */
const localDay = (zone: string, ms: number): number => {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" })
    formats.set(zone, format)
  }
  return Date.parse(`${format.format(ms)}T00:00:00Z`) / 86_400_000
}

const windowOf = (kind: WindowKind, day: number): number => {
  if (kind === "daily") return day
  // 1970-01-01 was a Thursday.
  if (kind === "weekly") return Math.floor((day + 3) / 7)
  const date = new Date(day * 86_400_000)
  return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth()
}

const ranked = (rows: ReadonlyArray<Row>): ReadonlyArray<ModelEntry> =>
  rows.map(({ userId, xp }) => ({
    userId,
    xp,
    rank: 1 + rows.filter((other) => other.xp > xp).length,
  }))

export class BoardModel {
  readonly users = new Map<string, ModelUser>()
  readonly #closed = new Map<string, Array<Row>>()
  readonly #closedThrough: Record<WindowKind, number> = {
    daily: -Infinity,
    weekly: -Infinity,
    monthly: -Infinity,
  }
  zone = "UTC"
  now: number
  #changes = 0

  constructor(now: number) {
    this.now = now
  }

  /** Advances the time by quarters of an hour, at which the days of all zones begin. */
  advance(to: number): void {
    while (this.now < to) {
      const quarter = Math.floor(this.now / 900_000 + 1) * 900_000
      const day = localDay(this.zone, this.now)
      this.now = Math.min(to, quarter)
      if (localDay(this.zone, this.now) !== day) this.close()
    }
  }

  /** The zone changes. */
  move(zone: string): void {
    this.zone = zone
    this.close()
  }

  open(kind: WindowKind): number {
    return Math.max(this.#current(kind, this.now), this.#closedThrough[kind] + 1)
  }

  #current(kind: WindowKind, ms: number): number {
    return windowOf(kind, localDay(this.zone, ms))
  }

  /** Gives xp for what occurred then; answers the windows it counted for. */
  earn(userId: string, xp: number, occurredAt = this.now): Partial<Record<WindowKind, number>> {
    const user = this.#user(userId)
    const credit: Partial<Record<WindowKind, number>> = {}
    if (xp === 0) return credit
    this.#changes++
    user.all = { xp: user.all.xp + xp, reached: this.#changes }
    for (const kind of windowKinds) {
      if (this.#current(kind, Math.min(occurredAt, this.now)) !== this.#current(kind, this.now)) {
        continue
      }
      const index = Math.max(this.open(kind), user.latest[kind])
      credit[kind] = index
      this.#add(user, kind, index, xp)
    }
    return credit
  }

  /** Takes back what a call of `earn` gave. */
  undo(userId: string, xp: number, credit: Partial<Record<WindowKind, number>>): void {
    const user = this.#user(userId)
    if (xp === 0) return
    this.#changes++
    user.all = { xp: user.all.xp - xp, reached: this.#changes }
    for (const kind of windowKinds) {
      const index = credit[kind]
      if (index === undefined || index !== user.latest[kind]) continue
      if (index === Math.max(this.open(kind), user.latest[kind])) this.#add(user, kind, index, -xp)
    }
  }

  #add(user: ModelUser, kind: WindowKind, index: number, xp: number): void {
    const before = user.windows.get(`${kind} ${index}`)?.xp ?? 0
    user.windows.set(`${kind} ${index}`, { xp: before + xp, reached: this.#changes })
    if (index === user.latest[kind]) return
    user.latest[kind] = index
    // The xp of an earlier window is on a closed board or, for hidden users, forgotten.
    const names = [...user.windows.keys()].filter((name) => name.startsWith(kind))
    for (const name of names.slice(0, -2)) user.windows.delete(name)
  }

  hide(userId: string, hidden: boolean): void {
    this.#user(userId).hidden = hidden
    if (hidden) this.#leavePast(userId)
  }

  erase(userId: string): void {
    this.users.delete(userId)
    this.#leavePast(userId)
  }

  touch(userId: string): void {
    this.#user(userId)
  }

  /** The rows of a window, or of all time. */
  board(kind: "all_time" | WindowKind, index = 0): ReadonlyArray<ModelEntry> {
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
        return score === undefined || score.xp === 0 ? [] : [{ userId, ...score }]
      })
      .sort((one, other) => other.xp - one.xp || one.reached - other.reached)
      .map(({ userId, xp }) => ({ userId, xp }))
  }

  /** Closes what is over; at the end of a day, of the zone, and at a start. */
  close(): void {
    for (const kind of windowKinds) {
      const open = this.open(kind)
      const indexes = new Set<number>()
      for (const { hidden, windows } of this.users.values()) {
        for (const [name, { xp }] of windows) {
          const [of, index] = name.split(" ")
          if (of === kind && xp > 0 && !hidden) indexes.add(Number(index))
        }
      }
      for (const index of [...indexes].sort((one, other) => one - other)) {
        if (index <= this.#closedThrough[kind] || index >= open) continue
        this.#closed.set(
          `${kind} ${index}`,
          this.#sorted(({ windows }) => windows.get(`${kind} ${index}`)),
        )
        this.#closedThrough[kind] = index
      }
    }
  }

  #leavePast(userId: string): void {
    for (const [name, rows] of this.#closed) {
      this.#closed.set(
        name,
        rows.filter((row) => row.userId !== userId),
      )
    }
  }

  #user(userId: string): ModelUser {
    let user = this.users.get(userId)
    if (user === undefined) {
      const latest = { daily: -Infinity, weekly: -Infinity, monthly: -Infinity }
      user = { all: { xp: 0, reached: 0 }, hidden: false, windows: new Map(), latest }
      this.users.set(userId, user)
    }
    return user
  }
}
