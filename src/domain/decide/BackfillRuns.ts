/** Decides commands that start and finish backfills; `Badges.ts` decides the award to each user. */
import { Result } from "effect"
import type { ProjectState } from "../project/Project.ts"
import { refuse } from "../values/Errors.ts"
import { badgeNotFound } from "./BadgeDefinitions.ts"
import type { Decided } from "./Decided.ts"

export type BackfillCommand =
  | { readonly kind: "startBackfill"; readonly badgeId: string; readonly notify: boolean }
  /** All users were checked. */
  | {
      readonly kind: "finishBackfill"
      readonly badgeId: string
      readonly checked: number
      readonly awarded: number
    }

type CommandOf<Kind> = Extract<BackfillCommand, { readonly kind: Kind }>

export const finishBackfill = (
  state: ProjectState,
  { awarded, badgeId, checked }: CommandOf<"finishBackfill">,
): Decided<"conflict"> =>
  isUnderWay(state, badgeId)
    ? Result.succeed([{ kind: "backfill.finished", badgeId, checked, awarded }])
    : refuse("conflict", "No backfill of this badge is running.")

export const startBackfill = (
  state: ProjectState,
  { badgeId, notify }: CommandOf<"startBackfill">,
): Decided<"badge_not_found" | "invalid_transition" | "conflict"> => {
  const badge = state.badges.get(badgeId)
  if (badge === undefined) return badgeNotFound
  if (badge.archived) return refuse("invalid_transition", "The badge is archived.")
  if (badge.criteria.kind === "manual") {
    return refuse("conflict", "A manual badge has no criteria to backfill.")
  }
  if (isUnderWay(state, badgeId)) {
    return refuse("conflict", "A backfill of this badge is already running.")
  }
  return Result.succeed([{ kind: "backfill.started", badgeId, notify }])
}

const isUnderWay = ({ backfills }: ProjectState, badgeId: string): boolean =>
  backfills.get(badgeId)?.finishedAt === null
