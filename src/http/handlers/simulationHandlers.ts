/** Simulated events, with the present definitions or with drafts. */
import { Effect } from "effect"
import type { Caller } from "../../accounts/Accounts.ts"
import {
  type ChangeOf,
  createCommand,
  type NewOf,
  updateCommand,
} from "../../domain/decide/Kinds.ts"
import { furtherOf } from "../../domain/message/Further.ts"
import { type EventReply, replyOf } from "../../domain/message/UserReply.ts"
import { type Amounts, plusAmountOf } from "../../domain/project/Currency.ts"
import { type Noun, prefixes } from "../../domain/project/Kinds.ts"
import { heldSegments } from "../../domain/record/ActionCount.ts"
import type { Source } from "../../domain/record/BalanceFact.ts"
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
import { goalBodies, goalReplacement, newGoal } from "./goalHandlers.ts"
import { type Bodies, meaningFaults } from "./meaningFaults.ts"
import { newMetric } from "./metricHandlers.ts"
import { newQuest, questReplacement } from "./questHandlers.ts"
import { referenceFaults } from "./referenceFaults.ts"
import { newRule, ruleReplacement } from "./ruleHandlers.ts"
import { memberOf, settingsChange, showRepeat } from "./Shapes.ts"
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
    moreFaults: draftFaults(engine),
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

/** Adds `/event` to the pointers of all faults that are not faults of a draft. */
const ofEvent = <Code extends ErrorCode>(error: LaurelError<Code>): LaurelError<Code> =>
  error.errors === undefined
    ? error
    : {
        ...error,
        errors: error.errors.map((fault) =>
          isOfDraft(fault) ? fault : below("/event", [fault])[0]!,
        ),
      }

const isOfDraft = ({ pointer }: Fault): boolean =>
  ["settings", ...tried].some((name) => pointer.startsWith(`/${name}/`))

const below = (pointer: string, faults: ReadonlyArray<Fault>): ReadonlyArray<Fault> =>
  faults.map((fault) => ({ ...fault, pointer: `${pointer}${fault.pointer}` }))

/** The kinds that a preview may try. */
type Tried = Exclude<Noun, "segment" | "leaderboard" | "league" | "experiment" | "item" | "source">

type Preview = typeof PreviewRequest.Type

/** An item changes nothing of an event. */
type Draft = DraftCommand<Exclude<DraftCommand["command"]["kind"], "createItem" | "updateItem">>

/** How a preview tries a definition: as a new one, or in the place of one that exists. */
interface Trial<N extends Tried> {
  readonly made: (body: NonNullable<Preview[N]>, id: string) => NewOf<N>
  readonly replaced?: (body: NonNullable<Preview[N]>) => ChangeOf<N>
  /** Those of a definition that is saved. Absent: faults of form hide faults of meaning. */
  readonly bodies?: Bodies
}

/** A draft may refer to those before it. */
const trials: { readonly [N in Tried]: Trial<N> } = {
  currency: { made: newCurrency, replaced: currencyReplacement },
  metric: { made: newMetric },
  streak: { made: newStreak, replaced: streakReplacement },
  badge: { made: newBadge, replaced: badgeReplacement },
  boost: { made: newBoost, replaced: boostReplacement },
  quest: { made: newQuest, replaced: questReplacement },
  rule: { made: newRule, replaced: ruleReplacement },
  goal: { made: newGoal, replaced: goalReplacement, bodies: goalBodies },
}
const tried = Object.keys(trials) as ReadonlyArray<Tried>

/** The faults that the drafts have beside those of form, as if they were saved. */
const draftFaults = (engine: Engine["Service"]) => {
  const references = referenceFaults(engine)
  const meanings = tried.map((noun) => [noun, meaningOf(engine, noun)] as const)
  return (body: unknown, caller: Caller): ReadonlyArray<Fault> =>
    meanings.flatMap(([noun, meaning]) => {
      const draft = memberOf(body, noun)
      const id = memberOf(body, `${noun}Id`)
      const find = id === undefined ? meaning?.created : meaning?.changed
      const faults = find?.(draft, caller, { id }) ?? []
      return below(`/${noun}`, [...faults, ...references(draft, caller)])
    })
}

const meaningOf = <N extends Tried>(engine: Engine["Service"], noun: N) => {
  const { bodies, made, replaced } = trials[noun]
  if (bodies === undefined || replaced === undefined) return undefined
  // A draft of a change has the whole definition too.
  const { created } = bodies.schemas
  const schemas = { created, changed: created }
  return meaningFaults(engine, noun, { made, changed: replaced }, { ...bodies, schemas })
}

const draftsOf = (preview: Preview): ReadonlyArray<Draft> => {
  const { settings } = preview
  const change = settings && settingsChange(settings)
  return [
    ...(change === undefined
      ? []
      : [{ pointer: "/settings", command: { kind: "updateSettings", change } } as const]),
    ...tried.flatMap((noun) => draftOf(preview, noun)),
  ]
}

const draftOf = <N extends Tried>(preview: Preview, noun: N): ReadonlyArray<Draft> => {
  const body = preview[noun]
  if (body === undefined || body === null) return []
  const { made, replaced } = trials[noun]
  const id = (preview as { readonly [Name in `${N}Id`]?: string })[`${noun}Id`]
  const command =
    id === undefined || replaced === undefined
      ? createCommand<Tried>(noun, made(body, `${prefixes[noun]}_draft`))
      : updateCommand<Tried>(noun, id, replaced(body))
  return [{ pointer: `/${noun}`, command: command as Draft["command"] }]
}

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
    freezes?: Amounts
    boosts?: Array<string>
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
    } else if (fact.kind === "boost.earned") {
      const gift = of(fact.source)
      gift.boosts = [...(gift.boosts ?? []), fact.key]
    } else if (fact.kind === "streak.freezes_earned") {
      const gift = of(fact.source)
      gift.freezes = plusAmountOf(gift.freezes, fact.key, fact.amount)
    } else if (fact.kind === "badge.earned") of(fact.source).badges.push(fact.badgeId)
  }
  return [...given.values()]
}

const showSource = (source: Source) => {
  if (typeof source === "string") return { kind: "criteria", id: null } as const
  if ("ruleId" in source) return { kind: "rule", id: source.ruleId } as const
  if ("streakId" in source) return { kind: "streak", id: source.streakId } as const
  if ("currencyId" in source) return { kind: "level", id: source.currencyId } as const
  if ("leagueId" in source) throw new Error("An event pays no reward of a league")
  if ("boardId" in source) throw new Error("An event pays no prize")
  if ("goalId" in source) throw new Error("An event pays no reward of a goal")
  if ("itemId" in source) throw new Error("An event buys no item")
  return "badgeId" in source
    ? ({ kind: "badge", id: source.badgeId } as const)
    : ({ kind: "quest", id: source.questId } as const)
}
