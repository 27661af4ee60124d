/** What the example of each problem says of its request, in the server's own words. */
import { badgeId, countedBadgeId, deliveryId, questId, ruleId, userId, webhookId } from "./Ids.ts"

/** What differs from one occurrence of a problem to the next: what happened, and at which path. */
export interface Occurrence {
  readonly detail: string
  readonly instance: string
}

const events = "/v1/events"
const badge = `/v1/badges/${countedBadgeId}`
const quest = `/v1/quests/${questId}`
const webhook = `/v1/webhooks/${webhookId}`

const at = (instance: string, detail: string): Occurrence => ({ detail, instance })

export const occurrences = {
  invalid_request: at(events, "/userId: must be a string"),
  invalid_json: at(events, "The JSON is broken at character 1."),
  malformed_request: at(events, "The Host header field is missing."),
  unauthorized: at(events, "Send an API key that is in force as `Authorization: Bearer <key>`."),
  insufficient_scope: at(events, "A key with the scope read may not do this."),
  user_not_found: at(
    `/v1/users/${userId}`,
    "No event, reward or profile of this user was ever accepted.",
  ),
  quest_not_found: at(quest, "No quest of this project has this id."),
  rule_not_found: at(`/v1/rules/${ruleId}`, "No rule of this project has this id."),
  badge_not_found: at(badge, "No badge of this project has this id."),
  event_not_found: at(
    `/v1/users/${userId}/events/evt_0mi8k3f2a4c92`,
    "The user has no event with this id, or it was taken back already.",
  ),
  reward_not_found: at(
    `/v1/users/${userId}/rewards/rwd_0mi8k3f2a4c92`,
    "The user has no reward with this id, or it was taken back already.",
  ),
  webhook_not_found: at(webhook, "No webhook of this project has this id."),
  delivery_not_found: at(
    `${webhook}/deliveries/${deliveryId}`,
    "The webhook's log has no delivery with this id, or does not have it any more.",
  ),
  backfill_not_found: at(
    `${badge}/backfill`,
    "No backfill of this badge was asked for, or it is archived.",
  ),
  conflict: at(`${badge}/backfill`, "A backfill of this badge is under way."),
  quest_not_active: at(events, "The quest's status is paused."),
  quest_incomplete: at(events, "Steps of the quest are still open."),
  quest_locked: at(events, "The user has not completed the quests that come before."),
  invalid_transition: at(quest, "The quest is archived, and stays as it is."),
  webhook_disabled: at(`${webhook}/test`, "The webhook is disabled; enable it first."),
  balance_overflow: at(events, "xp may not exceed 9007199254740991; nothing was changed."),
  in_use: at(
    `/v1/badges/${badgeId}`,
    `Still refer to the badge: quest ${questId} (First steps). Change or delete these first.`,
  ),
  quota_exceeded: at("/v1/rules", "An environment holds at most 10000 rules."),
  idempotency_in_progress: at(events, "Ask again when the first request has ended."),
  gone: at(`${webhook}/deliveries/${deliveryId}/redeliver`, "The message is not kept any more."),
  body_too_large: at(events, "The body may have at most 65536 bytes."),
  unsupported_media_type: at(
    events,
    "Send the body as application/json, in UTF-8, without a content encoding.",
  ),
  idempotency_key_reused: at(
    events,
    "The first request with this key had another method, path or body.",
  ),
  rate_limited: at(events, "The key's requests are used up, or too few for this batch."),
  internal_error: at(
    events,
    "The request failed for a reason of ours; whether it was applied is unknown.",
  ),
  overloaded: at(events, "Nothing was changed."),
  storage_unavailable: at(events, "Nothing was changed."),
  starting: at(events, "The server is about to be ready."),
  shutting_down: at(events, "Retry when the server is back."),
} as const
