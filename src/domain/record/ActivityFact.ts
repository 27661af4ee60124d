/** The facts about a user's active days (`user/ActiveDays.ts`) that no event made. */
import type { ActiveDays } from "../user/ActiveDays.ts"

export type ActivityFact =
  /** The only event of a day was undone. `activity`: the days that are left; null: none. */
  | { readonly kind: "activity.reverted"; readonly activity: ActiveDays | null }
  /** The user stays away since `lastDay`, for so many days; `day` is that of the reminder. */
  | {
      readonly kind: "user.inactive"
      readonly days: number
      readonly lastDay: number
      readonly day: number
    }
