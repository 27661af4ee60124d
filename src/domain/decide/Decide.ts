/**
 * What a user's command decides: pure, synchronous and total; time comes in as `now`, and the record
 * that a revocation names as `found`. Duplicates are not its business: the actor answers those from the
 * first record.
 *
 * The order in which an event takes effect: rules, in the order of their creation; then quests, in theirs;
 * then streaks; then badges, which see all that was earned before; at last the level.
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
import { invalidRequest, type LaurelError, laurelError } from "../values/Errors.ts"
import { questCompleteAction } from "../values/Ids.ts"
import { awardBadges, awardStreakBadges, countAction, decideBackfill } from "./Badges.ts"
import { refuse } from "./Decided.ts"
import { type Decision, Draft } from "./Draft.ts"
import { completeByEvent, countSteps, expireQuests } from "./Quests.ts"
import { decideRevocation } from "./Revocation.ts"
import { applyRules } from "./Rules.ts"
import { breakStreaks, extendStreaks } from "./Streaks.ts"

/** Counts what decisions cost, whatever they come to. */
export interface Meter {
  /** As `Matching.work`. */
  work: number
}

/** What `command` does to `user` (`undefined`: never seen) under the definitions of `project`, or why it is refused. */
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
      // What is over stays over where it is yesterday still.
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
      // No record: nothing would be in it.
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

/** What the counts of quests lose with the user; nothing of it tells who it was. */
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
