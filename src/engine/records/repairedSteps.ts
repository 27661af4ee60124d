/**
 * Repairs what earlier versions wrote of a quest's step whose key is a name that every object inherits
 * (`constructor`, `__proto__`). Its count began with the text of the inherited member, and each event that counted
 * appended a 1: `"function Object() { [native code] }111"` stands for 3. The shares of such a quest became
 * null in the journal.
 */

import type { Fact, JournalRecord } from "../../domain/record/Record.ts"
import type { QuestState, StepCounts } from "../../domain/user/User.ts"

/** The number of events that counted: a number is as it was, a text stands for its trailing ones. */
const repairedCount = (count: unknown): number =>
  typeof count === "number" ? count : (/1*$/.exec(String(count))?.[0].length ?? 0)

const isRight = (steps: StepCounts): boolean => {
  for (const step in steps) if (typeof steps[step] !== "number") return false
  return true
}

/** The counts of a quest's steps as numbers; the same object where they are. */
const repairedSteps = (steps: StepCounts): StepCounts =>
  isRight(steps)
    ? steps
    : Object.fromEntries(Object.entries(steps).map(([step, count]) => [step, repairedCount(count)]))

/** A user's quests with all counts as numbers; the same map where they are. */
export const repairedQuests = (
  quests: ReadonlyMap<string, QuestState>,
): ReadonlyMap<string, QuestState> => {
  for (const { steps } of quests.values()) {
    if (isRight(steps)) continue
    return new Map(
      Array.from(quests, ([id, quest]) => [id, { ...quest, steps: repairedSteps(quest.steps) }]),
    )
  }
  return quests
}

/**
 * A record from the journal, its counts and shares as numbers; the same object where they are. A share that is
 * not known is that of the step alone, and of a quest whose steps were taken back, 0.
 */
export const repairedRecord = (record: JournalRecord): JournalRecord =>
  record.facts.some(isWrong) ? { ...record, facts: record.facts.map(repairedFact) } : record

const isWrong = (fact: Fact): boolean => {
  switch (fact.kind) {
    case "quest.progressed":
      return typeof fact.current !== "number" || fact.progress === null
    case "quest.reverted":
      return fact.progress === null || !isRight(fact.steps)
    default:
      return false
  }
}

const repairedFact = (fact: Fact): Fact => {
  if (fact.kind === "quest.progressed" && isWrong(fact)) {
    const { progress, target } = fact
    const current = repairedCount(fact.current)
    return { ...fact, current, progress: progress ?? Math.min(1, current / target) }
  }
  if (fact.kind === "quest.reverted" && isWrong(fact)) {
    return { ...fact, progress: fact.progress ?? 0, steps: repairedSteps(fact.steps) }
  }
  return fact
}
