/** Simulated events, with the present definitions or with drafts. */
import { Effect } from "effect"
import { type EventReply, furtherOf, replyOf } from "../../domain/message/UserReply.ts"
import { type Amounts, plusAmountOf } from "../../domain/project/Currency.ts"
import type { Source } from "../../domain/record/BalanceFact.ts"
import { heldSegments } from "../../domain/record/Record.ts"
import type { ErrorCode, Fault, LaurelError } from "../../domain/values/Errors.ts"
import { isoTime } from "../../domain/values/isoTime.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { DraftCommand, Simulated } from "../../engine/read/Simulation.ts"
import type { PreviewRequest, Projects, Simulation } from "../api/Projects.ts"
import { decodeEventBody, type EventInput } from "../body/EventDecoder.ts"
import type { Handlers } from "../contract/Interpreter.ts"
import { badgeReplacement, newBadge } from "./badgeHandlers.ts"
import { boostReplacement, newBoost } from "./boostHandlers.ts"
import { currencyReplacement, newCurrency } from "./currencyHandlers.ts"
import { newMetric } from "./metricHandlers.ts"
import { newQuest, questReplacement } from "./questHandlers.ts"
import { newRule, ruleReplacement } from "./ruleHandlers.ts"
import { memberOf, referenceFaults, settingsChange, showRepeat } from "./Shapes.ts"
import { newStreak, streakReplacement } from "./streakHandlers.ts"

type ProjectHandlers = Handlers<typeof Projects, { readonly simulate: EventInput }>

export const simulationHandlers = (
  engine: Engine["Service"],
): Pick<ProjectHandlers, "preview" | "simulate"> => ({
  simulate: {
    decode: decodeEventBody,
    handle: ({ caller, payload: { userId, ...event } }) => {
      const command = { kind: "event", ...event } as const
      return Effect.map(engine.simulate(caller.environment, { userId, command }), (simulated) => ({
        body: showSimulation(simulated),
      }))
    },
  },
  preview: {
    moreFaults: (body, caller) =>
      ["rule", "quest", "badge", "boost", "metric"].flatMap((noun) =>
        below(`/${noun}`, referenceFaults(engine)(memberOf(body, noun), caller)),
      ),
    handle: ({ caller, payload }) => {
      const { occurredAt, userId, ...event } = payload.event
      const at = occurredAt !== undefined && { occurredAt: Date.parse(occurredAt) }
      const command = { kind: "event", ...event, ...at } as const
      return engine.simulate(caller.environment, { userId, command }, draftsOf(payload)).pipe(
        Effect.map((simulated) => ({ body: showSimulation(simulated) })),
        Effect.mapError(ofEvent),
      )
    },
  },
})

const draftPointer = /^\/(?:badge|boost|currency|metric|quest|rule|settings|streak)\//

/** Adds `/event` to the pointers of all faults that are not faults of a draft. */
const ofEvent = <Code extends ErrorCode>(error: LaurelError<Code>): LaurelError<Code> =>
  error.errors === undefined
    ? error
    : {
        ...error,
        errors: error.errors.map((fault) =>
          draftPointer.test(fault.pointer) ? fault : below("/event", [fault])[0]!,
        ),
      }

const below = (pointer: string, faults: ReadonlyArray<Fault>): ReadonlyArray<Fault> =>
  faults.map((fault) => ({ ...fault, pointer: `${pointer}${fault.pointer}` }))

/**
 * Currency and metric come before the streak, then the badge, the quest and the rule, so that
 * drafts can refer to each other.
 */
const draftsOf = ({
  badge,
  badgeId,
  boost,
  boostId,
  currency,
  currencyId,
  metric,
  quest,
  questId,
  rule,
  ruleId,
  settings,
  streak,
  streakId,
}: typeof PreviewRequest.Type): ReadonlyArray<DraftCommand> => [
  ...draft(settings, "/settings", (patch) => ({
    kind: "updateSettings",
    change: settingsChange(patch),
  })),
  ...draft(currency, "/currency", (body) =>
    currencyId === undefined
      ? { kind: "createCurrency", currency: newCurrency(body, "cur_draft") }
      : { kind: "updateCurrency", currencyId, change: currencyReplacement(body) },
  ),
  ...draft(metric, "/metric", (body) => ({
    kind: "createMetric",
    metric: newMetric(body, "mtr_draft"),
  })),
  ...draft(streak, "/streak", (body) =>
    streakId === undefined
      ? { kind: "createStreak", streak: newStreak(body, "stk_draft") }
      : { kind: "updateStreak", streakId, change: streakReplacement(body) },
  ),
  ...draft(badge, "/badge", (body) =>
    badgeId === undefined
      ? { kind: "createBadge", badge: newBadge(body, "bdg_draft") }
      : { kind: "updateBadge", badgeId, change: badgeReplacement(body) },
  ),
  ...draft(boost, "/boost", (body) =>
    boostId === undefined
      ? { kind: "createBoost", boost: newBoost(body, "bst_draft") }
      : { kind: "updateBoost", boostId, change: boostReplacement(body) },
  ),
  ...draft(quest, "/quest", (body) =>
    questId === undefined
      ? { kind: "createQuest", quest: newQuest(body, "qst_draft") }
      : { kind: "updateQuest", questId, change: questReplacement(body) },
  ),
  ...draft(rule, "/rule", (body) =>
    ruleId === undefined
      ? { kind: "createRule", rule: newRule(body, "rul_draft") }
      : { kind: "updateRule", ruleId, change: ruleReplacement(body) },
  ),
]

const draft = <Body>(
  body: Body | undefined,
  pointer: string,
  commandOf: (body: Body) => DraftCommand["command"],
): ReadonlyArray<DraftCommand> =>
  body === undefined ? [] : [{ pointer, command: commandOf(body) }]

const showSimulation = (simulated: Simulated): typeof Simulation.Type => {
  const { record } = simulated
  const reply = replyOf(record, simulated.repeat) as EventReply
  const { action, badges, level, matched, occurredAt, points, quests, userId, xp } = reply
  return {
    userId,
    action,
    ...showRepeat(reply),
    occurredAt: isoTime(occurredAt),
    xp,
    points,
    ...furtherOf(reply),
    level,
    badges: badges.map(({ earnedAt: _, ...badge }) => badge),
    quests,
    streaks: reply.streaks,
    ...(reply.boosts.length > 0 && { boosts: reply.boosts }),
    ...(reply.metrics.length > 0 && { metrics: reply.metrics }),
    ...(!matched && { matched }),
    segments: heldSegments(record),
    ...(reply.withheld.length > 0 && { withheld: reply.withheld }),
    given: givenBy(record),
  }
}

/** The rewards in a record, grouped by rule, quest and criterion. */
const givenBy = ({ facts }: Simulated["record"]): (typeof Simulation.Type)["given"] => {
  interface Gift {
    readonly source: ReturnType<typeof showSource>
    xp: number
    points: number
    currencies?: Amounts
    readonly badges: Array<string>
  }
  const given = new Map<string, Gift>()
  const of = (source: Source) => {
    const shown = showSource(source)
    const key = `${shown.kind} ${shown.id}`
    const entry: Gift = given.get(key) ?? { source: shown, xp: 0, points: 0, badges: [] }
    given.set(key, entry)
    return entry
  }
  for (const fact of facts) {
    if (fact.kind === "xp.earned") of(fact.source).xp += fact.amount
    else if (fact.kind === "points.earned") of(fact.source).points += fact.amount
    else if (fact.kind === "currency.earned") {
      const gift = of(fact.source)
      gift.currencies = plusAmountOf(gift.currencies, fact.currency, fact.amount)
    } else if (fact.kind === "badge.earned") of(fact.source).badges.push(fact.badgeId)
  }
  return [...given.values()]
}

const showSource = (source: Source) => {
  if (typeof source === "string") return { kind: "criteria", id: null } as const
  if ("ruleId" in source) return { kind: "rule", id: source.ruleId } as const
  if ("streakId" in source) return { kind: "streak", id: source.streakId } as const
  return "badgeId" in source
    ? ({ kind: "badge", id: source.badgeId } as const)
    : ({ kind: "quest", id: source.questId } as const)
}
