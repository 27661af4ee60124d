/** States of users for tests. */
import { emptyProfile, noWindows, type UserState } from "../../../src/domain/user/User.ts"

export const plainUser: UserState = {
  id: "ada",
  sequence: 12,
  xp: Number.MAX_SAFE_INTEGER,
  scoreSequence: 11,
  points: 7,
  pointsSpent: 0,
  windows: noWindows,
  profile: emptyProfile,
  badges: new Map(),
  badgeCounts: new Map(),
  badgeRecounts: new Map(),
  quests: new Map(),
  questsCompleted: 0,
  pastZones: [],
  streaks: new Map(),
  ruleUses: new Map(),
  createdAt: 1,
  updatedAt: 2,
}
