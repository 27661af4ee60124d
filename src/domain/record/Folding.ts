/** A state while the facts of a record are applied to it, one by one. */
import type { UserState } from "../user/User.ts"

/** A state while a record is applied. */
export type Folding = { -readonly [Part in keyof UserState]: UserState[Part] }

type MapPart =
  | "balances"
  | "earnings"
  | "pending"
  | "expiring"
  | "badges"
  | "badgesPaid"
  | "levelsPaid"
  | "badgeCounts"
  | "badgeRecounts"
  | "quests"
  | "streaks"
  | "streakCounts"
  | "ruleUses"
  | "rulesReached"
  | "metrics"
  | "boards"
  | "experiments"
  | "teams"
  | "leagues"
  | "purchases"
  | "reminded"
  | "goals"

/**
 * Returns a part for changes. The first change copies it from `before`; a record may have thousands
 * of facts of one kind.
 */
export const own = <Part extends MapPart>(
  state: Folding,
  before: UserState,
  part: Part,
): UserState[Part] extends ReadonlyMap<string, infer A> ? Map<string, A> : never => {
  // biome-ignore lint/suspicious/noExplicitAny: the parts hold values of different types
  if (state[part] === before[part]) state[part] = new Map<string, any>(before[part]) as never
  return state[part] as never
}
