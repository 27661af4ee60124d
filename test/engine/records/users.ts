/** States of users for tests. */
import { newcomer, type UserState } from "../../../src/domain/user/User.ts"

export const plainUser: UserState = {
  ...newcomer,
  id: "ada",
  sequence: 12,
  xp: Number.MAX_SAFE_INTEGER,
  scoreSequence: 11,
  points: 7,
  createdAt: 1,
  updatedAt: 2,
}
