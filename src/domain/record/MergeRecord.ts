/** The commands and facts of a merge of two users. `decide/Merge.ts` has the design. */
import type { OwnBoost } from "../project/Boost.ts"
import type { Amounts } from "../project/Currency.ts"
import type { ActiveDays } from "../user/ActiveDays.ts"
import type { Unanswered } from "../user/Comeback.ts"
import type { AbsorbedUser, KeptShare, UserState } from "../user/User.ts"
import type { WindowKind } from "../values/Calendar.ts"
import type { LeagueSeat } from "./LeagueFact.ts"

/** Asks that the user be merged into the user `into`. Its record freezes the user. */
export interface Merge {
  readonly kind: "merge"
  readonly into: string
}

/** Takes in a frozen user: the part of a merge of the user who stays. */
export interface Absorb {
  readonly kind: "absorb"
  readonly from: string
  /** The record that froze the user `from`. */
  readonly frozen: number
  /** The frozen state. The cause of a record does not have it. */
  readonly state?: UserState | undefined
}

/** Ends a merge at the frozen user. `done`: the user `into` has taken it in, or could not. */
export interface MergeEnd {
  readonly kind: "mergeEnd"
  readonly into: string
  readonly done: boolean
}

/** Begins the erasure of a user into whom others were merged. */
export interface Erasing {
  readonly kind: "erasing"
}

/** The members of a user's state that are maps and that a merge unites by key. */
export type UnitedPart = Exclude<MapPart, "badgeRecounts" | "boards" | "leagues">

type MapPart = {
  [Part in keyof UserState]: UserState[Part] extends ReadonlyMap<string, unknown> ? Part : never
}[keyof UserState]

export type ValueOf<Part extends UnitedPart> =
  UserState[Part] extends ReadonlyMap<string, infer Value> ? Value : never

/** The parts that a merge may empty: an amount that is no longer pending moves to the balance. */
type Emptied = "pending" | "expiring" | "streakCounts"

/** For each map, the new values of the keys that the frozen user had. Null: none is left. */
export type UnitedParts = {
  readonly [Part in UnitedPart]?: ReadonlyArray<
    readonly [key: string, value: ValueOf<Part> | (Part extends Emptied ? null : never)]
  >
}

/** The score of a window after a merge. `sequence` 0: the record of the merge set it. */
export interface UnitedScore {
  readonly index: number
  readonly xp: number
  readonly sequence: number
}

/** The latest window of a kind and the one before, as far as there are any; latest first. */
export type UnitedWindows = { readonly [Kind in WindowKind]: ReadonlyArray<UnitedScore> } & {
  /** Absent: none. */
  readonly days?: ReadonlyArray<UnitedScore>
}

/** The scores on a leaderboard after a merge, which set the score of all time. */
export interface UnitedBoard {
  readonly counted: number
  readonly missed: number
  readonly windows: UnitedWindows
  readonly share?: {
    readonly team: number
    readonly total: number
    readonly windows: UnitedWindows
  }
  readonly kept?: ReadonlyArray<KeptShare>
  readonly disqualified?: true
}

export type MergeFact =
  /** The user is frozen until the merge ends. */
  | { readonly kind: "user.merging"; readonly into: string }
  /**
   * The user `from` was taken in. `gained`: what its balances added, by currency; `totals`: the
   * balances afterwards. All further members are values of the state afterwards, except for
   * `absorbed`, which is added, and what the counts of the environment need: the ids of the quests
   * that the user entered, left and completed for the first time, and the names of the badges and
   * tiers that are new to the user (`heldNames`).
   */
  | {
      readonly kind: "user.merged"
      readonly from: string
      readonly gained: Amounts
      readonly totals: Amounts
      readonly pointsSpent: number
      readonly questsCompleted: number
      readonly lastEventAt: number
      readonly windows: UnitedWindows
      /** By the id of the leaderboard; absent: the user `from` has none. */
      readonly boards?: ReadonlyArray<readonly [boardId: string, UnitedBoard]>
      readonly parts: UnitedParts
      /** The personal boosts of both; absent: the user `from` had none. */
      readonly ownBoosts?: ReadonlyArray<OwnBoost>
      readonly absorbed: ReadonlyArray<AbsorbedUser>
      /** The active days of both; absent: the user `from` had none. */
      readonly activity?: ActiveDays
      /** The day of the latest reminder of both; absent: the user `from` had none. */
      readonly remindedOn?: number
      /** The reminders of both that no event has followed; absent: the user `from` had none. */
      readonly unanswered?: ReadonlyArray<Unanswered>
      readonly entered: ReadonlyArray<string>
      readonly left: ReadonlyArray<string>
      readonly completed: ReadonlyArray<string>
      readonly badges: ReadonlyArray<string>
      /** The numbers of deleted teams that the user who stays is no longer in; absent: none. */
      readonly teamsLeft?: ReadonlyArray<number>
    }
  /** The id leads to `into` from now on. Quests, badges and seats are those of `user.deleted`. */
  | {
      readonly kind: "user.aliased"
      readonly into: string
      readonly inProgress: ReadonlyArray<string>
      readonly completed: ReadonlyArray<string>
      readonly badges: ReadonlyArray<string>
      readonly teams?: ReadonlyArray<number>
      readonly seats?: ReadonlyArray<LeagueSeat>
    }
  /** The user will be erased as soon as all who were merged into it are. */
  | { readonly kind: "user.erasing" }
  /** The merge could not end: the user is no longer frozen. */
  | { readonly kind: "user.unmerged" }
