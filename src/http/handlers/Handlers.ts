import type { Engine } from "../../engine/Engine.ts"
import type { WebhookUrlPolicy } from "../../webhooks/WebhookUrl.ts"
import { eventHandlers } from "./Events.ts"
import { leaderboardHandlers } from "./Leaderboard.ts"
import { questHandlers } from "./Quests.ts"
import { ruleHandlers } from "./Rules.ts"
import { userHandlers } from "./Users.ts"
import { webhookHandlers } from "./Webhooks.ts"

/** What stands behind the operations of the contract, by group. */
export const handlersOf = (engine: Engine["Service"], webhookUrls: WebhookUrlPolicy) => ({
  events: eventHandlers(engine),
  users: userHandlers(engine),
  quests: questHandlers(engine),
  leaderboard: leaderboardHandlers(engine),
  rules: ruleHandlers(engine),
  webhooks: webhookHandlers(engine, webhookUrls),
})
