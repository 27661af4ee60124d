import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import { actionIndexOf, namesAction } from "../../domain/project/ActionIndex.ts"
import type { DirectoryState } from "../../domain/project/Directory.ts"
import type { ProjectSettings } from "../../domain/project/Project.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { Actions } from "../api/Events.ts"
import type { Projects } from "../api/Projects.ts"
import { DecodingTurns, type EventInput } from "../body/EventDecoder.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import type { EventMetrics } from "../request/RequestMetrics.ts"
import { analyticsHandlers } from "./analyticsHandlers.ts"
import { badgeHandlers } from "./badgeHandlers.ts"
import { boardHandlers, leaderboardHandlers } from "./boardHandlers.ts"
import { boostHandlers } from "./boostHandlers.ts"
import { currencyHandlers } from "./currencyHandlers.ts"
import { definitionFileHandlers } from "./definitionFileHandlers.ts"
import { deliveryHandlers } from "./deliveryHandlers.ts"
import { eventHandlers } from "./eventHandlers.ts"
import { experimentHandlers } from "./experimentHandlers.ts"
import { factHandlers } from "./factHandlers.ts"
import { goalHandlers } from "./goalHandlers.ts"
import { ingestHandlers } from "./ingestHandlers.ts"
import { itemHandlers, purchaseHandlers } from "./itemHandlers.ts"
import { leagueHandlers } from "./leagueHandlers.ts"
import { metricHandlers } from "./metricHandlers.ts"
import { openingHandlers } from "./openingHandlers.ts"
import { questHandlers } from "./questHandlers.ts"
import { recapHandlers } from "./recapHandlers.ts"
import { rewardHandlers, spendHandlers } from "./rewardHandlers.ts"
import { ruleHandlers } from "./ruleHandlers.ts"
import { factOf, onlyIf, pageAsked, settingsChange, shownVersion, showReminders } from "./Shapes.ts"
import { SourceLog } from "./SourceLog.ts"
import { segmentHandlers } from "./segmentHandlers.ts"
import { simulationHandlers } from "./simulationHandlers.ts"
import { sourceHandlers } from "./sourceHandlers.ts"
import { streakHandlers } from "./streakHandlers.ts"
import { type StreamParts, streamHandlers } from "./streamHandlers.ts"
import { teamHandlers } from "./teamHandlers.ts"
import { testClockHandlers } from "./testClockHandlers.ts"
import { userHandlers } from "./userHandlers.ts"
import { type WebhookParts, webhookHandlers } from "./webhookHandlers.ts"

const actionHandlers = (engine: Engine["Service"]): Handlers<typeof Actions> => ({
  list: {
    handle: ({ caller: { environment }, query }) =>
      Effect.gen(function* () {
        const {
          after: [after = ""] = [],
          end,
          limit,
        } = yield* pageAsked("actions", environment, {}, query)
        const { actions, others } = yield* engine.readActions(environment)
        const index = actionIndexOf(engine.projectNow(environment), engine.timeIn(environment))
        const names = [...actions.keys()].filter((action) => action > after).sort()
        const page = names.slice(0, limit)
        const metadata = yield* Effect.forEach(page, (one) => engine.readPaths(environment, one))
        return {
          body: {
            actions: page.map((action, place) => {
              const { count, lastAt } = actions.get(action)!
              const lastReceivedAt = isoTime(lastAt)
              const matched = namesAction(index, action)
              return { action, count, lastReceivedAt, matched, metadata: metadata[place]! }
            }),
            others: {
              count: others.count,
              lastReceivedAt: others.count === 0 ? null : isoTime(others.lastAt),
            },
            total: actions.size,
            ...end(names.length > limit ? [page.at(-1)!] : undefined),
          },
        }
      }),
  },
})

const projectHandlers = (
  engine: Engine["Service"],
): Handlers<typeof Projects, { readonly simulate: EventInput }> => {
  const show = (caller: Caller, settings: ProjectSettings) =>
    Effect.map(engine.readDirectory, (directory) => showProject(caller, settings, directory))
  return {
    get: {
      handle: ({ caller, headers }) =>
        Effect.flatMap(engine.readProject(caller.environment), ({ settings }) =>
          Effect.map(show(caller, settings), (body) =>
            shownVersion(body, settings.version, headers),
          ),
        ),
    },
    update: {
      handle: ({ caller, headers, idempotency, payload }) => {
        const change = settingsChange(payload)
        const command = onlyIf(headers, { kind: "updateSettings", change } as const)
        const asked = engine.askProject(caller.environment, command, idempotency)
        return Effect.flatMap(asked, ({ replayed, reply }) => {
          const { settings } = factOf(reply, "project.updated")
          const { version } = settings
          return Effect.map(show(caller, settings), (body) => ({ body, replayed, version }))
        })
      },
    },
    ...simulationHandlers(engine),
  }
}

const showProject = (caller: Caller, settings: ProjectSettings, directory: DirectoryState) => ({
  id: caller.projectId,
  environment: caller.environmentName,
  ...settings,
  clientActions: settings.clientActions ?? [],
  reminders: showReminders(settings.reminders),
  name: settings.name ?? directory.projects.get(caller.projectId)?.name ?? caller.projectId,
  tier: caller.tier,
})

/** The handlers of all operations, by group. */
export const handlersOf = (
  engine: Engine["Service"],
  webhooks: Omit<WebhookParts, "engine">,
  streams: StreamParts,
  events: EventMetrics,
  erasureMs: number,
) => {
  const turns = new DecodingTurns()
  const sourceLog = new SourceLog(engine.now())
  return {
    events: eventHandlers(engine, events, turns),
    recaps: recapHandlers(engine),
    analytics: analyticsHandlers(engine),
    facts: factHandlers(engine),
    ingest: ingestHandlers(engine, sourceLog),
    openings: openingHandlers(engine, turns),
    rewards: rewardHandlers(engine, turns),
    spends: spendHandlers(engine),
    purchases: purchaseHandlers(engine),
    actions: actionHandlers(engine),
    users: userHandlers(engine, streams.accounts, erasureMs),
    quests: questHandlers(engine),
    leaderboard: leaderboardHandlers(engine),
    rules: ruleHandlers(engine),
    badges: badgeHandlers(engine),
    boosts: boostHandlers(engine),
    currencies: currencyHandlers(engine),
    segments: segmentHandlers(engine),
    metrics: metricHandlers(engine),
    streaks: streakHandlers(engine),
    leaderboards: boardHandlers(engine),
    experiments: experimentHandlers(engine),
    teams: teamHandlers(engine),
    leagues: leagueHandlers(engine),
    items: itemHandlers(engine),
    goals: goalHandlers(engine),
    sources: sourceHandlers(engine, sourceLog),
    deliveries: deliveryHandlers(engine, streams.accounts, sourceLog),
    project: projectHandlers(engine),
    definitions: definitionFileHandlers(engine),
    testClock: testClockHandlers(engine),
    webhooks: webhookHandlers({ engine, ...webhooks }),
    stream: streamHandlers(engine, streams),
  }
}
