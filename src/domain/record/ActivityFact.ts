/** The fact of a change of a user's active days (`user/ActiveDays.ts`) that no event made. */
import type { ActiveDays } from "../user/ActiveDays.ts"

/** The only event of a day was undone. `activity`: the days that are left; null: none. */
export interface ActivityFact {
  readonly kind: "activity.reverted"
  readonly activity: ActiveDays | null
}
