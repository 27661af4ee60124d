/** The progress of a user in quests, counted over the log. */

import type { Quest } from "../../../src/domain/project/Definition.ts"
import type { ErrorCode } from "../../../src/domain/values/Errors.ts"
import { amountFor, sumOf } from "./amounts.ts"
import { dateAt, nextWindow, startOf, windowOf } from "./calendar.ts"
import { satisfies } from "./conditions.ts"
import { type Definitions, statusOf } from "./Definitions.ts"
import { type Happened, type InPeriod, type Log, standing } from "./log.ts"
import { asksFor, measuredTowards } from "./metrics.ts"
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

/** When the quest was completed in a period. */
export const completedIn = (log: Log, questId: string, period: string): number | null => {
  const last = completionsOf(log, questId, period).at(-1)
  return last === undefined ? null : (last.gaveAt ?? last.at)
}

const isOf =
  (questId: string, period: string) =>
  (one: InPeriod): boolean =>
    one.questId === questId && one.period === period

/** Whether a claim has paid the quest in this period. */
const hasClaimed = (log: Log, questId: string, period: string): boolean =>
  standing(log).some(({ claims }) => claims.some(isOf(questId, period)))

/** The claim of a quest in a period: paid, open to be made, or none. */
export const claimOf = (log: Log, questId: string, period: string): "open" | "paid" | null => {
  if (hasClaimed(log, questId, period)) return "paid"
  const completion = completionsOf(log, questId, period)
    .at(-1)
    ?.completions.find(isOf(questId, period))
  return completion?.paid === false ? "open" : null
}

/**
 * When the user was in the quest in this period first, by request or by an event that counted;
 * `undefined`: never, or all of it was undone.
 */
export const begunAt = (log: Log, questId: string, period: string): number | undefined => {
  const here = isOf(questId, period)
  let begun: number | undefined
  for (const [place, entry] of log.entries()) {
    if (entry.kind === "began" && here(entry)) begun ??= entry.at
    if ((entry.kind === "event" || entry.kind === "reward") && touches(entry, here)) {
      begun ??= entry.at
    }
    if (entry.kind !== "undone" || begun === undefined) continue
    const then = log.slice(0, place + 1)
    if (!isBegun(then, questId, period)) begun = undefined
  }
  return begun
}

const touches = ({ completions, steps }: Happened, here: (one: InPeriod) => boolean): boolean =>
  completions.some(here) || steps.some(here)

/** Whether the user started the quest in this period, or something counts for it. */
const isBegun = (log: Log, questId: string, period: string): boolean => {
  const here = isOf(questId, period)
  return (
    log.some((entry) => entry.kind === "began" && here(entry)) ||
    standing(log).some((entry) => touches(entry, here))
  )
}

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
  if (quest.steps.some(({ metric, sumPath }) => (sumPath ?? metric) !== undefined)) {
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

/** Whether the quest must be started before, and was not when the event occurred. */
const isBeforeStart = (log: Log, quest: Quest, period: string, event: Happened): boolean => {
  if (!quest.optIn) return false
  const begun = begunAt(log, quest.id, period)
  return begun === undefined || begun > event.occurredAt
}

/** An event's effect on a quest that it touched. */
export interface Touched {
  readonly quest: Quest
  readonly period: string
  readonly completed: boolean
  readonly paid?: boolean
  readonly claimable?: true
}

/**
 * Counts an event for the steps that it satisfies, in all quests that are open to the user. `log`
 * already has the event.
 */
export const countForSteps = (
  log: Log,
  definitions: Pick<Definitions, "metrics" | "quests">,
  zone: string,
  event: Happened,
  date: string,
  now: number,
  isIn: Membership["isIn"],
): ReadonlyArray<Touched> => {
  const { quests } = definitions
  const before = log.filter((entry) => entry !== event)
  const amountOf = (step: Quest["steps"][number]): number =>
    step.metric === undefined
      ? amountFor(step.sumPath, event.metadata)
      : measuredTowards(before, step, definitions, event)
  return quests.flatMap((quest): ReadonlyArray<Touched> => {
    const period = periodOn(quest, date)
    if (statusOf(quest, now) !== "active" || period !== periodOf(quest, zone, now)) return []
    if (isTooEarly(quest, event) || isBeforeStart(log, quest, period, event)) return []
    if (locked(log, quests, quest) || completionsOf(log, quest.id, period).length > 0) return []
    const named = quest.steps.filter((step) =>
      step.metric === undefined
        ? step.action === event.action && satisfies(step.where, event.metadata)
        : asksFor(step, definitions, event),
    )
    if (named.length === 0 || !isIn(quest.segment)) return []
    const matching = named.filter(
      (step) => (step.since ?? -Infinity) <= event.occurredAt && amountOf(step) > 0,
    )
    const counting = matching.filter(
      ({ key, target }) => stepCount(log, quest.id, period, key) < target,
    )
    for (const step of counting) {
      const amount = amountOf(step)
      event.steps.push({ questId: quest.id, period, step: step.key, amount })
    }
    // An edit may also complete steps: then the next event that matches one of them completes the
    // quest.
    const completed = matching.length > 0 && !stepsOpen(log, quest, period)
    if (counting.length === 0 && !completed) return []
    if (!completed) return [{ quest, period, completed }]
    const hasPaid = hasClaimed(log, quest.id, period)
    const paid = quest.claim === "auto" && !hasPaid
    event.completions.push({ questId: quest.id, period, paid })
    const claimable = quest.claim === "manual" && !hasPaid
    return [{ quest, period, completed, paid, ...(claimable && { claimable: true }) }]
  })
}

/** A `QUEST_COMPLETE` event: a refusal, or the quest with whether it was completed before. */
export const completeByHand = (
  log: Log,
  quests: ReadonlyArray<Quest>,
  zone: string,
  event: Happened,
  date: string,
  now: number,
  isIn: Membership["isIn"],
): ErrorCode | { readonly quest: Quest; readonly repeated: boolean; readonly pays: boolean } => {
  const quest = quests.find(({ id }) => id === event.metadata?.questId)
  if (quest === undefined) return "quest_not_found"
  const period = periodOn(quest, date)
  if (period !== periodOf(quest, zone, now)) return "quest_not_active"
  if (completionsOf(log, quest.id, period).length > 0) {
    if (claimOf(log, quest.id, period) !== "open") return { quest, repeated: true, pays: false }
    if (!["active", "ended"].includes(statusOf(quest, now))) return "quest_not_active"
    event.claims.push({ questId: quest.id, period })
    return { quest, repeated: false, pays: true }
  }
  if (statusOf(quest, now) !== "active") return "quest_not_active"
  if (isTooEarly(quest, event)) return "quest_not_active"
  if (!isIn(quest.segment) || locked(log, quests, quest)) return "quest_locked"
  if (isBeforeStart(log, quest, period, event)) return "quest_locked"
  if (stepsOpen(log, quest, period)) return "quest_incomplete"
  const paid = !hasClaimed(log, quest.id, period)
  event.completions.push({ questId: quest.id, period, paid })
  return { quest, repeated: false, pays: paid }
}

/** A start by request: a refusal, the period that begins, or nothing if the user is in it. */
export const startByHand = (
  log: Log,
  quest: Quest | undefined,
  quests: ReadonlyArray<Quest>,
  zone: string,
  now: number,
  isIn: Membership["isIn"],
): { readonly refused: ErrorCode } | InPeriod | undefined => {
  if (quest === undefined) return { refused: "quest_not_found" }
  if (statusOf(quest, now) !== "active") return { refused: "quest_not_active" }
  if (!quest.optIn) return { refused: "conflict" }
  const period = periodOf(quest, zone, now)
  if (begunAt(log, quest.id, period) !== undefined) return undefined
  if (!isIn(quest.segment) || locked(log, quests, quest)) return { refused: "quest_locked" }
  return { questId: quest.id, period }
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
  if (!isBegun(log, quest.id, period)) return "not_started"
  const over = ["ended", "archived"].includes(statusOf(quest, now))
  return over || period !== periodOf(quest, zone, now) ? "expired" : "in_progress"
}

/** The last period in which the user did something in a quest, also if that was undone. */
export const latestPeriod = (log: Log, questId: string): string | undefined =>
  log
    .flatMap((entry): ReadonlyArray<InPeriod> => {
      if (entry.kind === "began") return [entry]
      return "completions" in entry ? [...entry.steps, ...entry.completions] : []
    })
    .findLast((one) => one.questId === questId)?.period

/** A quest that an undo changed, with the user's progress after it. */
export interface Reverted {
  readonly quest: Quest
  readonly standing: Standing
  readonly share: number
  readonly claimable?: true
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
  quests.flatMap((quest): ReadonlyArray<Reverted> => {
    const period = latestPeriod(before, quest.id)
    const completed = undone.completions.find(({ questId }) => questId === quest.id)
    // A completion in an earlier period is not reported.
    if (completed !== undefined && completed.period !== period)
      return [{ quest, standing: "not_started" as const, share: 0 }]
    const unclaimed = undone.claims.some((one) => one.questId === quest.id && one.period === period)
    if (period !== undefined && unclaimed) {
      const isOpen = claimOf(after, quest.id, period) === "open"
      return isOpen ? [{ quest, standing: "completed" as const, share: 1, claimable: true }] : []
    }
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
