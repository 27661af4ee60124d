/** The groups of users on leaderboards (`groupBy`) when a profile changes. */
import { hasScores } from "../project/BoardDefinition.ts"
import type { ProjectState } from "../project/Project.ts"
import { groupOf } from "../user/Group.ts"
import type { Profile } from "../user/User.ts"

/** The groups that a change of the profile changes, as they were. */
export const groupsBefore = (
  { leaderboards }: ProjectState,
  before: Profile,
  after: Profile,
): { readonly [attribute: string]: string | null } | undefined => {
  if (before.attributes === after.attributes) return undefined
  const groups = new Map<string, string | null>()
  for (const board of leaderboards.values()) {
    const { groupBy } = board
    if (groupBy === null || !hasScores(board)) continue
    const group = groupOf(before, groupBy)
    if (group !== groupOf(after, groupBy)) groups.set(groupBy, group)
  }
  return groups.size === 0 ? undefined : Object.fromEntries(groups)
}
