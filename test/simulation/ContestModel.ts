/**
 * A leaderboard of teams as naively as it can be written: a sum for each window and team, to which an
 * event adds for the team that its user is in. The zone never changes, so a window is over when its last
 * day is.
 */
import {
  type WindowKind,
  windowKinds,
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
  readonly windows: ReadonlyArray<readonly [WindowKind, number]>
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
  #changes = 0

  constructor(timezone: string) {
    this.#zone = zoneOf(timezone)
  }

  current(kind: WindowKind, now: number): number {
    return this.#zone.windowAt(kind, now)
  }

  /** `undefined`: the user is in no team. */
  earn(userId: string, amount: number, now: number, occurredAt = now): Contribution | undefined {
    const team = this.members.get(userId)
    if (team === undefined) return undefined
    const windows = windowKinds.flatMap((kind) => {
      const index = this.current(kind, occurredAt)
      return index === this.current(kind, now) ? [[kind, index] as const] : []
    })
    const contribution = { team, amount, windows }
    this.#add(contribution, windows, amount)
    return contribution
  }

  /** A window that is over keeps the amount. */
  undo(contribution: Contribution, now: number): void {
    const open = contribution.windows.filter(([kind, index]) => index === this.current(kind, now))
    this.#add(contribution, open, -contribution.amount)
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

  /** A deleted team leaves every window. Its name must not be used again. */
  delete(team: string): void {
    this.teams.delete(team)
    for (const scores of this.#scores.values()) scores.delete(team)
    for (const [userId, own] of this.members) if (own === team) this.members.delete(userId)
  }

  board(kind: "all_time" | WindowKind, index: number): ReadonlyArray<ContestRow> {
    const window = kind === "all_time" ? kind : `${kind} ${index}`
    const rows = [...(this.#scores.get(window) ?? [])].sort(
      ([, one], [, other]) => other.amount - one.amount || one.since - other.since,
    )
    return rows.map(([team, { amount }]) => ({
      rank: 1 + rows.filter(([, other]) => other.amount > amount).length,
      team,
      score: amount,
    }))
  }
}
