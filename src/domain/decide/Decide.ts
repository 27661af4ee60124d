/**
 * Decides a user's command: pure, synchronous, total; `now` is the time, `found` the record that a revocation names.
 * The actor answers duplicates from the first record before it calls this.
 *
 * Order of effects of an event: rules and quests in the order of their creation, streaks, badges (which see all that
 * was earned before), level.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import type { ProjectState } from "../project/Project.ts"
import type {
  Fact,
  GrantedReward,
  JournalRecord,
  TrackedEvent,
  UserCommand,
} from "../record/Record.ts"
import { isMidway } from "../user/QuestState.ts"
import { emptyProfile, type UserState } from "../user/User.ts"
import { invalidRequest, type LaurelError, laurelError, refuse } from "../values/Errors.ts"
import { questCompleteAction } from "../values/Ids.ts"
import { awardBadges, awardStreakBadges, countAction, decideBackfill } from "./Badges.ts"
import { type Decision, Draft } from "./Draft.ts"
import { completeByEvent, countSteps, expireQuests } from "./Quests.ts"
import { decideRevocation } from "./Revocation.ts"
import { applyRules } from "./Rules.ts"
import { breakStreaks, extendStreaks } from "./Streaks.ts"

/** Counts the work of decisions, refused ones included. */
export interface Meter {
  /** As `Matching.work`. */
  work: number
}

/** The facts of `command` for `user` (`undefined`: unknown) under the definitions of `project`, or its refusal. */
export const decideUser = (
  user: UserState | undefined,
  project: ProjectState,
  command: UserCommand,
  now: number,
  found?: JournalRecord,
  meter?: Meter,
): Result.Result<Decision, LaurelError> => {
  switch (command.kind) {
    case "event":
      return decideEvent(user, project, command, now, meter)
    case "reward":
      return decideReward(user, project, command, now)
    case "revocation":
      return decideRevocation(user, project, command, now, found)
    case "profile": {
      const draft = new Draft(user, project, now)
      // A streak that broke by today's date stays broken in a zone where it is still yesterday.
      if (command.change.timezone !== undefined) breakStreaks(draft)
      const profile = { ...(user?.profile ?? emptyProfile), ...command.change }
      draft.facts.push({ kind: "user.updated", profile })
      return Result.succeed({ cause: command, facts: draft.facts })
    }
    case "erasure": {
      if (user === undefined) return Result.fail(userNotFound)
      return Result.succeed({ cause: command, facts: [deletionOf(user)] })
    }
    case "backfill":
      return decideBackfill(user, project, command, now)
    case "tick": {
      if (user === undefined) return Result.fail(userNotFound)
      const draft = new Draft(user, project, now)
      breakStreaks(draft)
      expireQuests(draft)
      // No facts: no record is written.
      if (draft.facts.length === 0) return Result.fail(nothingDue)
      return Result.succeed({ cause: command, facts: draft.facts })
    }
  }
}

const decideEvent = (
  user: UserState | undefined,
  project: ProjectState,
  command: TrackedEvent,
  now: number,
  meter: Meter | undefined,
): Result.Result<Decision, LaurelError> => {
  const untimely = occurredAtFault(command, now)
  if (untimely !== undefined) return Result.fail(untimely)
  const draft = new Draft(user, project, now, command.occurredAt)
  const entry = draft.index.byAction.get(command.action) ?? draft.index.other
  if (command.action === questCompleteAction) {
    const refusal = completeByEvent(draft, command)
    if (refusal !== undefined) return Result.fail(refusal)
  } else {
    const { badges, rules, steps, work } = entry.matching(command.metadata)
    if (meter !== undefined) meter.work += work
    applyRules(draft, rules, command)
    countSteps(draft, steps)
    countAction(draft, badges)
  }
  extendStreaks(draft, entry, command, (key, before, after) =>
    awardStreakBadges(draft, key, before, after),
  )
  awardBadges(draft)
  return draft.finish(command, "event.tracked")
}

const occurredAtFault = (
  { imported, occurredAt }: TrackedEvent,
  now: number,
): LaurelError | undefined => {
  if (occurredAt === undefined) return undefined
  const detail =
    occurredAt > now + limits.occurredAtFutureMs
      ? "must be at most 5 minutes in the future"
      : imported !== true && occurredAt < now - limits.occurredAtPastMs
        ? "must be at most 30 days in the past"
        : undefined
  return detail === undefined
    ? undefined
    : invalidRequest([{ pointer: "/occurredAt", code: "out_of_range", detail }])
}

const decideReward = (
  user: UserState | undefined,
  project: ProjectState,
  command: GrantedReward,
  now: number,
): Result.Result<Decision, LaurelError> => {
  const draft = new Draft(user, project, now)
  switch (command.type) {
    case "xp":
      draft.earnXp(command.amount, "reward")
      break
    case "points":
      draft.earnPoints(command.amount, "reward")
      break
    case "badge": {
      const badge = project.badges.get(command.badgeId)
      if (badge === undefined || badge.archived) {
        return refuse("badge_not_found", "badgeId matches no badge of this project.")
      }
      draft.giveBadge(badge.id, "reward")
      break
    }
  }
  awardBadges(draft)
  return draft.finish(command, "reward.granted")
}

/** The fact of an erasure, for the counts of quests; it does not identify the user. */
const deletionOf = ({ quests }: UserState): Fact => {
  const inProgress: Array<string> = []
  const completed: Array<string> = []
  for (const [questId, state] of quests) {
    if (isMidway(state)) inProgress.push(questId)
    if (state.times > 0) completed.push(questId)
  }
  return { kind: "user.deleted", inProgress, completed }
}

const userNotFound = laurelError(
  "user_not_found",
  "No event or reward of this user was accepted yet.",
)

const nothingDue = laurelError("conflict", "Nothing is due for the user.")
