/**
 * The ranks in closed windows of leagues that users had who are gone, by erasure or merge. While the
 * window is settled for others, their ranks do not move up (`boards/Cohorts.ts`). Kept for the latest
 * closed window of each league; beyond `leagueLostSeatsMax` the oldest are forgotten.
 */
import type { CohortRef } from "../../domain/decide/Leagues.ts"
import type { LeagueSeat } from "../../domain/record/LeagueFact.ts"
import { limits } from "../../Limits.ts"

export type StoredSeats = ReadonlyArray<LeagueSeat>

export class LostSeats {
  #seats: Array<LeagueSeat> = []

  add(seat: LeagueSeat): void {
    if (seat.rank === undefined) return
    const { leagueId, window } = seat
    this.#seats = this.#seats.filter(
      (other) => other.leagueId !== leagueId || other.window >= window,
    )
    this.#seats.push(seat)
    if (this.#seats.length > limits.leagueLostSeatsMax) this.#seats.shift()
  }

  ranksIn({ cohort, division, leagueId, window }: CohortRef): ReadonlyArray<number> {
    if (this.#seats.length === 0) return none
    return this.#seats.flatMap((seat) =>
      seat.leagueId === leagueId &&
      seat.window === window &&
      seat.division === division &&
      seat.cohort === cohort &&
      seat.rank !== undefined
        ? [seat.rank]
        : [],
    )
  }

  load(seats: StoredSeats): void {
    this.#seats = [...seats]
  }

  /** The member for the snapshot. */
  stored(): { readonly seats?: StoredSeats } {
    return this.#seats.length === 0 ? {} : { seats: this.#seats }
  }
}

const none: ReadonlyArray<number> = []
