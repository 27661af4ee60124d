/**
 * A decision in progress: the facts so far, and the balances after them. The files of rules,
 * quests, streaks and badges add their facts to the draft; `Decide.ts` defines the order.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { type ActionIndex, actionIndexOf } from "../project/ActionIndex.ts"
import { addsUp } from "../project/BoardDefinition.ts"
import type { RunningBoosts } from "../project/Boost.ts"
import { type Amounts, activeCurrency, type Currency } from "../project/Currency.ts"
import {
  type Award,
  awardName,
  awardsOf,
  type Badge,
  type Gives,
  givesNothing,
  hasAmounts,
  paysAt,
} from "../project/Definition.ts"
import { levelAt } from "../project/Level.ts"
import { amountTowards, type Metric } from "../project/Metric.ts"
import { multiplied } from "../project/multiplied.ts"
import type { ProjectState } from "../project/Project.ts"
import type { CapReason, Source } from "../record/BalanceFact.ts"
import { backfilledMetrics } from "../record/MetricRecount.ts"
import { HistoryNeeded, type Past } from "../record/Past.ts"
import type { Cause, Fact, FactOf } from "../record/Record.ts"
import { endsBefore, lastDayOf } from "../user/Expiry.ts"
import { Membership } from "../user/Membership.ts"
import type { MetricState } from "../user/MetricState.ts"
import { balanceAt, waiting } from "../user/Refill.ts"
import type { StreakState } from "../user/Streak.ts"
import { userDayAt } from "../user/StreakPeriods.ts"
import {
  balanceOf,
  expiredOf,
  hasAward,
  projectZoneAt,
  timesOf,
  type UserState,
  userZoneAt,
  userZones,
} from "../user/User.ts"
import { type Zone, zoneOf } from "../values/Calendar.ts"
import { type LaurelError, laurelError } from "../values/Errors.ts"
import { assertBalance } from "../values/invariants.ts"
import { beforePeriod, countIn, type Period, periodAt } from "../values/Periods.ts"
import { creditBoards, creditWindows } from "./Boards.ts"
import { boostsFor, givableBoost, giveBoost } from "./Boosts.ts"
import { exposures } from "./Experiments.ts"
import { givenFreezes, takenFreezes } from "./Freezes.ts"
import { furtherBalances, refillFacts } from "./FurtherBalances.ts"
import { creditGoals, type GoalTotals, noGoals } from "./Goals.ts"
import { creditLeagues, type LeagueSeats, noSeats } from "./Leagues.ts"

export interface Decision {
  readonly cause: Cause
  readonly facts: ReadonlyArray<Fact>
}

type Summary = "event.tracked" | "reward.granted"

/** A metric that the event counted for: the scaled value that it added, and the state after it. */
interface Measured {
  readonly metric: Metric
  readonly added: number
  readonly state: MetricState
}

/** The member of a fact that names the user's record of its kind before it; `last` 0: there is none. */
export const behind = (last = 0): { readonly before: number } | undefined =>
  last === 0 ? undefined : { before: last }

export class Draft {
  readonly facts: Array<Fact> = []
  readonly user: UserState | undefined
  readonly project: ProjectState
  readonly index: ActionIndex
  /** The time of the decision, epoch milliseconds. */
  readonly now: number
  /** The time of the event, at most `now`. */
  readonly occurredAt: number
  /** The time zone of the project's days: `zone` now, `eventZone` when the event occurred. */
  readonly zone: Zone
  readonly eventZone: Zone
  /** The segments of the user before the command, but for the variants that it exposes the user to. */
  membership: Membership
  /** The places of leagues; a decision that scores in none needs none. */
  readonly seats: LeagueSeats
  /** The totals of shared goals; a decision that contributes to none needs none. */
  readonly goals: GoalTotals
  readonly #past: Past | undefined
  #boosts: RunningBoosts | undefined
  /** The earliest time from which the decision needs the user's history. */
  #recalledSince: number | undefined
  xp: number
  points: number
  /** The balances of further currencies that this decision changed, by key. */
  #balances: Map<string, number> | undefined
  /** What this decision credited of currencies with an `earnLimit`, all in one period. */
  #credited: Map<string, number> | undefined
  questsCompleted: number
  /** The metrics that the event counted for, by key. */
  metrics: Map<string, Measured> | undefined
  /** Quests completed by this decision. */
  completed: Set<string> | undefined
  /** What quests and milestones pay once the event has counted for all (`payDue`). */
  #due: Array<readonly [gives: Gives, source: Source]> | undefined
  /** The awards that the event reached by then, and how often. */
  #reached: Array<readonly [award: Award, times: number]> | undefined
  /** Freezes to give once the streaks are extended (`settle`). */
  #freezes:
    | Array<{ readonly key: string; readonly amount: number; readonly source: Source }>
    | undefined
  /** The streaks that this decision changed, by key. */
  #streaks: Map<string, StreakState> | undefined
  /** Ids of badges and names of awards (`awardName`) that this decision gave. */
  #given: Set<string> | undefined

  constructor(
    userId: string,
    user: UserState | undefined,
    project: ProjectState,
    now: number,
    occurredAt: number = now,
    past?: Past,
    seats: LeagueSeats = noSeats,
    goals: GoalTotals = noGoals,
  ) {
    this.membership = new Membership({ userId, user, project, now })
    this.user = user
    this.project = project
    this.now = now
    this.occurredAt = Math.min(occurredAt, now)
    this.index = actionIndexOf(project, now, this.occurredAt)
    this.zone = zoneOf(project.settings.timezone)
    this.eventZone =
      this.occurredAt === now ? this.zone : projectZoneAt(user, project, this.occurredAt)
    this.#past = past
    this.seats = seats
    this.goals = goals
    this.xp = user?.xp ?? 0
    this.points = user?.points ?? 0
    this.questsCompleted = user?.questsCompleted ?? 0
    if (user === undefined) this.facts.push({ kind: "user.created" })
  }

  /**
   * The user's history since `since`. `undefined`: the decision must be made again with the history
   * (`needed`).
   */
  recall(since: number): Past | undefined {
    if (this.#past === undefined) {
      this.#recalledSince = Math.min(since, this.#recalledSince ?? since)
    }
    return this.#past
  }

  /** The history that the decision lacks, if any. */
  get needed(): HistoryNeeded | undefined {
    const since = this.#recalledSince
    return since === undefined
      ? undefined
      : new HistoryNeeded((_, at) => at < since, backfilledMetrics(this.user, this.project))
  }

  /** The local day of the project on which the event occurred. */
  get day(): number {
    return this.eventZone.dayAt(this.occurredAt)
  }

  levelOf(xp: number): number {
    return levelAt(this.project.settings.levelCurve, xp)
  }

  /** The boosts for the user that ran when the event occurred. */
  get boosts(): RunningBoosts {
    this.#boosts ??= boostsFor(this)
    return this.#boosts
  }

  earn(gives: Gives, source: Source): void {
    this.credit("xp", gives.xp, source)
    this.credit("points", gives.points, source)
    if (gives.currencies !== undefined) {
      for (const key in gives.currencies) this.credit(key, gives.currencies[key]!, source)
    }
    if (gives.freezes !== undefined) {
      for (const [key, amount] of Object.entries(gives.freezes)) {
        this.#freezes ??= []
        this.#freezes.push({ key, amount, source })
      }
    }
    if (gives.badgeId !== null) this.giveBadge(gives.badgeId, source)
    if (gives.boost !== undefined) giveBoost(this, gives.boost, source)
  }

  /** A quest or a milestone pays once the event has counted for all. */
  owe(gives: Gives, source: Source): void {
    this.#due ??= []
    this.#due.push([gives, source])
  }

  /** An award is given once the event has counted for all. */
  reach(award: Award, times = 1): void {
    this.#reached ??= []
    this.#reached.push([award, times])
  }

  /** Pays quests, then milestones, then the awards that the event reached. */
  payDue(): void {
    const due = this.#due
    if (due !== undefined) {
      for (const [gives, source] of due) if (isQuest(source)) this.earn(gives, source)
      for (const [gives, source] of due) if (!isQuest(source)) this.earn(gives, source)
    }
    if (this.#reached === undefined) return
    for (const [award, times] of this.#reached) this.award(award, times)
  }

  /** Gives what `earn` kept for the end: the streaks are extended by then. */
  giveFreezes(): void {
    if (this.#freezes === undefined) return
    for (const { amount, key, source } of this.#freezes) {
      const { facts, streak } = givenFreezes(this.#holderOf(key), key, amount, source)
      this.facts.push(...facts)
      if (streak !== undefined) this.setStreak(key, streak)
    }
  }

  /** Takes freezes back; returns how many. */
  takeFreezes(key: string, asked: number): number {
    const { amount, facts, streak } = takenFreezes(this.#holderOf(key), key, asked)
    this.facts.push(...facts)
    if (streak !== undefined) this.setStreak(key, streak)
    return amount
  }

  #holderOf(key: string) {
    return { now: this.now, project: this.project, user: this.user, streak: this.streakOf(key) }
  }

  /** The streak after the facts so far, but for its milestones. */
  streakOf(key: string): StreakState | undefined {
    return this.#streaks?.get(key) ?? this.user?.streaks.get(key)
  }

  /** Notes the streak after the facts so far. */
  setStreak(key: string, streak: StreakState): void {
    this.#streaks ??= new Map()
    this.#streaks.set(key, streak)
  }

  /**
   * Credits what a rule, a quest or a reward gives, the only way in which a balance grows but for
   * refunds. The facts have the amount that the user gets, which an undo takes back, and the amount
   * that was cut.
   */
  credit(key: string, asked: number, source: Source): void {
    if (asked === 0) return
    const currency = activeCurrency(this.project.currencies, key)
    if (currency === undefined) return
    const period = this.#earnPeriod(currency)
    const amount = this.#uncapped(currency, asked, period, source)
    if (amount === 0) return
    if (period !== undefined) this.#count(key, amount)
    const total = this.balance(key) + amount
    const fact =
      key === "xp"
        ? ({ kind: "xp.earned", amount, total, source } as const)
        : key === "points"
          ? ({ kind: "points.earned", amount, total, source } as const)
          : this.#earnedFurther(key, amount, total, source)
    if (key === "xp") this.xp = total
    else if (key === "points") this.points = total
    // Only rules and quests have boosts.
    const hasBoosts = isQuest(source) || (typeof source === "object" && "ruleId" in source)
    const boosts = hasBoosts ? this.boosts.appliedTo(key) : undefined
    const lot = this.#lotOf(currency)
    this.facts.push(
      // Usually there is nothing more, and a literal is faster than a spread.
      boosts === undefined && period === undefined && lot === undefined
        ? fact
        : {
            ...fact,
            ...(boosts !== undefined && { boosts }),
            ...(period !== undefined && { period: period.number }),
            ...lot,
          },
    )
  }

  /** When a credit becomes spendable and its last day; `undefined`: at once, and it has none. */
  #lotOf(currency: Currency): Pick<FactOf<"points.earned">, "spendableAt" | "lastDay"> | undefined {
    const { expiry, pendingDays } = currency
    if (expiry === null && pendingDays === null) return undefined
    const { now, occurredAt, project, user } = this
    const zones = userZones(user, project)
    const day = userDayAt(zones, occurredAt)
    const zone = userZoneAt(user, project, occurredAt)
    const spendableAt = zone.startOfDay(zone.dayAt(occurredAt) + (pendingDays ?? 0))
    const lastDay = lastDayOf(currency, {
      day,
      today: userDayAt(zones, now),
      active: userDayAt(zones, user?.lastEventAt ?? 0),
    })
    return {
      ...(pendingDays !== null && spendableAt > now && { spendableAt }),
      ...(lastDay !== undefined && { lastDay }),
    }
  }

  /** The command is a contact: the user enters the experiments that run (`Experiments.ts`). */
  enterExperiments(): void {
    const { person } = this.membership
    const facts = exposures(person, this.membership)
    if (facts.length === 0) return
    this.facts.push(...facts)
    const exposed = new Map(facts.map(({ experimentId, variant }) => [experimentId, variant]))
    this.membership = new Membership({ ...person, exposed })
  }

  /** An event keeps the lots of currencies with `inactivityDays`. */
  keepLots(): void {
    const { now, occurredAt, project, user } = this
    if (user === undefined || (user.expiring.size === 0 && user.pending.size === 0)) return
    const zones = userZones(user, project)
    for (const { expiry, key, set } of project.currencies.values()) {
      if (set !== "published" || expiry === null || !("inactivityDays" in expiry)) continue
      const lastDay = userDayAt(zones, occurredAt) + expiry.inactivityDays
      if (endsBefore(user, key, now, lastDay)) {
        this.facts.push({ kind: "currency.kept", currency: key, lastDay })
      }
    }
  }

  /** The fact of a credit of a further currency, behind that of what the balance was refilled by. */
  #earnedFurther(currency: string, amount: number, total: number, source: Source) {
    const present = balanceAt(this.user, this.project, currency, this.now)
    this.#balances ??= new Map()
    if (!this.#balances.has(currency)) this.facts.push(...refillFacts(currency, present))
    this.#balances.set(currency, total)
    const kind = "currency.earned"
    return { kind, currency, amount, total, source, ...waiting(present) } as const
  }

  /** The part of `asked` that `earnLimit` and then `max` leave; facts have the rest. */
  #uncapped(
    { earnLimit, key, max }: Currency,
    asked: number,
    period: Period | undefined,
    source: Source,
  ): number {
    let amount = asked
    if (earnLimit !== null && period !== undefined) {
      const room = earnLimit.amount - this.#earnedIn(key, period)
      amount = this.#cut(key, amount, room, "earnLimit", source)
    }
    return max === null ? amount : this.#cut(key, amount, max - this.balance(key), "max", source)
  }

  #cut(currency: string, amount: number, room: number, by: CapReason, source: Source): number {
    const left = Math.min(amount, Math.max(0, room))
    if (left < amount) {
      this.facts.push({ kind: "currency.capped", currency, amount: amount - left, by, source })
    }
    return left
  }

  /** The period of the currency's `earnLimit` in which a credit of this decision counts. */
  #earnPeriod({ earnLimit }: Currency): Period | undefined {
    if (earnLimit === null) return undefined
    const { per } = earnLimit
    const zone = userZoneAt(this.user, this.project, this.occurredAt)
    return { per, number: periodAt(per, zone, this.occurredAt) }
  }

  /** What the user was credited of a currency in a period, by this decision too. */
  #earnedIn(key: string, period: Period): number {
    const now = this.#credited?.get(key) ?? 0
    const counts = this.user?.earnings.get(key) ?? []
    const known = countIn(counts, period.number)
    if (known !== undefined) return known + now
    const isDropped = counts.length >= limits.earnPeriodsMax && period.number < counts[0]![0]
    if (!isDropped) return now
    return now + (this.recall(beforePeriod(period))?.creditedIn(key, period.number) ?? 0)
  }

  #count(key: string, amount: number): void {
    this.#credited ??= new Map()
    this.#credited.set(key, (this.#credited.get(key) ?? 0) + amount)
  }

  /** The balance after the facts so far. */
  balance(key: string): number {
    if (key === "xp") return this.xp
    if (key === "points") return this.points
    return this.#balances?.get(key) ?? balanceAt(this.user, this.project, key, this.now).amount
  }

  /** What the event adds to a step or a need by the metric with this key. */
  towards(metric: string, target: number): number {
    const measured = this.metrics?.get(metric)
    return measured === undefined ? 0 : amountTowards(measured.metric, measured.added, target)
  }

  hasBadge(badgeId: string): boolean {
    return this.user?.badges.has(badgeId) === true || this.#given?.has(badgeId) === true
  }

  /** What this decision has credited of a currency without a refill. */
  gained(key: string): number {
    if (key === "xp") return this.xp - (this.user?.xp ?? 0)
    if (key === "points") return this.points - (this.user?.points ?? 0)
    const balance = this.#balances?.get(key)
    return balance === undefined ? 0 : balance - balanceOf(this.user, key).amount
  }

  /** What this decision has added to a metric, scaled; 0 for one that neither counts nor sums. */
  measured(key: string): number {
    const measured = this.metrics?.get(key)
    return measured !== undefined && addsUp(measured.metric.aggregate) ? measured.added : 0
  }

  /** Whether `earn` would give anything. */
  canEarn({ badgeId, boost, currencies, freezes, points, xp }: Gives): boolean {
    if (xp > 0 || points > 0) return true
    if (boost !== undefined && givableBoost(this, boost) !== undefined) return true
    if (badgeId !== null && this.#givable(badgeId) !== undefined) return true
    return hasAmounts(currencies) || hasAmounts(freezes)
  }

  /** The badge, if it pays at the time of the event and the user does not have it. */
  #givable(badgeId: string): Badge | undefined {
    const badge = this.project.badges.get(badgeId)
    if (badge === undefined || badge.repeatable) return undefined
    return paysAt(badge, this.occurredAt) && !this.hasBadge(badgeId) ? badge : undefined
  }

  /** Gives a badge, in its lowest tier, if it is givable. */
  giveBadge(badgeId: string, source: Source): void {
    const badge = this.#givable(badgeId)
    if (badge !== undefined) this.#give(awardsOf(badge)[0], source)
  }

  /**
   * Gives an award whose criteria are met, to members of the badge's segment who do not have it, if
   * the badge pays at the time of the event. `times`: how often the number reached the target of a
   * repeatable badge, which the user may have.
   */
  award(award: Award, times = 1): void {
    const { badge, tier } = award
    if (!paysAt(badge, this.occurredAt)) return
    if (badge.repeatable) {
      if (this.membership.has(badge.segment)) this.#repeat(award, times)
      return
    }
    if (this.#given?.has(awardName(badge.id, tier?.key)) === true) return
    if (this.user !== undefined && hasAward(this.user, award)) return
    if (this.membership.has(badge.segment)) this.#give(award, "criteria", award.target)
  }

  /** `target`: set if the criteria of the badge are met. */
  #give({ badge, tier }: Award, source: Source, target?: number): void {
    const { id: badgeId, key, name } = badge
    const award = awardName(badgeId, tier?.key)
    const isFirst = !this.hasBadge(badgeId)
    this.#given ??= new Set()
    this.#given.add(badgeId)
    this.#given.add(award)
    this.facts.push({
      kind: "badge.earned",
      badgeId,
      key,
      name,
      source,
      ...(tier !== undefined && { tier: { key: tier.key, name: tier.name } }),
      ...(target !== undefined && { target }),
      ...(isFirst && { first: true }),
    })
    const reward = tier?.reward ?? badge.reward
    if (givesNothing(reward) || this.user?.badgesPaid.has(award) === true) return
    const of = tier === undefined ? undefined : { tier: tier.key }
    this.facts.push({ kind: "badge.paid", badgeId, ...of, paid: 1, by: 1 })
    this.earn(reward, { badgeId })
  }

  /**
   * Gives a repeatable badge `by` more times. The payments are counted even if they give nothing, so
   * that no repetition that was lost and earned again pays twice, also after an edit.
   */
  #repeat({ badge, target }: Award, by: number): void {
    const { id: badgeId, key, name, reward } = badge
    const before = timesOf(this.user, badge)
    const times = Math.min(limits.badgeTimesMax, before + by)
    if (times === before) return
    this.#given ??= new Set()
    this.#given.add(badgeId)
    const first = before === 0 && ({ first: true } as const)
    const ref = { badgeId, key, name, source: "criteria" } as const
    this.facts.push({ kind: "badge.earned", ...ref, target, times, ...first })
    const paid = this.user?.badgesPaid.get(badgeId) ?? 0
    const due = Math.min(times - before, times - paid)
    if (due <= 0) return
    this.facts.push({ kind: "badge.paid", badgeId, paid: paid + due, by: due })
    if (!givesNothing(reward)) this.earn(multiplied(reward, due), { badgeId })
  }

  /**
   * The refusal of a balance above the maximum. A sum of two safe integers is exact, or too large.
   */
  overflow(): LaurelError<"balance_overflow"> | undefined {
    // Spent amounts count, since a refund may return them, and so do all that count as earned.
    const exceeds = (key: string) =>
      this.balance(key) + balanceOf(this.user, key).spent + this.#expired(key) > limits.balanceMax
    const name = exceeds("xp") ? "xp" : exceeds("points") ? "points" : this.#changedBalance(exceeds)
    return name === undefined
      ? undefined
      : laurelError(
          "balance_overflow",
          `${name} would exceed ${limits.balanceMax}; nothing was changed.`,
        )
  }

  /** The first of the further balances that this decision changed for which `asked` holds. */
  #changedBalance(asked: (key: string) => boolean): string | undefined {
    if (this.#balances !== undefined)
      for (const key of this.#balances.keys()) if (asked(key)) return key
    return undefined
  }

  #expired(key: string): number {
    return this.user === undefined ? 0 : expiredOf(this.user, key)
  }

  /**
   * Adds the facts of the given freezes, of the scores on leaderboards and in leagues and of
   * contributions to goals, if the decision scores, and of the change of level. Returns the new level.
   */
  settle(scores = true): { readonly level: number } {
    this.giveFreezes()
    if (scores) creditBoards(this)
    if (scores) creditLeagues(this)
    if (scores) creditGoals(this)
    const before = this.user?.xp ?? 0
    if (this.xp === before) return { level: this.levelOf(this.xp) }
    if (scores) creditWindows(this, this.xp - before)
    const from = this.levelOf(before)
    const level = this.levelOf(this.xp)
    if (level !== from) this.facts.push({ kind: "level.changed", from, to: level })
    return { level }
  }

  /** Completes the decision about an event or a reward, or refuses it. */
  finish(
    cause: Cause,
    summary: Summary,
    more?: Pick<FactOf<Summary>, "matched" | "before" | "day">,
  ): Result.Result<Decision, LaurelError<"balance_overflow">> {
    const refusal = this.overflow()
    if (refusal !== undefined) return Result.fail(refusal)
    const { level } = this.settle()
    const { points, xp } = this
    const segments = this.membership.held
    assertBalance("xp", xp)
    assertBalance("points", points)
    const balances = this.furtherBalances()
    this.facts.push(
      // Usually there is nothing more, and a literal is faster than a spread.
      more === undefined && balances === undefined && segments === undefined
        ? { kind: summary, xp, points, level }
        : {
            kind: summary,
            xp,
            points,
            level,
            ...(balances !== undefined && { balances }),
            ...more,
            ...(segments !== undefined && { segments }),
          },
    )
    return Result.succeed({ cause, facts: this.facts })
  }

  /** The balances of further currencies after this decision; `undefined`: the user has none. */
  furtherBalances(): Amounts | undefined {
    return furtherBalances(this.user, this.project, this.now, this.#balances)
  }
}

const isQuest = (source: Source): boolean => typeof source === "object" && "questId" in source
