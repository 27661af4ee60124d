/** The progress of a user in quests, counted over the log. */

import type { Quest } from "../../../src/domain/project/Definition.ts"
import type { ErrorCode } from "../../../src/domain/values/Errors.ts"
import { amountFor, sumOf } from "./amounts.ts"
import { dateAt, nextWindow, startOf, windowOf } from "./calendar.ts"
import { satisfies } from "./conditions.ts"
import { statusOf } from "./Definitions.ts"
import { type Happened, happened, type Log, standing } from "./log.ts"
import type { Membership } from "./segments.ts"

/** The period of a quest at a moment; always the same if the quest does not recur. */
export const periodOf = (quest: Quest, zone: string, ms: number): string =>
  periodOn(quest, dateAt(zone, ms))

const periodOn = ({ recurrence }: Quest, date: string): string =>
  recurrence === "none" ? "once" : `${recurrence} ${windowOf(recurrence, date)}`

/** When the present period of a quest ends, epoch milliseconds: by its recurrence or by its end. */
export const periodEndsAt = (quest: Quest, zone: string, now: number): number | null => {
  const { endsAt, recurrence } = quest
  if (recurrence === "none") return endsAt
  const next = startOf(zone, nextWindow(recurrence, windowOf(recurrence, dateAt(zone, now))))
  return endsAt === null ? next : Math.min(next, endsAt)
}

/** The records that completed a quest, at all or in one period. */
export const completionsOf = (
  log: Log,
  questId: string,
  period?: string,
): ReadonlyArray<Happened> =>
  standing(log).filter(({ completions }) =>
    completions.some(
      (one) => one.questId === questId && (period === undefined || one.period === period),
    ),
  )

/** How often the user has completed any quest. */
export const questCount = (log: Log): number =>
  standing(log).reduce((sum, { completions }) => sum + completions.length, 0)

/** How much the events of a period count for a step. */
export const stepCount = (log: Log, questId: string, period: string, step: string): number =>
  sumOf(
    standing(log)
      .flatMap(({ steps }) => steps)
      .filter((one) => one.questId === questId && one.period === period && one.step === step)
      .map(({ amount }) => amount),
  )

/**
 * The done share of a quest: of the targets of all steps together, or the mean of the steps if some
 * are sums.
 */
export const shareDone = (log: Log, quest: Quest, period: string): number => {
  if (completionsOf(log, quest.id, period).length > 0) return 1
  if (quest.steps.some(({ sumPath }) => sumPath !== undefined)) {
    const shares = quest.steps.map(
      ({ key, target }) => Math.min(stepCount(log, quest.id, period, key), target) / target,
    )
    return shares.reduce((sum, share) => sum + share, 0) / shares.length
  }
  let done = 0
  let asked = 0
  for (const { key, target } of quest.steps) {
    done += Math.min(stepCount(log, quest.id, period, key), target)
    asked += target
  }
  return asked === 0 ? 0 : done / asked
}

const stepsOpen = (log: Log, quest: Quest, period: string): boolean =>
  quest.steps.some(({ key, target }) => stepCount(log, quest.id, period, key) < target)

const locked = (log: Log, quests: ReadonlyArray<Quest>, quest: Quest): boolean =>
  quest.prerequisites.some((wanted) => {
    const first = quests.find(({ key }) => key === wanted)
    return first === undefined || completionsOf(log, first.id).length === 0
  })

/** Whether the event occurred before the quest's start or, without one, before its publication. */
const isTooEarly = (quest: Quest, { occurredAt }: Happened): boolean =>
  occurredAt < (quest.startsAt ?? quest.publishedAt ?? quest.createdAt)

/** An event's effect on a quest that it touched. */
export interface Touched {
  readonly quest: Quest
  readonly period: string
  readonly completed: boolean
}

/**
 * Counts an event for the steps that it satisfies, in all quests that are open to the user. `log`
 * already has the event.
 */
export const countForSteps = (
  log: Log,
  quests: ReadonlyArray<Quest>,
  zone: string,
  event: Happened,
  date: string,
  now: number,
  isIn: Membership["isIn"],
): ReadonlyArray<Touched> =>
  quests.flatMap((quest) => {
    const period = periodOn(quest, date)
    if (statusOf(quest, now) !== "active" || period !== periodOf(quest, zone, now)) return []
    if (isTooEarly(quest, event)) return []
    if (locked(log, quests, quest) || completionsOf(log, quest.id, period).length > 0) return []
    const named = quest.steps.filter(
      ({ action, where }) => action === event.action && satisfies(where, event.metadata),
    )
    if (named.length === 0 || !isIn(quest.segment)) return []
    const matching = named.filter(
      ({ since, sumPath }) =>
        (since === undefined || since <= event.occurredAt) &&
        amountFor(sumPath, event.metadata) > 0,
    )
    const counting = matching.filter(
      ({ key, target }) => stepCount(log, quest.id, period, key) < target,
    )
    for (const { key, sumPath } of counting) {
      const amount = amountFor(sumPath, event.metadata)
      event.steps.push({ questId: quest.id, period, step: key, amount })
    }
    // An edit may also complete steps: then the next event that matches one of them completes the
    // quest.
    const completed = matching.length > 0 && !stepsOpen(log, quest, period)
    if (counting.length === 0 && !completed) return []
    if (completed) event.completions.push({ questId: quest.id, period })
    return [{ quest, period, completed }]
  })

/** A `QUEST_COMPLETE` event: a refusal, or the quest with whether it was completed before. */
export const completeByHand = (
  log: Log,
  quests: ReadonlyArray<Quest>,
  zone: string,
  event: Happened,
  date: string,
  now: number,
  isIn: Membership["isIn"],
): ErrorCode | { readonly quest: Quest; readonly repeated: boolean } => {
  const quest = quests.find(({ id }) => id === event.metadata?.questId)
  if (quest === undefined) return "quest_not_found"
  const period = periodOn(quest, date)
  if (period !== periodOf(quest, zone, now)) return "quest_not_active"
  if (completionsOf(log, quest.id, period).length > 0) return { quest, repeated: true }
  if (statusOf(quest, now) !== "active") return "quest_not_active"
  if (isTooEarly(quest, event)) return "quest_not_active"
  if (!isIn(quest.segment) || locked(log, quests, quest)) return "quest_locked"
  if (stepsOpen(log, quest, period)) return "quest_incomplete"
  event.completions.push({ questId: quest.id, period })
  return { quest, repeated: false }
}

export type Standing = "not_started" | "in_progress" | "completed" | "expired"

/** The user's progress in one period of a quest. */
export const standingIn = (
  log: Log,
  quest: Quest,
  period: string,
  zone: string,
  now: number,
): Standing => {
  if (completionsOf(log, quest.id, period).length > 0) return "completed"
  const started = standing(log).some(({ steps }) =>
    steps.some((one) => one.questId === quest.id && one.period === period),
  )
  if (!started) return "not_started"
  const over = ["ended", "archived"].includes(statusOf(quest, now))
  return over || period !== periodOf(quest, zone, now) ? "expired" : "in_progress"
}

/** The last period in which the user did something in a quest, also if that was undone. */
export const latestPeriod = (log: Log, questId: string): string | undefined =>
  happened(log)
    .flatMap(({ completions, steps }) => [...steps, ...completions])
    .findLast((one) => one.questId === questId)?.period

/** A quest that an undo changed, with the user's progress after it. */
export interface Reverted {
  readonly quest: Quest
  readonly standing: Standing
  readonly share: number
}

/** The changes in quests by the undo of `undone`: `after` is `before` with the undo. */
export const revertedBy = (
  before: Log,
  after: Log,
  undone: Happened,
  quests: ReadonlyArray<Quest>,
  zone: string,
  now: number,
): ReadonlyArray<Reverted> =>
  quests.flatMap((quest) => {
    const period = latestPeriod(before, quest.id)
    const completed = undone.completions.find(({ questId }) => questId === quest.id)
    // A completion in an earlier period is not reported.
    if (completed !== undefined && completed.period !== period)
      return [{ quest, standing: "not_started" as const, share: 0 }]
    const touched = [...undone.completions, ...undone.steps].some(
      (one) => one.questId === quest.id && one.period === period,
    )
    if (period === undefined || !touched) return []
    const was = standingIn(before, quest, period, zone, now)
    const is = standingIn(after, quest, period, zone, now)
    // Another event completed the quest.
    if (is === "completed") return []
    const share = shareDone(after, quest, period)
    // If a quest that is open again has ended meanwhile, a tick records that later.
    const reopened = was === "completed" && is === "expired"
    return [{ quest, standing: reopened ? ("in_progress" as const) : is, share }]
  })
