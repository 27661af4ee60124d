/**
 * The part of a user's history that a decision may need and the state does not have: the rewards of
 * rules, the credits of currencies with an `earnLimit`, the records that set scores, the days of
 * events, the records that counted for quests, and the events that metrics counted. A revoked record no longer counts, except that its rewards still start
 * cooldowns.
 *
 * The reader adds each of the user's records once, in any order.
 */
import type { CountedEvent } from "../user/MetricState.ts"
import { type WindowKind, windowKinds } from "../values/Calendar.ts"
import { eventDayOf, gaveAt } from "./EventDay.ts"
import { type BackfilledMetric, countedEvent, hasFactOf, occurredAtOf } from "./MetricRecount.ts"
import { decidedAt, type Fact, type FactOf, type JournalRecord, type QuestRef } from "./Record.ts"

/** The failure of a decision that needs more of the user's history. */
export class HistoryNeeded {
  /** Whether the user's records decided since `at`, which `past` has, are enough. */
  readonly isMet: (past: Past, at: number) => boolean
  /** The metrics that the history counts also where records have no fact of them. */
  readonly backfilled: ReadonlyArray<BackfilledMetric>

  constructor(
    isMet: (past: Past, at: number) => boolean,
    backfilled: ReadonlyArray<BackfilledMetric> = [],
  ) {
    this.isMet = isMet
    this.backfilled = backfilled
  }
}

/** A reward of a rule. */
interface PastUse {
  readonly sequence: number
  readonly occurredAt: number
}

/** A record that set the user's xp, and the indexes of the windows that it counted for. */
interface PastScore {
  readonly sequence: number
  readonly windows: { readonly [Kind in WindowKind]?: number }
}

/** A credit that counts for the `earnLimit` of its currency. */
interface PastCredit {
  readonly sequence: number
  readonly currency: string
  readonly period: number
  readonly amount: number
}

/** An event that a metric counted. */
export interface PastCount extends CountedEvent {
  readonly sequence: number
}

/** An event, and its local day. */
interface PastDay {
  readonly sequence: number
  readonly day: number
}

/** A record that counted for a period of a quest. `at`: the start of the quest, if the record started it. */
interface PastStep {
  readonly sequence: number
  readonly userId: string
  readonly at: number
}

export type QuestPeriod = Pick<QuestRef, "period" | "questId">

/** The name of a period of a quest, in maps. */
export const questKey = ({ period, questId }: QuestPeriod): string => `${questId}/${period}`

export class Past {
  /** How many records it has, and the time of the decision of the last one. */
  records = 0
  since = Number.POSITIVE_INFINITY
  readonly #counts = new Map<string, Array<PastCount>>()
  readonly #uses = new Map<string, Array<PastUse>>()
  readonly #scores: Array<PastScore> = []
  readonly #days: Array<PastDay> = []
  readonly #credits: Array<PastCredit> = []
  /** By `questKey`. */
  readonly #steps = new Map<string, Array<PastStep>>()
  readonly #revoked = new Set<number>()
  readonly #backfilled: ReadonlyArray<BackfilledMetric>

  constructor(backfilled: ReadonlyArray<BackfilledMetric> = []) {
    this.#backfilled = backfilled
  }

  add(record: JournalRecord): void {
    const { cause, facts, sequence } = record
    this.records++
    this.since = decidedAt(record)
    if (cause.kind === "revocation" && facts.length > 0) this.#revoked.add(cause.sequence)
    let earned = false
    let windows: PastScore["windows"] = {}
    for (const fact of facts) {
      if (fact.kind === "xp.earned" || (fact.kind === "user.opened" && fact.xp > 0)) earned = true
      if (fact.kind === "windows.credited") windows = fact
      if (fact.kind === "user.merged") {
        earned ||= Object.hasOwn(fact.gained, "xp")
        windows = scoredWindows(fact)
      }
      const credit = countedCredit(fact)
      if (credit !== undefined) this.#credits.push({ sequence, ...credit })
      if (fact.kind === "metric.changed")
        this.#count(fact.metricId, countedEvent(fact, record), sequence)
    }
    this.#addSteps(record)
    for (const { eventOf, metric } of this.#backfilled) {
      if (!hasFactOf(record, metric.id)) this.#count(metric.id, eventOf(record), sequence)
    }
    if (earned) this.#scores.push({ sequence, windows })
    if (cause.kind !== "event") return
    const day = eventDayOf(record)
    if (day !== undefined) this.#days.push({ sequence, day })
    const occurredAt = occurredAtOf(record)
    for (const ruleId of rewardingRules(facts)) {
      const uses = this.#uses.get(ruleId)
      if (uses === undefined) this.#uses.set(ruleId, [{ sequence, occurredAt }])
      else uses.push({ sequence, occurredAt })
    }
  }

  #addSteps(record: JournalRecord): void {
    const { facts, sequence, subject } = record
    if (subject.actor !== "user") return
    const names = new Set<string>()
    for (const fact of facts) {
      if (
        fact.kind === "quest.started" ||
        fact.kind === "quest.progressed" ||
        fact.kind === "quest.completed"
      ) {
        names.add(questKey(fact))
      }
    }
    for (const name of names) {
      const step = { sequence, userId: subject.userId, at: gaveAt(record) }
      const steps = this.#steps.get(name)
      if (steps === undefined) this.#steps.set(name, [step])
      else steps.push(step)
    }
  }

  #count(metricId: string, event: CountedEvent | undefined, sequence: number): void {
    if (event === undefined) return
    const counts = this.#counts.get(metricId)
    if (counts === undefined) this.#counts.set(metricId, [{ ...event, sequence }])
    else counts.push({ ...event, sequence })
  }

  /** The events that the metric counted, in the order in which they were added, revoked ones too. */
  countsOf(metricId: string): ReadonlyArray<PastCount> {
    return this.#counts.get(metricId) ?? []
  }

  /** The records that counted for a period of a quest, revoked ones included. */
  stepsOf(quest: QuestPeriod): ReadonlyArray<PastStep> {
    return this.#steps.get(questKey(quest)) ?? []
  }

  isRevoked(sequence: number): boolean {
    return this.#revoked.has(sequence)
  }

  /** The days of events, in the order in which they were added, revoked ones included. */
  get days(): ReadonlyArray<PastDay> {
    return this.#days
  }

  /** The times of the events that the rule rewarded, revoked ones included. */
  usesOf(ruleId: string): ReadonlyArray<number> {
    return (this.#uses.get(ruleId) ?? []).map(({ occurredAt }) => occurredAt)
  }

  /** The times of the events that the rule rewarded and that were not revoked. */
  standingUsesOf(ruleId: string): ReadonlyArray<number> {
    const uses = this.#uses.get(ruleId) ?? []
    return uses
      .filter(({ sequence }) => !this.#revoked.has(sequence))
      .map(({ occurredAt }) => occurredAt)
  }

  /** What was credited of a currency in a period of its `earnLimit`, and not revoked. */
  creditedIn(currency: string, period: number): number {
    let total = 0
    for (const credit of this.#credits) {
      const isOfPeriod = credit.currency === currency && credit.period === period
      if (isOfPeriod && !this.#revoked.has(credit.sequence)) total += credit.amount
    }
    return total
  }

  /**
   * The latest record before `before` that earned xp and was not revoked; with `kind`, in its
   * window `index`. 0: none.
   */
  scoredBefore(before: number, kind?: WindowKind, index?: number): number {
    let latest = 0
    for (const { sequence, windows } of this.#scores) {
      if (sequence >= before || sequence < latest || this.#revoked.has(sequence)) continue
      if (kind === undefined || windows[kind] === index) latest = sequence
    }
    return latest
  }
}

/** The latest windows whose scores the record of a merge set. */
const scoredWindows = ({ windows }: FactOf<"user.merged">): PastScore["windows"] =>
  Object.fromEntries(
    windowKinds.flatMap((kind) => {
      const [latest] = windows[kind]
      return latest?.sequence === 0 ? [[kind, latest.index]] : []
    }),
  )

/** The rules that gave the rewards of a record. */
export const rewardingRules = (facts: ReadonlyArray<Fact>): ReadonlySet<string> => {
  const rules = new Set<string>()
  for (const fact of facts) {
    const ruleId = rewardingRule(fact)
    if (ruleId !== undefined) rules.add(ruleId)
  }
  return rules
}

/** The rule that gave the reward of a fact. */
export const rewardingRule = (fact: Fact): string | undefined => {
  switch (fact.kind) {
    case "rule.used":
      return fact.times > 0 ? fact.ruleId : undefined
    case "xp.earned":
    case "points.earned":
    case "currency.earned":
    case "currency.capped":
    case "badge.earned":
    case "boost.earned":
    case "streak.freezes_earned":
    case "streak.freezes_capped":
      return typeof fact.source === "object" && "ruleId" in fact.source
        ? fact.source.ruleId
        : undefined
    default:
      return undefined
  }
}

/** The credit of a fact that counts for the `earnLimit` of its currency; `undefined`: it has none. */
export const countedCredit = (fact: Fact) => {
  if (!isCredit(fact) || fact.period === undefined) return undefined
  const { amount, period } = fact
  return { currency: creditedCurrency(fact), period, amount }
}

type Credit = FactOf<"xp.earned" | "points.earned" | "currency.earned">

/** Whether the fact credits a currency. */
export const isCredit = (fact: Fact): fact is Credit =>
  fact.kind === "xp.earned" || fact.kind === "points.earned" || fact.kind === "currency.earned"

/** The key of the currency that a fact credits. */
export const creditedCurrency = (fact: Credit): string =>
  fact.kind === "currency.earned" ? fact.currency : fact.kind === "xp.earned" ? "xp" : "points"
