/**
 * Repairs of streaks (`user/StreakRepair.ts`): a repair is a spend of its price, also if that is
 * nothing. So it has the id of a spend, repeats like one, and its refund undoes it.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { statusAt } from "../project/Definition.ts"
import { definitionOf, definitionWithKey } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import { isShown, type Streak } from "../project/StreakDefinition.ts"
import type { Fact, FactOf, JournalRecord, Repairing } from "../record/Record.ts"
import { noStreak, streakNow } from "../user/Streak.ts"
import { periodOfDay } from "../user/StreakPeriods.ts"
import { lastBreak, type StreakBreak, withoutRepair, withRepair } from "../user/StreakRepair.ts"
import { type UserState, userZones } from "../user/User.ts"
import { dateOf } from "../values/Calendar.ts"
import { type LaurelError, laurelError, refuse } from "../values/Errors.ts"
import { behind, type Decision } from "./Draft.ts"
import { type AmountRefusal, settled, spentFacts } from "./Spending.ts"

export type RepairRefusal =
  | "user_not_found"
  | "streak_not_found"
  | "streak_not_active"
  | "streak_not_repairable"
  | "streak_not_broken"
  | "repair_too_late"
  | "quota_exceeded"

/** Decides a spend that repairs a streak. */
export const decideRepair = (
  user: UserState | undefined,
  project: ProjectState,
  command: Repairing,
  now: number,
): Result.Result<Decision, LaurelError<RepairRefusal | AmountRefusal>> => {
  if (user === undefined) {
    return refuse("user_not_found", "No event or reward of this user was accepted yet.")
  }
  const definition = definitionOf(project.streaks, command.repair)
  if (definition === undefined || !isShown(definition)) {
    return refuse("streak_not_found", "No streak of this project has this id or key.")
  }
  const zones = userZones(user, project)
  const { key } = definition
  const streak = user.streaks.get(key) ?? noStreak
  const broken = lastBreak(streak, definition, zones, now)
  const refusal = repairRefusal(definition, broken, now)
  if (refusal !== undefined) return Result.fail(refusal)
  const { days, periods } = broken!
  const next = withRepair(streak, definition, zones, periods)
  if ((next.repairs?.length ?? 0) > limits.streakRepairsMax) {
    const detail = `A streak can be repaired at most ${limits.streakRepairsMax} times before it is kept again.`
    return refuse("quota_exceeded", detail)
  }
  const { id, reason } = command
  const price = definition.repair?.price ?? {}
  const cause: Repairing = {
    kind: "spend",
    ...(id !== undefined && { id }),
    ...(reason !== undefined && { reason }),
    currencies: price,
    repair: key,
  }
  // The first fact names the spend before this one.
  const first = behind(user.lastSpend)
  return Result.map(spentFacts(user, project, price, now, first), (spent) => {
    const { current } = streakNow(next, definition, zones, now)
    const [from, to] = days
    const last = spent.length === 0 ? first : undefined
    const repaired = { kind: "streak.repaired", key, from, to, current, streak: next } as const
    const facts = [...spent, { ...repaired, ...last }]
    return { cause, facts: settled(user, project, now, facts) }
  })
}

/** Why a streak cannot be repaired now, whatever the price; `undefined`: it can. */
export const repairRefusal = (
  definition: Streak,
  broken: StreakBreak | undefined,
  now: number,
): LaurelError<RepairRefusal> | undefined => {
  const status = statusAt(definition, now)
  if (status !== "active") {
    return laurelError("streak_not_active", `The streak's status is ${status}.`)
  }
  if (definition.repair === null) {
    return laurelError("streak_not_repairable", "The streak has no repair.")
  }
  if (broken === undefined) {
    return laurelError("streak_not_broken", "No break of the streak is left to repair.")
  }
  const { withinDays } = definition.repair
  if (broken.daysAgo <= withinDays) return undefined
  const [from] = broken.days
  const detail = `The streak broke in the ${definition.every} of ${dateOf(from)}, and can be repaired for ${withinDays} days.`
  return laurelError("repair_too_late", detail)
}

/** The facts by which a revoked spend takes its repair back, if the user still has it. */
export const undoneRepair = (
  user: UserState,
  project: ProjectState,
  now: number,
  { facts }: JournalRecord,
): ReadonlyArray<Fact> => {
  const fact = facts.find((one): one is FactOf<"streak.repaired"> => one.kind === "streak.repaired")
  if (fact === undefined) return []
  const { from, key, to } = fact
  const definition = definitionWithKey(project.streaks, key)
  const streak = user.streaks.get(key)
  if (definition === undefined || streak === undefined) return []
  const zones = userZones(user, project)
  const periods = [periodOfDay(definition, from), periodOfDay(definition, to)] as const
  const next = withoutRepair(streak, definition, zones, periods)
  if (next === undefined) return []
  const { current } = streakNow({ ...next, broken: false }, definition, zones, now)
  const after = { ...next, broken: streak.broken && current === 0 }
  const undone = { kind: "streak.repair_undone", key, from, to, current, streak: after } as const
  return current > 0 || streak.broken
    ? [undone]
    : [
        undone,
        { kind: "streak.broken", key, length: next.length, streak: { ...after, broken: true } },
      ]
}
