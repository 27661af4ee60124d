/**
 * Revokes events, rewards, spends and purchases.
 *
 * A revocation of an event or a reward reverses its recorded effects: xp and points, also in open
 * windows; uses of limits; what counts for the `earnLimit` of a currency; counts of steps and badges;
 * badges and personal boosts that a rule, a quest or a person gave; completions of quests; what badges paid. It then
 * revokes every badge and every tier whose number fell below the target at which it was earned, and
 * adjusts the level. A revoked spend is refunded, and the streak that it repaired is what it would be
 * without the repair. A revoked purchase is refunded first, so that what the item paid in a currency of
 * its price is taken back from the price; then what the item paid is.
 *
 * A badge pays once, and so does a level of a currency. The revocation of the record that paid takes the payment back and forgets it:
 * the badge pays again when the user earns it again. A badge that is lost because another record was
 * revoked keeps its payment, and does not pay again. A revocation never pays.
 *
 * A milestone of a streak whose payment is taken back is paid by the next event that counts for the
 * run, since its day stays kept (`Streaks.ts`).
 *
 * Freezes that the record gave are taken back as far as they are left; used ones keep the periods
 * that they covered, and are reported as `shortfall`.
 *
 * A metric is afterwards what it would be without the event (`Metrics.ts`), and so are the active days
 * (`Activity.ts`) and the start of a quest (`QuestStarts.ts`).
 *
 * A revocation also reverses the counts of a backfill, even from before the badge existed. If the
 * criteria of a revoked badge are still met and the user is in its segment, the user earns the badge
 * again at once, by its criteria.
 *
 * The remaining score has its place in a tie by the record that set it: the latest record that
 * earned xp and was not revoked.
 *
 * A revoked claim of a quest can be made again (`Quests.ts`). Contributions to shared goals are taken
 * back while the goal is open (`Goals.ts`).
 *
 * A revocation does not reverse: quests that another record completed; days of streaks and badges
 * earned by them, since other events of the day may count for it and are not counted; a cooldown
 * that the event started and the time of the latest event, since no record has the previous one;
 * closed windows.
 *
 * Each credit is taken from its own lot first, then from the newest lots (`user/Lots.ts`). If the user
 * has already spent what is to be revoked, the missing amount is reported as `shortfall` and no longer
 * counts as spent (`spentAfter`). What has expired meanwhile is reported as `expired`, and no longer
 * counts as expired: the user has lost it already.
 *
 * Invariants: no balance goes below 0, and what a user has, has spent and has lost by expiry is always
 * the sum of what was earned and not revoked, whatever the order of spends and revocations.
 */
import { Result } from "effect"
import { xpBoard } from "../project/BoardDefinition.ts"
import type { Amounts } from "../project/Currency.ts"
import {
  amountOf,
  awardName,
  compileWhere,
  isCountingBadge,
  minusAmount,
} from "../project/Definition.ts"
import type { ProjectState } from "../project/Project.ts"
import { countsFor } from "../record/ActionCount.ts"
import { afterBalances } from "../record/applyBalances.ts"
import {
  countedCredit,
  creditedCurrency,
  HistoryNeeded,
  type Past,
  rewardingRules,
} from "../record/Past.ts"
import {
  type BadgeRef,
  decidedAt,
  type Fact,
  type FactOf,
  type JournalRecord,
  type Revocable,
  type Revocation,
  spentBy,
} from "../record/Record.ts"
import { recountsOf } from "../record/United.ts"
import { levelName } from "../user/CurrencyLevel.ts"
import {
  type Holding,
  nothingExpires,
  openLotsAt,
  pendingLotsAt,
  type Taken,
  type UndoneCredit,
  withoutCredits,
} from "../user/Lots.ts"
import { balanceAt, waiting } from "../user/Refill.ts"
import {
  type Balance,
  projectZoneAt,
  type QuestState,
  spentAfter,
  stepCountOf,
  type UserState,
} from "../user/User.ts"
import { type WindowKind, windowKinds, windowMsMax } from "../values/Calendar.ts"
import { type LaurelError, laurelError } from "../values/Errors.ts"
import { assertBalance } from "../values/invariants.ts"
import { periodAt } from "../values/Periods.ts"
import { activityLeft } from "./Activity.ts"
import { revokeBadge, revokeUnearned } from "./Badges.ts"
import { openAmong, undoneScores } from "./Boards.ts"
import { revokedBoosts } from "./Boosts.ts"
import { type Decision, Draft } from "./Draft.ts"
import { furtherBalances, refillFacts } from "./FurtherBalances.ts"
import { type GoalTotals, noGoals, undoneContributions } from "./Goals.ts"
import { undoneLeagueScores } from "./Leagues.ts"
import { allOf, type MetricsLeft, metricChanged, metricsAfter, metricsLeft } from "./Metrics.ts"
import { priceRefund, summaryOf } from "./Purchases.ts"
import { type QuestStarts, questStartsLeft } from "./QuestStarts.ts"
import { questProgress } from "./Quests.ts"
import { undoneRepair } from "./Repairs.ts"
import { refundOf, settled } from "./Spending.ts"
import { undoneStreak } from "./Streaks.ts"

/** The code of a revocation that finds nothing to revoke. */
export interface RevocationRefusals {
  readonly event: "event_not_found"
  readonly reward: "reward_not_found"
  readonly spend: "spend_not_found"
  readonly purchase: "purchase_not_found"
}

/**
 * Decides a revocation. Refuses unless `found`, the user's record of this sequence, is the named
 * one and not revoked.
 */
export const decideRevocation = (
  user: UserState | undefined,
  project: ProjectState,
  command: Revocation,
  now: number,
  found: JournalRecord | undefined,
  past?: Past,
  goals: GoalTotals = noGoals,
): Result.Result<Decision, LaurelError<RevocationRefusals[Revocable]> | HistoryNeeded> => {
  if (
    user === undefined ||
    found === undefined ||
    found.sequence !== command.sequence ||
    found.at !== command.at ||
    found.cause.kind !== command.of ||
    found.facts.length === 0
  ) {
    return Result.fail(revocationNotFound(command.of))
  }
  if (found.cause.kind === "spend") {
    const facts = [
      ...refundOf(user, project, now, spentBy(found.cause), found.facts),
      ...undoneRepair(user, project, now, found),
    ]
    return Result.succeed({ cause: command, facts: settled(user, project, now, facts) })
  }
  const scores = scoresLeft(user, found, past)
  const metrics = metricsLeft(user, project, found, past)
  const activity = activityLeft(user, found, past)
  const starts = questStartsLeft(user, found, past)
  const needs = [scores, metrics, activity, starts].filter((part) => part instanceof HistoryNeeded)
  if (
    scores instanceof HistoryNeeded ||
    metrics instanceof HistoryNeeded ||
    activity instanceof HistoryNeeded ||
    starts instanceof HistoryNeeded
  ) {
    return Result.fail(allOf(needs))
  }
  const refund = priceRefund(user, project, now, found)
  const refunded = refund.length === 0 ? user : afterBalances(user, refund, now)
  const undo = new Undo(refunded, project, now, [scores, metrics, starts])
  // Backwards: a quest reopens before its steps are revoked.
  for (const fact of found.facts.toReversed()) undo.take(fact)
  undo.takeUses(found)
  undo.takeCounts(found)
  const given = undoneContributions(user, project, goals, now, found)
  const facts = [...refund, ...given, ...undo.finish(found)]
  return Result.succeed({
    cause: command,
    facts: activity === undefined ? facts : [...facts, activity],
  })
}

/**
 * The records that set the remaining scores: of all time, and of the latest window of each kind.
 */
interface ScoresLeft {
  readonly xp: number
  readonly windows: Readonly<Record<WindowKind, number>>
}

const scoresLeft = (
  { scoreSequence, windows }: UserState,
  found: JournalRecord,
  past: Past | undefined,
): ScoresLeft | HistoryNeeded => {
  const { sequence } = found
  const foundAt = decidedAt(found)
  const xpLeft = (history?: Past): number =>
    scoreSequence === sequence ? (history?.scoredBefore(sequence) ?? 0) : scoreSequence
  const windowLeft = (kind: WindowKind, history?: Past): number =>
    windows[kind].sequence === sequence
      ? (history?.scoredBefore(sequence, kind, windows[kind].index) ?? 0)
      : windows[kind].sequence
  const isLatest =
    scoreSequence === sequence || windowKinds.some((kind) => windows[kind].sequence === sequence)
  if (isLatest && past === undefined) {
    return new HistoryNeeded(
      (history, at) =>
        xpLeft(history) > 0 &&
        windowKinds.every(
          (kind) => at < foundAt - windowMsMax[kind] || windowLeft(kind, history) > 0,
        ),
    )
  }
  return {
    xp: xpLeft(past),
    windows: {
      daily: windowLeft("daily", past),
      weekly: windowLeft("weekly", past),
      monthly: windowLeft("monthly", past),
    },
  }
}

/** The refusal for an unknown or already revoked event or reward. */
export const revocationNotFound = <Of extends Revocable>(
  of: Of,
): LaurelError<RevocationRefusals[Of]> =>
  laurelError(notFound[of], `The user has no ${of} with this id, or it was already revoked.`)

const notFound: RevocationRefusals = {
  event: "event_not_found",
  reward: "reward_not_found",
  spend: "spend_not_found",
  purchase: "purchase_not_found",
}

const standingOf = ({ completedAt, expired }: QuestState) => {
  if (completedAt !== null) return "completed"
  return expired ? "expired" : "in_progress"
}

/** The state of a revocation: the amounts to revoke, and the counts and quests after it. */
class Undo {
  readonly #draft: Draft
  readonly #user: UserState
  #xp = 0
  /** The credits of points and further currencies, by key. */
  readonly #credits = new Map<string, Array<UndoneCredit>>()
  readonly #counts = new Map<string, number>()
  readonly #quests = new Map<string, QuestState>()
  /** Freezes, by the key of the streak. */
  readonly #freezes = new Map<string, number>()
  /** The revoked badges and tiers, by the name of the award. */
  readonly #revoked = new Map<string, BadgeRef>()
  /** The personal boosts that the record gave. */
  readonly #boosts: Array<FactOf<"boost.earned">> = []
  #questsCompleted: number

  readonly #scores: ScoresLeft
  readonly #metrics: MetricsLeft
  readonly #starts: QuestStarts

  constructor(
    user: UserState,
    project: ProjectState,
    now: number,
    [scores, metrics, starts]: readonly [ScoresLeft, MetricsLeft, QuestStarts],
  ) {
    this.#user = user
    this.#scores = scores
    this.#metrics = metrics
    this.#starts = starts
    this.#draft = new Draft(user.id, user, project, now)
    this.#questsCompleted = user.questsCompleted
  }

  take(fact: Fact): void {
    const counted = countedCredit(fact)
    if (counted !== undefined) this.#draft.facts.push({ kind: "currency.uncounted", ...counted })
    switch (fact.kind) {
      case "xp.earned":
        this.#xp += fact.amount
        break
      case "points.earned":
      case "currency.earned": {
        const key = creditedCurrency(fact)
        const credits = this.#credits.get(key)
        if (credits === undefined) this.#credits.set(key, [fact])
        else credits.push(fact)
        break
      }
      case "badge.earned":
        if (fact.source !== "criteria") revokeBadge(this.#draft, fact, this.#revoked)
        break
      case "boost.earned":
        this.#boosts.push(fact)
        break
      case "badge.paid":
        this.#forget(fact)
        break
      case "level.paid": {
        const { by = 0, currency, level } = fact
        const paid = (this.#user.levelsPaid.get(levelName(currency, level)) ?? 0) - by
        assertBalance(`payments of ${currency} ${level}`, paid)
        this.#draft.facts.push({ kind: "level.paid", currency, level, paid })
        break
      }
      case "quest.progressed": {
        const state = this.#quests.get(fact.questId) ?? this.#user.quests.get(fact.questId)
        if (state === undefined || state.period !== fact.period) break
        const left = minusAmount(stepCountOf(state.steps, fact.step), fact.by ?? 1)
        const { [fact.step]: _, ...others } = state.steps
        const steps = left > 0 ? { ...others, [fact.step]: left } : others
        this.#quests.set(fact.questId, { ...state, steps })
        break
      }
      case "quest.completed":
        this.#reopen(fact)
        break
      case "quest.claimed": {
        const { questId, key, title, period } = fact
        const state = this.#user.quests.get(questId)
        if (state?.period !== period || state.claim !== "paid") break
        const { alsoPaid = 0 } = state
        const claimable = state.completedAt !== null && ({ claimable: true } as const)
        const left = alsoPaid > 0 ? { alsoPaid: alsoPaid - 1 } : claimable
        const ref = { questId, key, title, period }
        this.#draft.facts.push({ kind: "quest.claim_revoked", ...ref, ...left })
        break
      }
      case "streak.freezes_earned":
        this.#freezes.set(fact.key, (this.#freezes.get(fact.key) ?? 0) + fact.amount)
        break
      case "streak.progressed":
      case "streak.milestone_reached":
        this.#draft.facts.push(...undoneStreak(this.#user, fact))
        break
    }
  }

  /**
   * Revokes the uses of rules by the record, in the periods of their present limits. Without a limit,
   * the fact has the period 0, in which nothing counts.
   */
  takeUses(found: JournalRecord): void {
    if (found.cause.kind !== "event") return
    const { facts, project } = this.#draft
    const foundAt = decidedAt(found)
    const occurredAt = Math.min(found.cause.occurredAt ?? foundAt, foundAt)
    for (const ruleId of rewardingRules(found.facts)) {
      const rule = project.rules.get(ruleId)
      const per = rule?.limit?.per
      const zone = projectZoneAt(this.#user, project, occurredAt)
      const period = per === undefined ? 0 : periodAt(per, zone, occurredAt)
      facts.push({
        kind: "rule.used",
        ruleId,
        period,
        occurredAt,
        times: -1,
        ...(rule?.countedSince !== undefined && { since: rule.countedSince }),
      })
    }
  }

  /**
   * Revokes the counts of the record for badges, as the record or a later backfill counted them.
   */
  takeCounts(found: JournalRecord): void {
    const { cause, facts, sequence } = found
    const badgeRecounts = recountsOf(this.#user, found)
    for (const fact of facts) {
      if (fact.kind !== "badge.counted") continue
      const isCovered = (badgeRecounts.get(fact.badgeId) ?? 0) >= sequence
      if (!isCovered) this.#countLess(fact.badgeId, fact.by ?? 1)
    }
    if (cause.kind !== "event") return
    for (const [badgeId, upTo] of badgeRecounts) {
      const badge = this.#draft.project.badges.get(badgeId)
      if (upTo < sequence || badge === undefined || !isCountingBadge(badge)) continue
      const { criteria } = badge
      if (!countsFor(badge, cause, found)) continue
      if (!compileWhere(criteria.where)(cause.metadata)) continue
      const amount = amountOf(criteria, cause.metadata)
      if (amount > 0) this.#countLess(badgeId, amount)
    }
  }

  #countLess(badgeId: string, amount: number): void {
    const current = minusAmount(this.#user.badgeCounts.get(badgeId) ?? 0, amount)
    this.#counts.set(badgeId, current)
    this.#draft.facts.push({ kind: "badge.counted", badgeId, current })
  }

  #reopen({
    key,
    period,
    questId,
    title,
  }: Extract<Fact, { readonly kind: "quest.completed" }>): void {
    const state = this.#user.quests.get(questId)
    if (state === undefined || state.times === 0) return
    this.#questsCompleted--
    const times = state.times - 1
    if (state.period === period && state.completedAt !== null) {
      const { also = 0, ...others } = state
      const left =
        also === 0
          ? { ...others, completedAt: null }
          : also === 1
            ? others
            : { ...others, also: also - 1 }
      this.#quests.set(questId, { ...left, times })
    } else {
      // The user is in a later period, so only the number of completions changes.
      this.#draft.facts.push({
        kind: "quest.reverted",
        questId,
        key,
        title,
        period,
        from: "completed",
        to: "not_started",
        progress: 0,
        steps: {},
        times,
      })
    }
  }

  /** The badge may pay again: the record takes back the amounts that it paid. */
  #forget({ badgeId, by = 0, tier }: FactOf<"badge.paid">): void {
    const before = this.#user.badgesPaid.get(awardName(badgeId, tier)) ?? 0
    const paid = before - by
    assertBalance(`payments of ${badgeId}`, paid)
    const of = tier === undefined ? undefined : { tier }
    this.#draft.facts.push({ kind: "badge.paid", badgeId, ...of, paid })
  }

  /** Completes the revocation and returns all of its facts. */
  finish(found: JournalRecord): ReadonlyArray<Fact> {
    const { facts } = this.#draft
    facts.push(...this.#metrics.map(metricChanged))
    facts.push(...revokedBoosts(this.#user, this.#boosts))
    for (const [questId, state] of this.#quests) facts.push(this.#reverted(questId, state))
    const xp = Math.min(this.#xp, this.#user.xp)
    const total = { xp: this.#user.xp - xp }
    assertBalance("xp", total.xp)
    if (xp > 0) {
      const { xp: scoreSequence } = this.#scores
      facts.push({ kind: "xp.revoked", amount: xp, total: total.xp, scoreSequence })
    }
    if (xp > 0) this.#debitWindows(found, xp)
    facts.push(...undoneScores(this.#user, this.#draft.project, this.#draft.now, found))
    facts.push(...undoneLeagueScores(this.#user, this.#draft.project, this.#draft.now, found))
    const { after, balances, expired, missing } = this.#takeCredits()
    revokeUnearned(this.#draft, { ...after, ...total }, this.#revoked)
    const from = this.#draft.levelOf(this.#user.xp)
    const level = this.#draft.levelOf(total.xp)
    if (level !== from) facts.push({ kind: "level.changed", from, to: level })
    const { points = 0, ...currencies } = missing
    const freezes = this.#takeFreezes()
    const further = {
      ...(Object.keys(currencies).length > 0 && { currencies }),
      ...(freezes !== undefined && { freezes }),
    }
    facts.push({
      ...summaryOf(found),
      ...total,
      points: after.points,
      level,
      ...(balances !== undefined && { balances }),
      shortfall: { xp: this.#xp - xp, points, ...further },
      ...(Object.keys(expired).length > 0 && { expired }),
    })
    return facts
  }

  /**
   * Takes back the credits: the user after it, without further currencies, the balances of these, and
   * what is missing or had expired.
   */
  #takeCredits(): {
    readonly after: UserState
    readonly balances: Amounts | undefined
    readonly missing: Amounts
    readonly expired: Amounts
  } {
    const { facts, now, project } = this.#draft
    const user = this.#user
    const left = new Map<string, number>()
    const missing: Array<readonly [string, number]> = []
    const expired: Array<readonly [string, number]> = []
    const expiring = new Map(user.expiring)
    let { points, pointsSpent } = user
    for (const [key, credits] of this.#credits) {
      const present = balanceAt(user, project, key, now)
      const taken = withoutCredits(this.#holding(key, present), credits)
      const { amount, balance: total } = taken
      const spent = spentAfter(present.spent, taken.missing)
      assertBalance(key, total)
      assertBalance(`spent ${key}`, spent)
      if (key === "points") [points, pointsSpent] = [total, spent]
      else left.set(key, total)
      if (amount > 0) {
        facts.push(
          ...refillFacts(key, present),
          key === "points"
            ? { kind: "points.revoked", amount, total }
            : { kind: "currency.revoked", currency: key, amount, total, ...waiting(present) },
        )
      }
      this.#setLots(key, taken)
      expiring.set(key, taken)
      if (taken.missing > 0) missing.push([key, taken.missing])
      if (taken.lost > 0) expired.push([key, taken.lost])
    }
    return {
      after: { ...user, ...this.#countsAfter(), points, pointsSpent, expiring },
      balances: furtherBalances(user, project, now, left),
      missing: Object.fromEntries(missing),
      expired: Object.fromEntries(expired),
    }
  }

  /** Takes freezes back: the missing ones, by streak. */
  #takeFreezes(): Amounts | undefined {
    const missing = [...this.#freezes].flatMap(([key, given]) => {
      const left = given - this.#draft.takeFreezes(key, given)
      return left > 0 ? [[key, left] as const] : []
    })
    return missing.length > 0 ? Object.fromEntries(missing) : undefined
  }

  /** Counts and metrics after the undo. */
  #countsAfter(): Pick<UserState, "badgeCounts" | "questsCompleted" | "metrics"> {
    return {
      badgeCounts: new Map([...this.#user.badgeCounts, ...this.#counts]),
      questsCompleted: this.#questsCompleted,
      metrics: metricsAfter(this.#user, this.#metrics),
    }
  }

  #holding(key: string, { amount, spent }: Balance): Holding {
    const { now } = this.#draft
    return {
      balance: amount,
      spent,
      pending: pendingLotsAt(this.#user, key, now),
      open: openLotsAt(this.#user, key, now),
      expired: (this.#user.expiring.get(key) ?? nothingExpires).expired,
    }
  }

  /** Records the lots after the undo, if the user had any. */
  #setLots(currency: string, { expired, open, pending }: Taken): void {
    const { expiring, pending: waiting } = this.#user
    if (!expiring.has(currency) && !waiting.has(currency)) return
    this.#draft.facts.push({ kind: "currency.lots", currency, pending, open, expired })
  }

  #reverted(questId: string, state: QuestState): Fact {
    const { also, period, steps, times } = state
    const quest = this.#draft.project.quests.get(questId)
    const done = quest === undefined ? 0 : questProgress(quest, steps)
    const isBegun = Object.keys(steps).length > 0 || state.joined === true
    const to = isBegun ? standingOf(state) : "not_started"
    const startedAt = this.#starts.get(questId)
    return {
      kind: "quest.reverted",
      questId,
      key: quest?.key ?? questId,
      title: quest?.title ?? questId,
      period,
      from: standingOf(this.#user.quests.get(questId)!),
      to: state.completedAt === null ? to : "completed",
      progress: state.completedAt === null ? done : 1,
      steps,
      times,
      ...(also !== undefined && { also }),
      ...(startedAt !== undefined && { startedAt }),
    }
  }

  #debitWindows(found: JournalRecord, amount: number): void {
    const credit = found.facts.find((fact) => fact.kind === "windows.credited")
    if (credit === undefined) return
    const { now, project } = this.#draft
    const debit = openAmong(credit, this.#user.windows, xpBoard, project, now)
    if (Object.keys(debit).length > 0) {
      const sequences = this.#scores.windows
      this.#draft.facts.push({ kind: "windows.credited", amount: -amount, ...debit, sequences })
    }
  }
}
