import type { Engine } from "../../engine/Engine.ts"
import type { EventMetrics } from "../request/RequestMetrics.ts"
import { actionHandlers } from "./Actions.ts"
import { badgeHandlers } from "./Badges.ts"
import { definitionHandlers } from "./Definitions.ts"
import { eventHandlers } from "./Events.ts"
import { leaderboardHandlers } from "./Leaderboard.ts"
import { projectHandlers } from "./Project.ts"
import { questHandlers } from "./Quests.ts"
import { ruleHandlers } from "./Rules.ts"
import { type StreamParts, streamHandlers } from "./Stream.ts"
import { userHandlers } from "./Users.ts"
import { type WebhookParts, webhookHandlers } from "./Webhooks.ts"

/** The handlers of all operations, by group. */
export const handlersOf = (
  engine: Engine["Service"],
  webhooks: Omit<WebhookParts, "engine">,
  streams: StreamParts,
  events: EventMetrics,
  erasureMs: number | null,
) => ({
  events: eventHandlers(engine, events),
  actions: actionHandlers(engine),
  users: userHandlers(engine, streams.accounts, erasureMs),
  quests: questHandlers(engine),
  leaderboard: leaderboardHandlers(engine),
  rules: ruleHandlers(engine),
  badges: badgeHandlers(engine),
  project: projectHandlers(engine),
  definitions: definitionHandlers(engine),
  webhooks: webhookHandlers({ engine, ...webhooks }),
  stream: streamHandlers(engine, streams),
})
