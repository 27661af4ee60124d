/** The detail and the path of each problem's example, in the server's words. */
import {
  badgeId,
  boostId,
  countedBadgeId,
  deliveryId,
  experimentId,
  goalId,
  itemId,
  leaderboardId,
  leagueId,
  metricId,
  projectId,
  questId,
  ruleId,
  segmentId,
  sourceId,
  userId,
  webhookId,
} from "./exampleIds.ts"

/**
 * The members of a problem that differ between occurrences: the detail, and the path of the
 * request.
 */
export interface Occurrence {
  readonly detail: string
  readonly instance: string
}

const events = "/v1/events"
const badge = `/v1/badges/${countedBadgeId}`
const purchases = `/v1/users/${userId}/purchases`
const quest = `/v1/quests/${questId}`
const repair = `/v1/users/${userId}/streaks/daily/repair`
const webhook = `/v1/webhooks/${webhookId}`

const at = (instance: string, detail: string): Occurrence => ({ detail, instance })

export const occurrences = {
  invalid_request: at(events, "/userId: must be a string"),
  version_conflict: at(quest, "It has version 4. Nothing was changed."),
  invalid_json: at(events, "Invalid JSON at character 29."),
  malformed_request: at(events, "The Host header field is missing."),
  invalid_signature: at(
    `/v1/ingest/${projectId}/sandbox/${sourceId}`,
    "The header field with the signature is missing.",
  ),
  unauthorized: at(
    events,
    "The request has no Authorization header. Send an API key or user token as `Authorization: Bearer <key>`.",
  ),
  insufficient_scope: at(events, "The operation needs the scope full or ingest; the key has read."),
  address_not_allowed: at(
    events,
    "The key may not be used from 127.0.0.1. Create a key whose address ranges include it.",
  ),
  origin_not_allowed: at(
    events,
    "The key may not be used by pages of https://other.example. Create a key whose origins include it.",
  ),
  sandbox_only: at("/v1/test-clock", "Production has no test clock: its time is real."),
  user_not_found: at(
    `/v1/users/${userId}`,
    "No event, reward or profile of this user was accepted yet.",
  ),
  quest_not_found: at(quest, "No quest of this project has this id or key."),
  rule_not_found: at(`/v1/rules/${ruleId}`, "No rule of this project has this id or key."),
  segment_not_found: at(
    `/v1/segments/${segmentId}`,
    "No segment of this project has this id or key.",
  ),
  streak_not_found: at("/v1/streaks/daily", "No streak of this project has this id or key."),
  team_not_found: at("/v1/teams/falcons", "No team of this environment has this id."),
  member_not_found: at(
    "/v1/teams/falcons/members/user-42",
    "The user is not a member of this team.",
  ),
  badge_not_found: at(badge, "No badge of this project has this id or key."),
  experiment_not_found: at(
    `/v1/experiments/${experimentId}`,
    "No experiment of this project has this id or key.",
  ),
  leaderboard_not_found: at(
    `/v1/leaderboards/${leaderboardId}`,
    "No leaderboard of this project has this id or key.",
  ),
  league_not_found: at(`/v1/leagues/${leagueId}`, "No league of this project has this id or key."),
  mechanic_not_found: at(
    "/v1/analytics/mechanics/quest/daily-lesson",
    "No definition of this kind has this id or key.",
  ),
  cohort_not_found: at(
    `/v1/leagues/${leagueId}/cohorts/silver-12`,
    "No cohort of a window that is not settled has this id.",
  ),
  boost_not_found: at(`/v1/boosts/${boostId}`, "No boost of this project has this id or key."),
  currency_not_found: at("/v1/currencies/gems", "No currency of this project has this id or key."),
  metric_not_found: at(`/v1/metrics/${metricId}`, "No metric of this project has this id or key."),
  event_not_found: at(
    `/v1/users/${userId}/events/evt_0mi8k3f2a4c92`,
    "The user has no event with this id, or it was already revoked.",
  ),
  reward_not_found: at(
    `/v1/users/${userId}/rewards/rwd_0mi8k3f2a4c92`,
    "The user has no reward with this id, or it was already revoked.",
  ),
  spend_not_found: at(
    `/v1/users/${userId}/points/spend/spd_0mi8k3f2a4c92`,
    "The user has no spend with this id, or it was already revoked.",
  ),
  goal_not_found: at(`/v1/goals/${goalId}`, "No goal of this project has this id or key."),
  source_not_found: at(`/v1/sources/${sourceId}`, "No source of this project has this id or key."),
  item_not_found: at(`/v1/items/${itemId}`, "No item of this project has this id or key."),
  purchase_not_found: at(
    `/v1/users/${userId}/purchases/pur_0mi8k3f2a4c92`,
    "The user has no purchase with this id, or it was already revoked.",
  ),
  item_not_active: at(purchases, "The item's status is paused."),
  not_in_segment: at(purchases, "The item is for members of the segment active-learners."),
  limit_reached: at(purchases, "The user has bought 2 of 2 in this week."),
  sold_out: at(purchases, "All 100 units are sold."),
  webhook_not_found: at(webhook, "No webhook of this project has this id."),
  delivery_not_found: at(
    `${webhook}/deliveries/${deliveryId}`,
    "The webhook's log has no delivery with this id, or no longer has it.",
  ),
  backfill_not_found: at(
    `${badge}/backfill`,
    "There is no backfill, or the definition is archived.",
  ),
  conflict: at(`${badge}/backfill`, "A backfill of this badge is already running."),
  quest_not_active: at(events, "The quest's status is paused."),
  quest_incomplete: at(events, "Not all steps of the quest are complete."),
  quest_locked: at(events, "The user has not completed the prerequisite quests."),
  boost_not_active: at(`/v1/users/${userId}/rewards`, "The boost's status is paused."),
  opening_closed: at(
    "/v1/users/newcomer-3/opening",
    "The opening balances of the user were set with other content: /balances/xp.",
  ),
  streak_not_active: at(repair, "The streak's status is paused."),
  streak_not_repairable: at(repair, "The streak has no repair."),
  streak_not_broken: at(repair, "No break of the streak is left to repair."),
  repair_too_late: at(
    repair,
    "The streak broke in the day of 2026-10-30, and can be repaired for 3 days.",
  ),
  badge_not_active: at(`/v1/users/${userId}/rewards`, "The badge's status is paused."),
  invalid_transition: at(quest, "An archived definition cannot change."),
  webhook_disabled: at(`${webhook}/test`, "The webhook is disabled; enable it first."),
  insufficient_points: at(
    `/v1/users/${userId}/points/spend`,
    "The user has 300 points, 500 are needed.",
  ),
  insufficient_balance: at(
    `/v1/users/${userId}/points/spend`,
    "The user has 2 gems, 3 are needed. The user has 0 coins, 50 are needed.",
  ),
  currency_not_spendable: at(
    `/v1/users/${userId}/points/spend`,
    "The currency reputation cannot be spent.",
  ),
  user_merged: at("/v1/users/visitor-7/merge", "The user visitor-7 was merged into user-42."),
  id_reused: at(
    `/v1/users/${userId}/points/spend`,
    "An earlier spend of the user has this id and other content: /amount.",
  ),
  balance_overflow: at(events, "xp would exceed 9007199254740991; nothing was changed."),
  key_taken: at(
    "/v1/badges",
    `The key is that of the badge ${countedBadgeId}. The keys of archived definitions stay taken.`,
  ),
  in_use: at(
    `/v1/badges/${badgeId}`,
    `The badge is used by quest ${questId} (First steps). Change or archive these first.`,
  ),
  quota_exceeded: at("/v1/rules", "At most 10000 rules per environment are allowed."),
  idempotency_in_progress: at(events, "Retry when the first request has ended."),
  gone: at(
    `${webhook}/deliveries/${deliveryId}/redeliver`,
    "The journal no longer has the message.",
  ),
  body_too_large: at(events, "The body may have at most 65536 bytes."),
  batch_too_large: at(
    "/v1/events/batch",
    "The batch counts as 101 requests, and the limit is 100 a minute. Send smaller batches.",
  ),
  unsupported_media_type: at(
    events,
    "Send the body as application/json, in UTF-8, without a content encoding.",
  ),
  idempotency_key_reused: at(
    events,
    "The first request with this key had a different method, path, condition or body.",
  ),
  rate_limited: at(events, "Rate limit exceeded. Retry after the window ends."),
  internal_error: at(events, "The server failed; whether the request was applied is unknown."),
  overloaded: at(events, "Nothing was changed."),
  storage_unavailable: at(events, "Nothing was changed."),
  starting: at(events, "The server is almost ready."),
  shutting_down: at(events, "Retry when the server is back."),
} as const
