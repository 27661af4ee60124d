/**
 * The subjects of the reference's examples: one user, one time, one definition of each kind. The
 * examples of replies use them, so that they agree with each other and with the examples of single
 * members.
 */
import { cursorOf, type ListName, type Position } from "../Cursor.ts"

export const time = "2026-11-01T09:30:00.000Z"
export const later = "2026-12-01T00:00:00.000Z"

export const userId = "user-42"
export const projectId = "prj_01a1fc1e64c07345932e273286b5ca30"
export const questId = "qst_01a1fc1e64c07345932e273286b5ca30"
/** The id of "First lesson". */
export const badgeId = "bdg_01a1fc1e64c07345932e273286b5ca30"
/** The id of "Ten lessons". */
export const countedBadgeId = "bdg_01a1fc0b7d10766ab1c90c8a1f4de2b7"
export const ruleId = "rul_01a1fc1e64c07345932e273286b5ca30"
export const webhookId = "whk_01a1fc1e64c07345932e273286b5ca30"
export const eventId = "evt_0mi8k3f2a4c92"
export const rewardId = "rwd_0mi8k3f2a4c92"
export const spendId = "spd_0mi8k3f2a4c92"
export const deliveryId = "dlv_0mi8k3f2a4c92_1"
export const messageId = "msg_0mi8k3f2a4c92_1"

/** The caller's id of an event. */
export const eventKey = "lesson-7-user-42"

/** The only page of a list with one item. */
export const onlyPage = { total: 1, hasMore: false, nextCursor: null } as const

const createdAt = Date.parse(time)
const sequence = 204_878

const positions: { readonly [List in ListName]: Position<List> } = {
  users: [userId],
  quests: [createdAt, questId],
  rules: [createdAt, ruleId],
  badges: [createdAt, badgeId],
  webhooks: [createdAt, webhookId],
  history: [sequence, 0],
  rewards: [sequence, 0],
  spends: [sequence, 0],
  deliveries: [sequence, 0],
  actions: ["LESSON_DONE"],
}

/** A cursor of a list. */
export const exampleCursor = <List extends ListName>(list: List): string =>
  cursorOf(list, `${projectId}:production`, {}, positions[list])
