/** Decides the commands on streaks. `Streaks.ts` extends, pays and breaks them. */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { weekdays } from "../project/Boost.ts"
import {
  defaults,
  firstVersion,
  type New,
  nextVersion,
  type Replacement,
  type Status,
} from "../project/Definition.ts"
import { definitionOf } from "../project/DefinitionKey.ts"
import type { ProjectState } from "../project/Project.ts"
import type { Streak } from "../project/StreakDefinition.ts"
import { type Fault, invalidRequest, quotaExceeded, refuse } from "../values/Errors.ts"
import { type Metadata, patchedMetadata } from "../values/Metadata.ts"
import { archivedFault, type Conditional, type Decided, noChange } from "./Decided.ts"
import {
  badgeReferenceFaults,
  claimedKey,
  currencyReferenceFaults,
  metadataFaults,
  streakInUse,
} from "./definitionChecks.ts"
import {
  archived,
  archivedCannotChange,
  liveCount,
  moved,
  movedTo,
  overFaults,
  periodFaults,
} from "./Lifecycle.ts"

type Members = Pick<
  Streak,
  | "name"
  | "description"
  | "needs"
  | "match"
  | "restDays"
  | "freezes"
  | "milestones"
  | "startsAt"
  | "endsAt"
>

/** A merge patch of a streak. */
export interface StreakChange extends Partial<Members> {
  readonly status?: Status
  readonly metadata?: Metadata | null
}

export type StreakCommand =
  | { readonly kind: "createStreak"; readonly streak: New<Streak> }
  | (Conditional & {
      readonly kind: "updateStreak"
      readonly streakId: string
      readonly change: StreakChange
    })
  /** Archives the streak. */
  | (Conditional & { readonly kind: "deleteStreak"; readonly streakId: string })

type CommandOf<Kind> = Extract<StreakCommand, { readonly kind: Kind }>

export const createStreak = (
  state: ProjectState,
  { streak: given }: CommandOf<"createStreak">,
  now: number,
  known?: KnownBadges,
): Decided<"invalid_request" | "key_taken" | "quota_exceeded"> => {
  const { streaks } = state
  const key = claimedKey(streaks, "streak", given.key, given.name)
  if (Result.isFailure(key)) return Result.fail(key.failure)
  const streak = inOrder({
    ...defaults,
    set: "published",
    ...given,
    key: key.success,
    ...firstVersion(now),
  })
  const faults = [...overFaults(streak, now), ...streakFaults(state, streak, known)]
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  const live = liveCount(streaks)
  if (live >= limits.streaksMax) {
    return quotaExceeded(limits.streaksMax, "streaks per environment")
  }
  if (streaks.size - live >= limits.archivedStreaksMax) {
    return quotaExceeded(limits.archivedStreaksMax, "archived streaks per environment")
  }
  return Result.succeed([{ kind: "streak.created", streak }])
}

export const updateStreak = (
  state: ProjectState,
  { change: { metadata, status, ...change }, streakId }: CommandOf<"updateStreak">,
  now: number,
): Decided<"streak_not_found" | "invalid_request" | "invalid_transition" | "in_use"> => {
  const streak = definitionOf(state.streaks, streakId)
  if (streak === undefined) return notFound
  if (streak.set === "archived") return archivedCannotChange
  const changed = dated(
    streak,
    inOrder({
      ...streak,
      ...change,
      metadata: patchedMetadata(streak.metadata, metadata),
      ...nextVersion(streak, now),
    }),
    now,
  )
  const faults = streakFaults(state, changed)
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  return Result.flatMap(moved(changed, status, now), (set) => updated(state, { ...changed, set }))
}

export const deleteStreak = (
  state: ProjectState,
  { streakId }: CommandOf<"deleteStreak">,
  now: number,
): Decided<"streak_not_found" | "in_use"> => {
  const streak = definitionOf(state.streaks, streakId)
  return streak === undefined || streak.set === "archived"
    ? notFound
    : updated(state, archived(streak, now))
}

/** Replaces `before` by `members`, with the status `set` if given. No facts if both are equal. */
export const replaceStreak = (
  state: ProjectState,
  before: Streak,
  { id: _, set, ...members }: Replacement<Streak>,
  now: number,
  known?: KnownBadges,
): Decided<"invalid_request" | "invalid_transition" | "in_use"> => {
  if (before.set === "archived") return Result.fail(invalidRequest([archivedFault]))
  const changed = dated(
    before,
    inOrder({ ...before, ...defaults, ...members, ...nextVersion(before, now) }),
    now,
  )
  if (noChange(before, { ...changed, set: set ?? before.set })) return Result.succeed([])
  const faults = [
    ...streakFaults(state, changed, known),
    ...(changed.every === before.every
      ? []
      : [{ pointer: "/every", code: "invalid_value", detail: "cannot change" }]),
  ]
  if (faults.length > 0) return Result.fail(invalidRequest(faults))
  return Result.flatMap(movedTo(changed, set, now), (set) => updated(state, { ...changed, set }))
}

const updated = (state: ProjectState, streak: Streak) => {
  const refusal = streak.set === "archived" ? streakInUse(state, streak.key) : undefined
  return refusal === undefined
    ? Result.succeed([{ kind: "streak.updated", streak } as const])
    : Result.fail(refusal)
}

/** The milestones by target, as `Streaks.ts` pays them, and the rest days as in a week. */
const inOrder = (streak: Streak): Streak => ({
  ...streak,
  restDays: weekdays.filter((day) => streak.restDays.includes(day)),
  milestones: streak.milestones.toSorted((one, other) => one.target - other.target),
})

/** The definition with its former terms, which still count for the periods of their time. */
const dated = (before: Streak, changed: Streak, now: number): Streak => {
  const { freezes, restDays, termsBefore = [] } = before
  const isSame = noChange(freezes, changed.freezes) && noChange(restDays, changed.restDays)
  if (isSame) return changed
  const former = [...termsBefore, { freezes, restDays, until: now }]
  return { ...changed, termsBefore: former.slice(-limits.streakEditsMax) }
}

/** The ids of badges that a file of definitions makes later, which milestones may give already. */
type KnownBadges = ReadonlySet<string>

const streakFaults = (
  state: ProjectState,
  streak: Streak,
  known?: KnownBadges,
): ReadonlyArray<Fault> => {
  const { every, freezes, milestones, restDays } = streak
  const faults: Array<Fault> = [...periodFaults(streak), ...metadataFaults(streak.metadata)]
  if (every !== "day" && restDays.length > 0) {
    const detail = "is only for streaks of days"
    faults.push({ pointer: "/restDays", code: "invalid_value", detail })
  }
  if (freezes.initial > freezes.max) {
    const detail = "must be at most max"
    faults.push({ pointer: "/freezes/initial", code: "out_of_range", detail })
  }
  for (const [index, { reward }] of milestones.entries()) {
    const pointer = `/milestones/${index}/reward`
    const badgeId = known?.has(reward.badgeId ?? "") === true ? null : reward.badgeId
    faults.push(
      ...badgeReferenceFaults(state, badgeId, `${pointer}/badgeId`),
      ...currencyReferenceFaults(state, reward.currencies, `${pointer}/currencies`),
    )
  }
  return faults
}

const notFound = refuse("streak_not_found", "No streak of this project has this id or key.")
