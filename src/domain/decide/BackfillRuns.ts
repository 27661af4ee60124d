/** Decides commands that start and finish backfills; `Badges.ts` decides the award to each user. */
import { Result } from "effect"
import type { ProjectState } from "../project/Project.ts"
import { refuse } from "../values/Errors.ts"
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

export const decideBackfillRun = (
  { backfills, badges }: ProjectState,
  command: BackfillCommand,
): Decided => {
  const { badgeId } = command
  const run = backfills.get(badgeId)
  const underWay = run !== undefined && run.finishedAt === null
  if (command.kind === "finishBackfill") {
    const { awarded, checked } = command
    return underWay
      ? Result.succeed([{ kind: "backfill.finished", badgeId, checked, awarded }])
      : refuse("conflict", "No backfill of this badge is running.")
  }
  const badge = badges.get(badgeId)
  if (badge === undefined) return refuse("badge_not_found", "No badge of this project has this id.")
  if (badge.archived) return refuse("invalid_transition", "The badge is archived.")
  if (badge.criteria.kind === "manual") {
    return refuse("conflict", "A manual badge has no criteria to backfill.")
  }
  if (underWay) return refuse("conflict", "A backfill of this badge is already running.")
  return Result.succeed([{ kind: "backfill.started", badgeId, notify: command.notify }])
}
