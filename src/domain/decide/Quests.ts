/**
 * Starts quests by request, advances and claims them by events, and expires them by the clock.
 *
 * A quest pays a user once in each of its periods. With `claim: manual` it pays by a `QUEST_COMPLETE`
 * event of its own, in the period in which it was completed, also if the quest ends meanwhile. A
 * claim does not ask for segment and prerequisites again, and has the boosts of its own time. What is
 * not claimed in its period is lost. The undo of the claim takes the payment back, and the quest can
 * be claimed again. The undo of the completing event keeps what a claim paid; the quest does not pay
 * again in this period. A start gives nothing, and cannot be undone.
 */
import { Result } from "effect"
import type { StepsOfQuest } from "../project/ActionIndex.ts"
import {
  amountOf,
  countsFrom,
  isSum,
  plusAmount,
  type Quest,
  questPeriodOf,
  statusAt,
} from "../project/Definition.ts"
import { definitionOf, idsByKey } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import type { QuestStart, TrackedEvent } from "../record/Record.ts"
import {
  hasExpired,
  hasLapsed,
  isMidway,
  type QuestState,
  type StepCounts,
  stepCountOf,
  type UserState,
} from "../user/User.ts"
import { invalidRequest, type LaurelError, laurelError, refuse } from "../values/Errors.ts"
import type { Metadata } from "../values/Metadata.ts"
import { boosted } from "./Boosts.ts"
import { type Decision, Draft } from "./Draft.ts"

/** The period of the event; `undefined` if the period is over. */
const openPeriod = (draft: Draft, quest: Quest): number | undefined => {
  const current = questPeriodOf(quest, draft.zone.dayAt(draft.now))
  return questPeriodOf(quest, draft.day) === current ? current : undefined
}

/**
 * The completed share of the quest, 0 to 1: of all events to count, or, if a step sums a number or
 * is by a metric, the mean over the steps.
 */
export const questProgress = ({ steps }: Quest, counts: StepCounts): number => {
  const sums = steps.some(isSum)
  let done = 0
  let asked = 0
  for (const { key, target } of steps) {
    const part = Math.min(stepCountOf(counts, key), target)
    done += sums ? part / target : part
    asked += sums ? 1 : target
  }
  return asked === 0 ? 0 : done / asked
}

const isLocked = (draft: Draft, { prerequisites }: Quest): boolean =>
  prerequisites.some((key) => {
    const id = idsByKey(draft.project.quests).get(key) ?? ""
    return (draft.user?.quests.get(id)?.times ?? 0) === 0 && draft.completed?.has(id) !== true
  })

/**
 * The user's state in the present period of the quest; `undefined` if the user has not started it.
 */
const standing = (state: QuestState | undefined, period: number): QuestState | undefined =>
  state === undefined || state.period !== period || state.expired || state.startedAt === null
    ? undefined
    : state

/** Counts the event for the matching steps of the quests that are open to the user. */
export const countSteps = (
  draft: Draft,
  satisfied: ReadonlyArray<StepsOfQuest>,
  metadata: Metadata | undefined,
): void => {
  for (const { quest, steps } of satisfied) {
    if (statusAt(quest, draft.now) !== "active") continue
    if (draft.occurredAt < countsFrom(quest)) continue
    const period = openPeriod(draft, quest)
    if (period === undefined) continue
    const stateBefore = draft.user?.quests.get(quest.id)
    const state = standing(stateBefore, period)
    if (state !== undefined && state.completedAt !== null) continue
    if (quest.optIn && (state?.startedAt ?? Number.POSITIVE_INFINITY) > draft.occurredAt) continue
    if (quest.prerequisites.length > 0 && isLocked(draft, quest)) continue
    if (!draft.membership.has(quest.segment)) continue
    let counts = state?.steps
    let started = state !== undefined
    let matched = false
    for (const step of steps) {
      const { key, since, target } = step
      if (since !== undefined && draft.occurredAt < since) continue
      const by =
        step.metric === undefined ? amountOf(step, metadata) : draft.towards(step.metric, target)
      const before = stepCountOf(counts, key)
      const isFull = before >= target
      if (by === 0 || (isFull && !isDone(quest, state?.steps))) continue
      matched = true
      if (isFull) continue
      if (!started) start(draft, quest, period, stateBefore)
      started = true
      const current = plusAmount(step, before, by)
      counts = { ...counts, [key]: current }
      draft.facts.push({
        kind: "quest.progressed",
        ...refer(quest, period),
        step: key,
        current,
        target,
        ...(by !== 1 && { by }),
        progress: questProgress(quest, counts),
      })
    }
    // An edit may have lowered the targets to the present counts. Then any matching event completes
    // the quest.
    if (matched && isDone(quest, counts)) complete(draft, quest, period, stateBefore)
  }
}

/** Completes those of the quests whose steps two users have completed together, after a merge. */
export const completeUnited = (draft: Draft, questIds: Iterable<string>): void => {
  for (const questId of questIds) {
    const quest = draft.project.quests.get(questId)
    if (quest === undefined || statusAt(quest, draft.now) !== "active") continue
    const period = questPeriodOf(quest, draft.zone.dayAt(draft.now))
    const before = draft.user?.quests.get(questId)
    const state = standing(before, period)
    if (state === undefined || state.completedAt !== null || quest.steps.length === 0) continue
    if (!isDone(quest, state.steps) || !draft.membership.has(quest.segment)) continue
    complete(draft, quest, period, before)
  }
}

/** Whether every step has reached its target. */
const isDone = ({ steps }: Quest, counts: StepCounts = noSteps): boolean =>
  steps.every(({ key, target }) => stepCountOf(counts, key) >= target)

const noSteps: StepCounts = {}

const refer = ({ id, key, title }: Quest, period: number) => ({ questId: id, key, title, period })

const start = (
  draft: Draft,
  quest: Quest,
  period: number,
  before: QuestState | undefined,
  joined?: { readonly joined: true },
): void => {
  if (before !== undefined && isMidway(before)) {
    draft.facts.push({ kind: "quest.expired", ...refer(quest, before.period) })
  }
  if (before?.claim === "open" && before.period !== period) {
    draft.facts.push({ kind: "quest.claim_lapsed", ...refer(quest, before.period) })
  }
  draft.facts.push({ kind: "quest.started", ...refer(quest, period), ...joined })
}

const complete = (
  draft: Draft,
  quest: Quest,
  period: number,
  before: QuestState | undefined,
  claimed = quest.claim === "auto",
): void => {
  const times = (before?.times ?? 0) + 1
  const hasPaid = before?.period === period && before.claim === "paid"
  const claimable = !claimed && !hasPaid && ({ claimable: true } as const)
  draft.facts.push({ kind: "quest.completed", ...refer(quest, period), times, ...claimable })
  draft.questsCompleted++
  draft.completed ??= new Set()
  draft.completed.add(quest.id)
  if (claimed && !hasPaid) draft.owe(boosted(draft, quest.reward), { questId: quest.id })
}

/** Pays a completed quest. */
const claim = (draft: Draft, quest: Quest, period: number): void => {
  draft.facts.push({ kind: "quest.claimed", ...refer(quest, period) })
  draft.owe(boosted(draft, quest.reward), { questId: quest.id })
}

/**
 * Handles a `QUEST_COMPLETE` event: completes or claims the quest that it names, or returns the
 * refusal.
 */
export const completeByEvent = (
  draft: Draft,
  event: TrackedEvent,
):
  | LaurelError<
      | "invalid_request"
      | "quest_not_found"
      | "quest_not_active"
      | "quest_locked"
      | "quest_incomplete"
    >
  | undefined => {
  const questId = event.metadata?.questId
  if (typeof questId !== "string") {
    const detail = "must be a string, the id of the quest"
    return invalidRequest([{ pointer: "/metadata/questId", code: "invalid_type", detail }])
  }
  const quest = draft.project.quests.get(questId)
  if (quest === undefined) {
    return laurelError("quest_not_found", "metadata.questId matches no quest of this project.")
  }
  const before = draft.user?.quests.get(questId)
  const period = openPeriod(draft, quest)
  const state = period === undefined ? undefined : standing(before, period)
  const status = statusAt(quest, draft.now)
  const isCompleted = period !== undefined && state !== undefined && state.completedAt !== null
  if (isCompleted && state.claim === "open" && (status === "active" || status === "ended")) {
    claim(draft, quest, period)
    return undefined
  }
  if (isCompleted && state.claim !== "open") {
    draft.facts.push({ kind: "quest.repeated", ...refer(quest, period) })
    return undefined
  }
  if (status !== "active") {
    return laurelError("quest_not_active", `The quest's status is ${status}.`)
  }
  if (period === undefined) {
    return laurelError("quest_not_active", "The quest's period of this event is over.")
  }
  if (draft.occurredAt < countsFrom(quest)) {
    return laurelError("quest_not_active", "The event occurred before the quest started.")
  }
  if (quest.optIn && (state?.startedAt ?? Number.POSITIVE_INFINITY) > draft.occurredAt) {
    return laurelError("quest_locked", "The user had not started the quest.")
  }
  const locked = lockOf(draft, quest)
  if (locked !== undefined) return locked
  if (!isDone(quest, state?.steps)) {
    return laurelError("quest_incomplete", "Not all steps of the quest are complete.")
  }
  if (state === undefined) start(draft, quest, period, before)
  complete(draft, quest, period, before, true)
  return undefined
}

/** Why the quest is not open to the user. */
const lockOf = (draft: Draft, quest: Quest): LaurelError<"quest_locked"> | undefined => {
  if (!draft.membership.has(quest.segment)) {
    return laurelError("quest_locked", "The user is not in the segment of the quest.")
  }
  return isLocked(draft, quest)
    ? laurelError("quest_locked", "The user has not completed the prerequisite quests.")
    : undefined
}

/** Starts a quest by request. No facts if the user is in it already, or has completed it. */
export const decideStart = (
  userId: string,
  user: UserState | undefined,
  project: ProjectState,
  command: QuestStart,
  now: number,
): Result.Result<
  Decision,
  LaurelError<"quest_not_found" | "quest_not_active" | "quest_locked" | "conflict">
> => {
  const quest = definitionOf(project.quests, command.questId)
  if (quest === undefined) {
    return refuse("quest_not_found", "No quest of this project has this id or key.")
  }
  const status = statusAt(quest, now)
  if (status !== "active") return refuse("quest_not_active", `The quest's status is ${status}.`)
  if (!quest.optIn) {
    return refuse("conflict", "The quest has no optIn: the first event that counts starts it.")
  }
  const draft = new Draft(userId, user, project, now)
  draft.enterExperiments()
  const period = questPeriodOf(quest, draft.zone.dayAt(now))
  const before = user?.quests.get(quest.id)
  const cause: QuestStart = { kind: "start", questId: quest.id }
  if (standing(before, period) !== undefined) return Result.succeed({ cause, facts: [] })
  const locked = lockOf(draft, quest)
  if (locked !== undefined) return Result.fail(locked)
  start(draft, quest, period, before, { joined: true })
  return Result.succeed({ cause, facts: draft.facts })
}

/** Expires the quests that ended by `draft.now`. */
export const expireQuests = (draft: Draft): void => {
  if (draft.user === undefined) return
  for (const [questId, state] of draft.user.quests) {
    const quest = draft.project.quests.get(questId)
    const isOver = hasExpired(quest, state, draft.zone, draft.now)
    if (!isOver && !hasLapsed(quest, state, draft.zone, draft.now)) continue
    const { key, title } = quest ?? { key: questId, title: questId }
    const kind = isOver ? "quest.expired" : "quest.claim_lapsed"
    draft.facts.push({ kind, questId, key, title, period: state.period })
  }
}
