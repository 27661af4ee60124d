/** Whom a rule reached: users with an event that it rewarded and that stands. */
import { type Log, standing } from "./log.ts"

/** By the id of each rule that reached the user: how many such events there are. */
export const reachedBy = (log: Log): ReadonlyMap<string, number> => {
  const uses = standing(log).flatMap(({ reaching }) => reaching)
  const times = new Map<string, number>()
  for (const ruleId of uses) times.set(ruleId, (times.get(ruleId) ?? 0) + 1)
  return times
}
