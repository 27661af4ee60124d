/**
 * The domain, written as simply as possible, to compare the real one with. The model keeps of a
 * user only the list of decisions (`log.ts`), and computes every answer from it. Each file has one
 * subject.
 *
 * A command returns the reply that the caller must get, or the code of the refusal. A refused
 * command changes nothing.
 */

import { isDeepStrictEqual } from "node:util"
import type { AppliedBoost } from "../../../src/domain/project/Boost.ts"
import type { Amounts } from "../../../src/domain/project/Currency.ts"
import type { Gives } from "../../../src/domain/project/Definition.ts"
import { isCounting } from "../../../src/domain/project/Definition.ts"
import type { Streak } from "../../../src/domain/project/StreakDefinition.ts"
import type { Disqualification } from "../../../src/domain/record/BoardFact.ts"
import type { Opening } from "../../../src/domain/record/Opening.ts"
import type { Purchase } from "../../../src/domain/record/Purchase.ts"
import type {
  Backfill,
  GrantedReward,
  QuestStart,
  Revocation,
  Spending,
  TrackedEvent,
} from "../../../src/domain/record/Record.ts"
import type { StreakPausing } from "../../../src/domain/record/StreakFact.ts"
import type { JoinTeam, LeaveTeam } from "../../../src/domain/record/TeamFact.ts"
import { emptyProfile, type Profile } from "../../../src/domain/user/User.ts"
import type { ErrorCode } from "../../../src/domain/values/Errors.ts"
import { limits } from "../../../src/Limits.ts"
import { remindersDue } from "./activity.ts"
import {
  afterUndo,
  countedBy,
  countFor,
  countForBadges,
  countInHistory,
  crossed,
  lacking,
  nameOf,
  numberFor,
  type Place,
  timesHeld,
} from "./badges.ts"
import { balanceOf, furtherOf, pendingOf, pointsOf, xpOf } from "./balances.ts"
import { isOff, openScores, scoresOf } from "./boards.ts"
import { boostRefused, ownedBy, runningFor } from "./boosts.ts"
import { dateAt } from "./calendar.ts"
import { activeIn, awardAll, awardOne, gift, give, keptBy, type Receiver } from "./credits.ts"
import { counts, type Definitions, pays } from "./Definitions.ts"
import { entering } from "./experiments.ts"
import { holdingOf, type When } from "./holdings.ts"
import { boughtNow, itemNamed, purchaseOf, Sales } from "./items.ts"
import { levelAmountOf, levelIn, levelOf } from "./levels.ts"
import type {
  Amounting,
  Awarded,
  Backfilled,
  Capped,
  Entered,
  Entry,
  FreezesTaken,
  Happened,
  Log,
  Owned,
  Refunded,
  Reminded,
  Spent,
  Ticked,
  Undone,
  Warning,
} from "./log.ts"
import { measure, measuredTotals, zoneNow } from "./metrics.ts"
import { openedBy } from "./opening.ts"
import { completeByHand, countForSteps, revertedBy, shareDone, startByHand } from "./quests.ts"
import { endingsDue } from "./reminders.ts"
import { type Named, whereDiffers } from "./repeats.ts"
import { boosted, ruleGifts } from "./rules.ts"
import { type Membership, membershipOf } from "./segments.ts"
import {
  beginningPauses,
  brokenPeriods,
  countedFor,
  freezesLeft,
  giveFreezes,
  isInUse,
  milestonesAgain,
  newMilestones,
  placesOf,
  streakOf,
  takerOf,
  warningsDue,
} from "./streaks.ts"
import { teamsOf } from "./teams.ts"
import { closedOf, stillOpen, windowsFor } from "./windows.ts"

/** The reply to an event, a reward or an undo. The order of lists has no meaning. */
export interface Outcome {
  readonly xp: { readonly earned: number; readonly total: number }
  readonly points: { readonly earned: number; readonly total: number }
  /** Further currencies that changed, by key. */
  readonly currencies: {
    readonly [key: string]: { readonly earned: number; readonly total: number }
  }
  readonly capped: ReadonlyArray<Omit<Capped, "by">>
  /** What was credited and cannot be spent yet. */
  readonly pending: ReadonlyArray<{
    readonly currency: string
    readonly amount: number
    readonly spendableAt: number
  }>
  /** What an undo found expired. */
  readonly expired: Amounts
  /** Freezes that streaks got or lost, and did not get, by key. */
  readonly freezes: {
    readonly [key: string]: {
      readonly earned: number
      readonly total: number
      readonly capped: number
    }
  }
  /** The numbers of levels in currencies that changed, by key: before and after. */
  readonly levels: { readonly [key: string]: readonly [number, number] }
  /** All balances, if the user has further currencies that are active. */
  readonly balances: Amounts | undefined
  readonly level: { readonly before: number; readonly after: number }
  readonly badges: ReadonlyArray<{
    readonly id: string
    readonly tier: string
    readonly earnedAt: number
    readonly times?: number
  }>
  readonly badgesRevoked: ReadonlyArray<string>
  /** Personal boosts that were given, and taken back. */
  readonly owned: ReadonlyArray<Owned>
  readonly disowned: ReadonlyArray<Owned>
  readonly boosts: ReadonlyArray<AppliedBoost>
  /** The experiments that the user entered, as `id variant`. */
  readonly entered: ReadonlyArray<string>
  readonly quests: ReadonlyArray<{
    readonly questId: string
    readonly status: string
    readonly progress: number
    readonly alreadyCompleted: boolean
    readonly claimable?: true
  }>
  readonly streaks: ReadonlyArray<{
    readonly key: string
    readonly current: number
    readonly best: number
  }>
  readonly metrics: ReadonlyArray<{ readonly key: string; readonly total: number | null }>
  /** Of a purchase or its refund: what was paid or returned, and what could not be returned. */
  readonly price?: { readonly [key: string]: readonly [amount: number, shortfall: number] }
}

export interface Refused {
  readonly refused: ErrorCode
}

/** How a repeat of an id relates to the first command with it. */
export interface Repeated {
  readonly differs: ReadonlyArray<string>
  readonly revoked: boolean
}

/** The first command of a user with an id, its record and its reply. */
interface FirstUse {
  readonly command: Named
  readonly sequence: number
  readonly reply: Outcome
}

/** What pauses begin with. */
interface Beginning {
  readonly event: Happened | Backfilled
  readonly receiver: Receiver
  readonly place: Place
  readonly isIn: (segment: string | null) => boolean
}

interface PausesOf {
  readonly streak: Streak
  readonly pauses: Streak["pauses"]
}

/** The place and time of a decision; its record gets this sequence. */
export interface Moment {
  readonly now: number
  readonly sequence: number
}

export class Model {
  readonly users = new Map<string, Log>()
  readonly sales = new Sales()
  /** By user, kind and id. */
  #firstUses = new Map<string, FirstUse>()

  log(userId: string): Log {
    return this.users.get(userId) ?? []
  }

  profile(userId: string): Profile {
    const changes = this.log(userId).flatMap((entry) =>
      entry.kind === "profile" ? [entry.change] : [],
    )
    return Object.assign({}, emptyProfile, ...changes)
  }

  /** The definitions as they apply to this user. */
  place(userId: string, definitions: Definitions): Place {
    return { ...definitions, places: placesOf(this.log(userId), definitions) }
  }

  /** The segments of the user as of now. */
  membership(
    userId: string,
    place: Place,
    now: number,
    entered: ReadonlyArray<Entered> = [],
  ): Membership {
    const log = this.log(userId)
    return membershipOf({ userId, log, profile: this.profile(userId), place, now, entered })
  }

  /** The experiments that the user enters now. */
  #entering(userId: string, place: Place, now: number): ReadonlyArray<Entered> {
    const somebody = { userId, log: this.log(userId), profile: this.profile(userId), place, now }
    return entering(somebody, this.membership(userId, place, now).isIn)
  }

  /** An event, a reward or a spend. A repeat of an id gets the reply to the first. */
  named(
    userId: string,
    command: Named,
    definitions: Definitions,
    moment: Moment,
  ): Outcome | Refused {
    const first = this.#firstUse(userId, command)
    if (first !== undefined) {
      const isPayment = command.kind === "spend" || command.kind === "purchase"
      const isReused = isPayment && whereDiffers(command, first.command).length > 0
      return isReused ? { refused: "id_reused" } : first.reply
    }
    const reply =
      command.kind === "event"
        ? this.event(userId, command, definitions, moment)
        : command.kind === "reward"
          ? this.reward(userId, command, definitions, moment)
          : command.kind === "spend"
            ? this.spend(userId, command, definitions, moment)
            : this.purchase(userId, command, definitions, moment)
    if (command.id !== undefined && !("refused" in reply)) {
      const { sequence } = moment
      this.#firstUses.set(useKey(userId, command), { command, sequence, reply })
    }
    return reply
  }

  /** How `command` repeats an earlier one; `undefined`: its id is new. */
  repeat(userId: string, command: Named): Repeated | undefined {
    const first = this.#firstUse(userId, command)
    if (first === undefined) return undefined
    const revoked = this.log(userId).some(
      (entry) =>
        (entry.kind === "undone" && entry.of.sequence === first.sequence) ||
        (entry.kind === "refunded" && entry.spent.sequence === first.sequence),
    )
    return { differs: whereDiffers(command, first.command), revoked }
  }

  /** What `work` returns, whose changes of the user are taken back. */
  tried<A>(userId: string, work: () => A): A {
    const before = this.log(userId)
    const uses = new Map(this.#firstUses)
    const result = work()
    if (before.length === 0) this.users.delete(userId)
    else this.users.set(userId, before)
    this.#firstUses = uses
    return result
  }

  #firstUse(userId: string, command: Named): FirstUse | undefined {
    return command.id === undefined ? undefined : this.#firstUses.get(useKey(userId, command))
  }

  event(
    userId: string,
    command: TrackedEvent,
    definitions: Definitions,
    { now, sequence }: Moment,
  ): Outcome | Refused {
    const { badges, boosts, closed, quests, rules, settings } = definitions
    const place = this.place(userId, definitions)
    const before = this.log(userId)
    const { imported, occurredAt = now } = command
    const entered = imported === true ? [] : this.#entering(userId, place, now)
    const { held, isIn } = this.membership(userId, place, now, entered)
    const tooOld = imported !== true && occurredAt < now - limits.occurredAtPastMs
    if (tooOld || occurredAt > now + limits.occurredAtFutureMs)
      return { refused: "invalid_request" }
    const event: Happened = {
      ...nothing(sequence, now),
      kind: "event",
      // An event cannot occur in the future: the client's clock is wrong.
      occurredAt: Math.min(occurredAt, now),
      ...(imported === true && { gaveAt: Math.min(occurredAt, now) }),
      action: command.action,
      metadata: command.metadata,
      date: dateAt(zoneNow(this.profile(userId), definitions), Math.min(occurredAt, now)),
      entered: [...entered],
    }
    const after = [...before, event]
    const zoneThen = (ms: number) => zoneOfProject(before, definitions, ms)
    const date = dateAt(zoneThen(event.occurredAt), event.occurredAt)
    const clocks = {
      project: zoneThen(event.occurredAt),
      user: place.places.find(({ until }) => event.occurredAt < until)!.zone,
    }
    // A rule or a quest that pays asks for the segments of all boosts that run.
    const running = runningFor(boosts, clocks, event.occurredAt, isIn, before)
    const receiver = { to: event, log: after, zone: clocks.user, definitions: place }
    const give = (gives: Gives) => gift(gives, receiver, running())
    if (before.length > 0) event.kept.push(...keptBy(event.occurredAt, place))
    const touched: Array<Outcome["quests"][number]> = []
    const milestonePayments: Array<() => unknown> = []
    const questPayments: Array<() => unknown> = []
    const countForStreaks = () => {
      for (const streak of definitions.streaks) {
        if (!counts(streak, event.occurredAt) || !namesAction(streak, command.action, place))
          continue
        const pauses = beginningPauses(before, streak, place.places, now, true)
        const beginning = { event, receiver, place, isIn }
        milestonePayments.push(...this.#beginPauses(before, after, streak, pauses, beginning))
      }
      for (const streak of definitions.streaks) {
        const counted = countedFor(before, streak, place, event)
        if (counted !== undefined) event.streaks.push(counted)
        const reached =
          counted === undefined
            ? []
            : newMilestones(before, after, streak, place.places, event.occurredAt)
        const again = milestonesAgain(before, after, streak, place, event)
        for (const target of new Set([...reached, ...again])) {
          const { reward } = streak.milestones.find((milestone) => milestone.target === target)!
          event.milestones.push({ key: streak.key, target })
          milestonePayments.push(() => gift(reward, receiver))
        }
      }
    }
    if (command.action === "QUEST_COMPLETE") {
      countForStreaks()
      const asked = completeByHand(after, quests, settings.timezone, event, date, now, isIn)
      if (typeof asked === "string") return { refused: asked }
      const { pays, quest, repeated } = asked
      if (pays) questPayments.push(() => give(boosted(quest.reward, running())))
      touched.push({
        questId: quest.id,
        status: "completed",
        progress: 1,
        alreadyCompleted: repeated,
      })
    } else {
      // The event asks for a reward and is not an action: it counts for streaks, not for metrics,
      // rules, steps or badges.
      const zone = zoneNow(this.profile(userId), definitions)
      event.metrics.push(...measure(definitions, event, dateAt(zone, event.occurredAt)))
      for (const { gives, rule } of ruleGifts(before, rules, running, zoneThen, event, isIn)) {
        const { freezes = {}, ...others } = gives
        const isGiven = give(others)
        const isAsked = give({ xp: 0, points: 0, badgeId: null, freezes })
        if (isGiven || isAsked) event.uses.push(rule.id)
        const isTaken = Object.entries(freezes).some(
          ([key, amount]) => amount > 0 && takerOf(definitions.streaks, key, now) !== undefined,
        )
        // Freezes that no streak takes leave no trace in the history, unless uses are counted.
        const isCounted = rule.limit !== null || rule.cooldownSeconds !== null
        if (isGiven || isTaken || (isAsked && isCounted)) event.reaching.push(rule.id)
      }
      countForStreaks()
      for (const { claimable, completed, paid, period, quest } of countForSteps(
        after,
        definitions,
        settings.timezone,
        event,
        date,
        now,
        isIn,
      )) {
        if (paid) questPayments.push(() => give(boosted(quest.reward, running())))
        touched.push({
          questId: quest.id,
          status: completed ? "completed" : "in_progress",
          progress: shareDone(after, quest, period),
          alreadyCompleted: false,
          ...(claimable && { claimable }),
        })
      }
      countForBadges(badges, event, isIn)
    }
    // All has counted. Now quests pay, then milestones, then badges.
    for (const pay of [...questPayments, ...milestonePayments]) pay()
    event.windows = windowsFor(before, settings.timezone, closedOf(closed), date, now)
    awardAll(receiver, before, () => crossed(before, after, place, event.occurredAt, now, isIn))
    giveFreezes(after, event, definitions, place.places, now)
    for (const scored of scoresOf(before, event, definitions, date, now, isIn)) {
      event.boards.set(...scored)
    }
    event.segments = held()
    return this.#done(userId, before, event, place, { now, sequence }, touched)
  }

  reward(
    userId: string,
    command: GrantedReward,
    definitions: Definitions,
    { now, sequence }: Moment,
  ): Outcome | Refused {
    const before = this.log(userId)
    const place = this.place(userId, definitions)
    const entered = this.#entering(userId, place, now)
    const reward: Happened = { ...nothing(sequence, now), kind: "reward", entered: [...entered] }
    const after = [...before, reward]
    const parts =
      "reward" in command
        ? command.reward
        : command.type === "badge"
          ? { badgeId: command.badgeId }
          : { [command.type]: command.amount }
    const { badgeId = null, boost, currencies = {}, freezes = {}, points = 0, xp = 0 } = parts
    const isKnown = (key: string) => activeIn(definitions, key) !== undefined
    const badge = definitions.badges.find(({ id, set }) => id === badgeId && set !== "archived")
    if (badgeId !== null && badge === undefined) return { refused: "badge_not_found" }
    if (badge !== undefined && (badge.repeatable || !pays(badge, now)))
      return { refused: "badge_not_active" }
    if (!Object.keys(currencies).every(isKnown)) return { refused: "currency_not_found" }
    const live = definitions.streaks.filter(({ set }) => set !== "archived").map(({ key }) => key)
    if (!Object.keys(freezes).every((key) => live.includes(key)))
      return { refused: "streak_not_found" }
    const refused = boost && boostRefused(definitions.boosts, boost.key, before, now)
    if (refused !== undefined) return { refused }
    const { zone } = place.places.at(-1)!
    const receiver = { to: reward, log: after, zone, definitions: place }
    gift({ xp, points, currencies, badgeId, freezes, ...(boost && { boost }) }, receiver)
    const { timezone } = definitions.settings
    reward.windows = windowsFor(
      before,
      timezone,
      closedOf(definitions.closed),
      dateAt(timezone, now),
      now,
    )
    const { held, isIn } = this.membership(userId, place, now, entered)
    awardAll(receiver, before, () => crossed(before, after, place, now, now, isIn))
    giveFreezes(after, reward, definitions, place.places, now)
    const today = dateAt(timezone, now)
    for (const scored of scoresOf(before, reward, definitions, today, now, isIn)) {
      reward.boards.set(...scored)
    }
    reward.segments = held()
    return this.#done(userId, before, reward, place, { now, sequence }, [])
  }

  spend(
    userId: string,
    command: Spending,
    definitions: Definitions,
    { now, sequence }: Moment,
  ): Outcome | Refused {
    const before = this.log(userId)
    if (before.length === 0) return { refused: "user_not_found" }
    const place = this.place(userId, definitions)
    const repair = this.#repair(userId, command, definitions, now)
    if (repair !== undefined && "refused" in repair) return repair
    const amounts =
      repair?.price ?? ("amount" in command ? { points: command.amount } : command.currencies)
    const lacks = unpayable(before, amounts, { ...place, now })
    if (lacks !== undefined) {
      const isOfPoints = lacks === "insufficient_balance" && "amount" in command
      return { refused: isOfPoints ? "insufficient_points" : lacks }
    }
    const repaired = repair === undefined ? undefined : { repair: repair.periods }
    const entry = { kind: "spent", sequence, at: now, amounts, ...repaired } as const
    return this.#paid(userId, entry, amounts, definitions)
  }

  /** The price is paid first, so the reward may exceed what the balance had room for. */
  purchase(
    userId: string,
    command: Purchase,
    definitions: Definitions,
    { now, sequence }: Moment,
  ): Outcome | Refused {
    const before = this.log(userId)
    if (before.length === 0) return { refused: "user_not_found" }
    const item = itemNamed(definitions, command.item)
    if (item === undefined) return { refused: "item_not_found" }
    const { id, limit, price: amounts, reward, segment, stock } = item
    const place = this.place(userId, definitions)
    const { timezone } = definitions.settings
    if (!pays(item, now)) return { refused: "item_not_active" }
    if (!this.membership(userId, place, now).isIn(segment)) return { refused: "not_in_segment" }
    if (limit !== null && boughtNow(before, id, limit.per, timezone, now) >= limit.times) {
      return { refused: "limit_reached" }
    }
    if (stock !== null && this.sales.before(sequence, id) >= stock) return { refused: "sold_out" }
    const lacks = unpayable(before, amounts, { ...place, now })
    if (lacks !== undefined) return { refused: lacks }
    const paid: Log = [
      ...before,
      { kind: "spent", sequence, at: now, amounts, isPrice: true } as const,
    ]
    const bought: Happened = {
      ...nothing(sequence, now),
      kind: "purchase",
      purchase: purchaseOf(before, id, timezone, now),
    }
    const after = [...paid, bought]
    const { zone } = place.places.at(-1)!
    const receiver = { to: bought, log: after, zone, definitions: place }
    gift(reward, receiver)
    const profile = this.profile(userId)
    const { isIn } = membershipOf({ userId, log: paid, profile, place, now })
    awardAll(receiver, paid, () => crossed(paid, after, place, now, now, isIn))
    giveFreezes(after, bought, definitions, place.places, now)
    const price = Object.entries(amounts).map(([key, amount]) => [key, [amount, 0]] as const)
    const done = this.#done(userId, paid, bought, place, { now, sequence }, [], before)
    return "refused" in done ? done : { ...done, price: Object.fromEntries(price) }
  }

  /** What a spend repairs, and its price; `undefined`: it is no repair. */
  #repair(
    userId: string,
    { repair: key }: Spending,
    definitions: Definitions,
    now: number,
  ): { readonly price: Amounts; readonly periods: Spent["repair"] & {} } | Refused | undefined {
    if (key === undefined) return undefined
    const streak = definitions.streaks.find((one) => one.key === key)
    if (streak === undefined || !isInUse(streak)) return { refused: "streak_not_found" }
    if (!pays(streak, now)) return { refused: "streak_not_active" }
    if (streak.repair === null) return { refused: "streak_not_repairable" }
    const { places } = this.place(userId, definitions)
    const broken = brokenPeriods(this.log(userId), streak, places, now)
    if (broken === undefined) return { refused: "streak_not_broken" }
    const { daysAgo, from, to } = broken
    if (daysAgo > streak.repair.withinDays) return { refused: "repair_too_late" }
    return { price: streak.repair.price ?? {}, periods: { key, from, to } }
  }

  #refund(
    userId: string,
    command: Revocation,
    definitions: Definitions,
    { now, sequence }: Moment,
  ): Outcome | Refused {
    const before = this.log(userId)
    const spent = before.find(
      (entry) => entry.sequence === command.sequence && !("isPrice" in entry),
    )
    const again = before.some((entry) => entry.kind === "refunded" && entry.spent === spent)
    if (spent?.kind !== "spent" || spent.at !== command.at || again)
      return { refused: "spend_not_found" }
    const { amounts } = spent
    const entry = { kind: "refunded", sequence, at: now, spent } as const
    return this.#paid(userId, entry, amounts, definitions)
  }

  #paid(
    userId: string,
    entry: Spent | Refunded,
    amounts: Amounts,
    definitions: Definitions,
  ): Outcome {
    const before = this.log(userId)
    this.#append(userId, entry)
    const after = this.log(userId)
    const place = this.place(userId, definitions)
    const when = { ...place, now: entry.at }
    const change = (key: string) => {
      const total = balanceOf(after, key, when)
      return { earned: total - balanceOf(before, key, when), total }
    }
    const further = Object.keys(amounts).filter((key) => key !== "points")
    const balances = shownBalances(after, place, entry.at)
    // A reply without further currencies shows the points only if they were spent.
    const isFree = Object.keys(amounts).length === 0
    const asked = "points" in amounts || isFree || further.length > 0 || balances !== undefined
    return {
      ...nothingDone,
      points: asked ? change("points") : nothingDone.points,
      currencies: Object.fromEntries(further.map((key) => [key, change(key)])),
      balances: isFree || further.length > 0 ? (balances ?? only(after, when)) : balances,
    }
  }

  undo(
    userId: string,
    command: Revocation,
    definitions: Definitions,
    { now, sequence }: Moment,
  ): Outcome | Refused {
    if (command.of === "spend") return this.#refund(userId, command, definitions, { now, sequence })
    const log = this.log(userId)
    const of = log.findLast((entry) => entry.sequence === command.sequence)
    const again = log.some((entry) => entry.kind === "undone" && entry.of === of)
    if (of === undefined || of.kind !== command.of || of.at !== command.at || again)
      return { refused: `${command.of}_not_found` }
    const { closed, quests, settings } = definitions
    const place = this.place(userId, definitions)
    const price = log.find((entry) => entry.kind === "spent" && entry.sequence === of.sequence)
    const before: Log =
      price?.kind === "spent"
        ? [...log, { kind: "refunded", sequence, at: now, spent: price }]
        : log
    const windows = stillOpen(before, of.windows, settings.timezone, closedOf(closed), now)
    const uncounted = countedBy(before, of, definitions.badges)
    const bare: Undone = {
      kind: "undone",
      sequence,
      at: now,
      of,
      windows,
      boards: openScores(before, of, definitions, now),
      uncounted,
      freezes: freezesLeft(before, of, definitions, place.places, now),
      lost: [],
      badges: [],
    }
    const after = [...before, bare]
    const { isIn } = this.membership(userId, place, now)
    const undone = afterUndo(before, bare, place, now, isIn)
    const reverted = revertedBy(before, after, of, quests, settings.timezone, now).map(
      ({ claimable, quest, share, standing }) => ({
        questId: quest.id,
        status: standing,
        progress: share,
        alreadyCompleted: false,
        ...(claimable && { claimable }),
      }),
    )
    const done = this.#done(userId, before, undone, place, { now, sequence }, reverted, log)
    if (price?.kind !== "spent" || "refused" in done) return done
    const returned = Object.entries(price.amounts).map(([key, asked]) => {
      const [was, is] = [log, before].map((each) => balanceOf(each, key, { ...place, now }))
      return [key, [is! - was!, asked - (is! - was!)]] as const
    })
    return { ...done, price: Object.fromEntries(returned) }
  }

  setProfile(userId: string, change: Partial<Profile>, { now, sequence }: Moment): void {
    const { timezone, ...others } = change
    // The same time zone again is no change.
    const moves = timezone !== undefined && timezone !== this.profile(userId).timezone
    const made = moves ? { ...others, timezone } : others
    this.#append(userId, { kind: "profile", sequence, at: now, change: made })
  }

  /** The user joins the team, or leaves it. */
  move(
    userId: string,
    { kind, teamId }: JoinTeam | LeaveTeam,
    { teams }: Definitions,
    { now, sequence }: Moment,
  ): Refused | undefined {
    const team = teams.find(({ id }) => id === teamId)
    if (team === undefined) return { refused: "team_not_found" }
    const isMember = teamsOf(this.log(userId), teams).get(team.kind)?.id === teamId
    if (kind === "leave" && !isMember) return { refused: "member_not_found" }
    if (kind === "join" && isMember) return undefined
    this.#append(userId, { kind: "moved", sequence, at: now, team, joined: kind === "join" })
    return undefined
  }

  start(
    userId: string,
    { questId }: QuestStart,
    definitions: Definitions,
    { now, sequence }: Moment,
  ): Outcome | Refused {
    const { quests, settings } = definitions
    const place = this.place(userId, definitions)
    const entered = this.#entering(userId, place, now)
    const { isIn } = this.membership(userId, place, now, entered)
    const quest = quests.find(({ id, key }) => id === questId || key === questId)
    const asked = startByHand(this.log(userId), quest, quests, settings.timezone, now, isIn)
    if (asked === undefined) return nothingDone
    if ("refused" in asked) return asked
    this.#append(userId, { kind: "began", sequence, at: now, entered, ...asked })
    return nothingDone
  }

  /** Sets what the user had before, once. */
  open(
    userId: string,
    command: Opening,
    definitions: Definitions,
    { now, sequence }: Moment,
  ): Outcome | Refused {
    const before = this.log(userId)
    const first = before.find((entry) => entry.kind === "opened")
    if (first !== undefined) {
      return isDeepStrictEqual(first.command, command) ? nothingDone : { refused: "opening_closed" }
    }
    const harmless = ["profile", "began", "ticked", "moved", "listed"]
    if (!before.every(({ kind }) => harmless.includes(kind))) {
      return { refused: "opening_closed" }
    }
    const had = openedBy(command, this.place(userId, definitions), now)
    if (had === undefined) return { refused: "invalid_request" }
    this.#append(userId, {
      ...noAmounts(),
      kind: "opened",
      sequence,
      at: now,
      command,
      ...had,
    })
    return nothingDone
  }

  /** Lets pauses of a streak begin with the last entry of `after`; returns what they pay. */
  #beginPauses(
    before: Log,
    after: Log,
    streak: Streak,
    pauses: Streak["pauses"],
    { event, isIn, place, receiver }: Beginning,
  ): ReadonlyArray<() => unknown> {
    const { key } = streak
    for (const { from, number, segment, to } of pauses) {
      event.pausing.seen.push({ key, number })
      if (isIn(segment)) event.pausing.paused.push({ key, from, to })
    }
    const { at, kind } = event
    const occurredAt = kind === "backfilled" ? at : event.occurredAt
    const reached = newMilestones(before, after, streak, place.places, occurredAt)
    event.milestones.push(...reached.map((target) => ({ key, target })))
    return reached.map((target) => {
      const { reward } = streak.milestones.find((milestone) => milestone.target === target)!
      return () => give(reward, receiver)
    })
  }

  /** The pauses that begin by the clock, for each streak. */
  pausesDue(userId: string, definitions: Definitions, now: number): ReadonlyArray<PausesOf> {
    const log = this.log(userId)
    if (log.length === 0) return []
    const places = placesOf(log, definitions)
    return definitions.streaks.flatMap((streak) => {
      const pauses = beginningPauses(log, streak, places, now, false)
      return pauses.length === 0 ? [] : [{ streak, pauses }]
    })
  }

  /** Lets pauses begin besides events, and pays what they reach. */
  #pause(
    userId: string,
    definitions: Definitions,
    { now, sequence }: Moment,
    pauses: ReadonlyArray<PausesOf>,
  ): void {
    const before = this.log(userId)
    const place = this.place(userId, definitions)
    const { isIn } = this.membership(userId, place, now)
    const event: Backfilled = {
      ...noAmounts(),
      kind: "backfilled",
      sequence,
      at: now,
      counted: undefined,
      milestones: [],
      pausing: { paused: [], seen: [] },
    }
    const after = [...before, event]
    const { zone } = place.places.at(-1)!
    const receiver = { to: event, log: after, zone, definitions: place }
    const beginning = { event, receiver, place, isIn }
    const payments = pauses.flatMap(({ pauses: own, streak }) =>
      this.#beginPauses(before, after, streak, own, beginning),
    )
    for (const pay of payments) pay()
    awardAll(receiver, before, () => crossed(before, after, place, now, now, isIn))
    giveFreezes(after, event, definitions, place.places, now)
    this.#append(userId, event)
  }

  disqualify(
    userId: string,
    { disqualified, leaderboard }: Disqualification,
    { leaderboards }: Definitions,
    { now, sequence }: Moment,
  ): Refused | undefined {
    const before = this.log(userId)
    if (before.length === 0) return { refused: "user_not_found" }
    const board = leaderboards.find(({ id }) => id === leaderboard)
    if (board === undefined || board.set === "archived") {
      return { refused: "leaderboard_not_found" }
    }
    if (isOff(before, leaderboard) === disqualified) return undefined
    const entry = { kind: "listed", sequence, at: now, boardId: leaderboard, disqualified } as const
    this.#append(userId, entry)
    return undefined
  }

  pause(
    userId: string,
    { from, streak: key, to }: StreakPausing,
    definitions: Definitions,
    moment: Moment,
  ): Refused | undefined {
    const before = this.log(userId)
    if (before.length === 0) return { refused: "user_not_found" }
    const streak = definitions.streaks.find((one) => one.key === key)
    if (streak === undefined || !isInUse(streak)) return { refused: "streak_not_found" }
    if (moment.now >= (streak.endsAt ?? Number.POSITIVE_INFINITY)) return { refused: "conflict" }
    const days = before.flatMap((entry) => ("pausing" in entry ? entry.pausing.paused : []))
    const isCovered = (day: number) =>
      days.some((one) => one.key === key && one.from <= day && day <= one.to)
    const asked = Array.from({ length: to - from + 1 }, (_, index) => from + index)
    if (asked.every(isCovered)) return undefined
    const pauses = [{ from, to, segment: null, number: -1 }]
    this.#pause(userId, definitions, moment, [{ streak, pauses }])
    return undefined
  }

  /** Returns the warnings and reminders. */
  tick(
    userId: string,
    definitions: Definitions,
    { now, sequence }: Moment,
  ): Pick<Ticked, "ended" | "reminded" | "warned"> {
    const pauses = this.pausesDue(userId, definitions, now)
    if (pauses.length > 0) this.#pause(userId, definitions, { now, sequence }, pauses)
    const warned = this.warningsDue(userId, definitions, now)
    const reminded = this.remindersDue(userId, definitions, now)
    const ended = this.endingsDue(userId, definitions, now)
    this.#append(userId, { kind: "ticked", sequence, at: now, warned, reminded, ended })
    return { warned, reminded, ended }
  }

  endingsDue(userId: string, definitions: Definitions, now: number): Ticked["ended"] {
    const log = this.log(userId)
    const places = placesOf(log, definitions)
    return endingsDue(log, definitions, this.profile(userId), places, now)
  }

  remindersDue(userId: string, definitions: Definitions, now: number): ReadonlyArray<Reminded> {
    const log = this.log(userId)
    const { zone } = placesOf(log, definitions).at(-1)!
    return remindersDue(log, definitions.settings, this.profile(userId), zone, now)
  }

  warningsDue(userId: string, definitions: Definitions, now: number): ReadonlyArray<Warning> {
    const { unless } = definitions.settings.reminders ?? { unless: null }
    if (unless !== null && this.profile(userId).attributes[unless] === true) return []
    return warningsDue(this.log(userId), definitions, placesOf(this.log(userId), definitions), now)
  }

  /**
   * Awards a badge to a user who qualifies. A badge that counts actions counts the whole history.
   */
  backfill(
    userId: string,
    command: Backfill,
    definitions: Definitions,
    { now, sequence }: Moment,
  ): Outcome | Refused {
    const before = this.log(userId)
    const badge = definitions.badges.find(({ id }) => id === command.badgeId)
    if (badge === undefined || !pays(badge, now)) return { refused: "conflict" }
    const { criteria, id } = badge
    if (criteria.kind === "manual") return nothingDone
    const isCounted = isCounting(criteria)
    const number = isCounted
      ? countInHistory(before, badge)
      : (numberFor(before, badge, this.place(userId, definitions), now) ?? 0)
    const place = this.place(userId, definitions)
    const { isIn } = this.membership(userId, place, now)
    const lacks = lacking(before, badge, number)
    const earned = lacks.length > 0 && isIn(badge.segment) ? lacks : []
    if (earned.length === 0 && (!isCounted || number === countFor(before, id))) return nothingDone
    const entry: Backfilled = {
      ...noAmounts(),
      kind: "backfilled",
      sequence,
      at: now,
      counted:
        isCounted && number !== countFor(before, id) ? { badgeId: id, count: number } : undefined,
      milestones: [],
      pausing: { paused: [], seen: [] },
    }
    const after = [...before, entry]
    const { zone } = place.places.at(-1)!
    const receiver = { to: entry, log: after, zone, definitions: place }
    for (const award of earned) awardOne(award, receiver)
    // A recount awards no other badge, but what a badge pays may.
    const counted = [...before, { ...entry, ...noAmounts() }]
    awardAll(receiver, counted, () => crossed(counted, after, place, now, now, isIn))
    giveFreezes(after, entry, definitions, place.places, now)
    if (overflows(after, place, now)) return { refused: "conflict" }
    this.#append(userId, entry)
    const badges = shownAwards(this.log(userId), entry.badges, now)
    return { ...nothingDone, badges }
  }

  erase(userId: string): void {
    this.users.delete(userId)
    for (const key of this.#firstUses.keys()) {
      if (JSON.parse(key)[0] === userId) this.#firstUses.delete(key)
    }
  }

  #append(userId: string, entry: Entry): void {
    this.users.set(userId, [...this.log(userId), entry])
  }

  /**
   * Adds a decision to the log, unless a balance would leave the safe integers; returns the reply.
   */
  #done(
    userId: string,
    before: Log,
    entry: Happened | Undone,
    place: Place,
    { now }: Moment,
    quests: Outcome["quests"],
    /** Without the price of the decision. */
    levelsBefore: Log = before,
  ): Outcome | Refused {
    const after = [...before, entry]
    const paused = entry.kind === "undone" ? before : [...before, onlyPausing(entry)]
    const [xpBefore, xp] = [xpOf(before), xpOf(after)]
    const [pointsBefore, points] = [before, after].map((log) =>
      pointsOf(log, { ...place, now }),
    ) as [number, number]
    if (overflows(after, place, now)) return { refused: "balance_overflow" }
    this.users.set(userId, after)
    const { levelCurve } = place.settings
    return {
      xp: { earned: xp - xpBefore, total: xp },
      points: { earned: points - pointsBefore, total: points },
      currencies: Object.fromEntries(
        [...(entry.kind === "undone" ? entry.of : entry).currencies.keys()].flatMap((key) => {
          const when = { ...place, now }
          const total = balanceOf(after, key, when)
          const earned = total - balanceOf(before, key, when)
          return earned === 0 ? [] : [[key, { earned, total }]]
        }),
      ),
      capped: entry.kind === "undone" ? [] : cutOf(entry.capped),
      pending: entry.kind === "undone" ? [] : pendingBy(entry),
      expired: entry.kind === "undone" ? lostBy(before, after, entry.of, { ...place, now }) : {},
      freezes: Object.fromEntries(
        [...entry.freezes].map(([key, { amount, cut = 0 }]: [string, Partial<FreezesTaken>]) => {
          const streak = place.streaks.find((one) => one.key === key)!
          const total = streakOf(after, streak, place.places, now).freezes
          const earned = entry.kind === "undone" ? -amount! : amount!
          return [key, { earned, total, capped: cut }]
        }),
      ),
      levels: levelChanges(levelsBefore, after, place, now),
      balances: shownBalances(after, place, now),
      level: { before: levelOf(levelCurve, xpBefore), after: levelOf(levelCurve, xp) },
      badges: shownAwards(
        after,
        entry.badges,
        (entry.kind === "undone" ? undefined : entry.gaveAt) ?? now,
      ),
      boosts:
        entry.kind === "undone" ? [] : [...entry.boosts].map(([key, factor]) => ({ key, factor })),
      badgesRevoked:
        entry.kind === "undone"
          ? entry.lost
              .filter((lost) => entry.badges.every((award) => nameOf(award) !== nameOf(lost)))
              .map(({ badgeId, kept, tier }) => `${badgeId} ${tier} ${kept}`)
              .sort()
          : [],
      owned: entry.kind === "undone" ? [] : entry.owned,
      disowned: entry.kind === "undone" ? lostOwned(before, after) : [],
      entered:
        entry.kind === "undone"
          ? []
          : entry.entered.map(({ experimentId, variant }) => `${experimentId} ${variant}`).sort(),
      quests,
      // A reply lists the streaks that became longer, but for pauses that began.
      streaks: place.streaks.flatMap((definition) => {
        const was = streakOf(paused, definition, place.places, now).current
        const is = streakOf(after, definition, place.places, now)
        if (is === undefined || is.current <= was) return []
        return [{ key: definition.key, current: is.current, best: is.best }]
      }),
      metrics: measuredTotals(after, entry.kind === "undone" ? entry.of : entry, place),
    }
  }
}

/** Why these amounts cannot be taken; `undefined`: they can. */
const unpayable = (
  log: Log,
  amounts: Amounts,
  when: Place & When,
): "currency_not_found" | "currency_not_spendable" | "insufficient_balance" | undefined => {
  for (const key of Object.keys(amounts)) {
    const currency = activeIn(when, key)
    if (currency === undefined) return "currency_not_found"
    if (!currency.spendable) return "currency_not_spendable"
  }
  const isShort = Object.entries(amounts).some(
    ([key, amount]) => balanceOf(log, key, when) - pendingOf(log, key, when) < amount,
  )
  return isShort ? "insufficient_balance" : undefined
}

const lostOwned = (before: Log, after: Log): ReadonlyArray<Owned> => {
  const left = ownedBy(after).map((one) => JSON.stringify(one))
  return ownedBy(before).filter((one) => {
    const at = left.indexOf(JSON.stringify(one))
    if (at < 0) return true
    left.splice(at, 1)
    return false
  })
}

/**
 * The levels in currencies that a decision changed. The level before is that of the user's last
 * record: what has expired since counts as lost by this decision.
 */
export const levelChanges = (
  before: Log,
  after: Log,
  place: Place,
  now: number,
): Outcome["levels"] =>
  Object.fromEntries(
    place.currencies.flatMap(({ key, levels, set }) => {
      if (levels === null || set !== "published") return []
      const was = levelIn(
        levels,
        levelAmountOf(before, key, levels, atLastRecord(before, place, now)),
      )
      const is = levelIn(levels, levelAmountOf(after, key, levels, { ...place, now }))
      return was === is ? [] : [[key, [was, is] as const]]
    }),
  )

/** When and where the last record was decided. A record that moves the user is decided in the zone before. */
const atLastRecord = (log: Log, place: Place, now: number): Place & When => {
  const last = log.at(-1)
  if (last === undefined) return { ...place, now }
  const moves = last.kind === "profile" && "timezone" in last.change
  const places = place.places.map((one) =>
    moves && one.until === last.at ? { ...one, until: last.at + 1 } : one,
  )
  return { ...place, places, now: last.at }
}

/** Whether a need of the streak names the action, or a metric that counts it. */
const namesAction = ({ needs }: Streak, action: string, { metrics }: Place): boolean =>
  needs.length === 0 ||
  needs.some((need) =>
    need.metric === undefined
      ? need.action === action
      : metrics.some(({ actions, key }) => key === need.metric && actions.includes(action)),
  )

const useKey = (userId: string, { id, kind }: Named): string => JSON.stringify([userId, kind, id])

/** The project's zone at `ms`; for events before the user's creation, its zone at the creation. */
const zoneOfProject = (log: Log, { moves, settings }: Definitions, ms: number): string => {
  const seen = log[0]?.at ?? Number.POSITIVE_INFINITY
  return moves.find(({ until }) => Math.max(ms, seen) < until)?.zone ?? settings.timezone
}

/** The reply to a command without an outcome. */
export const nothingDone: Outcome = {
  xp: { earned: 0, total: 0 },
  points: { earned: 0, total: 0 },
  currencies: {},
  freezes: {},
  capped: [],
  pending: [],
  expired: {},
  levels: {},
  balances: undefined,
  level: { before: 1, after: 1 },
  badges: [],
  badgesRevoked: [],
  owned: [],
  disowned: [],
  boosts: [],
  entered: [],
  quests: [],
  streaks: [],
  metrics: [],
}

const nothing = (sequence: number, now: number): Happened => ({
  kind: "reward",
  sequence,
  at: now,
  occurredAt: now,
  action: undefined,
  metadata: undefined,
  date: undefined,
  ...noAmounts(),
  windows: {},
  boards: new Map(),
  boosts: new Map(),
  segments: [],
  uses: [],
  reaching: [],
  kept: [],
  steps: [],
  completions: [],
  claims: [],
  counted: [],
  metrics: [],
  streaks: [],
  milestones: [],
  pausing: { paused: [], seen: [] },
  entered: [],
})

const onlyPausing = ({ at, pausing, sequence }: Happened): Backfilled => ({
  ...noAmounts(),
  kind: "backfilled",
  sequence,
  at,
  counted: undefined,
  milestones: [],
  pausing,
})

const noAmounts = (): Amounting => ({
  xp: 0,
  points: 0,
  currencies: new Map(),
  capped: [],
  counting: [],
  endings: [],
  badges: [],
  owned: [],
  levels: [],
  frozen: [],
  freezes: new Map(),
})

/** The credits of an entry that cannot be spent at once. */
const pendingBy = ({ endings }: Happened): Outcome["pending"] =>
  endings
    .flatMap(({ amount, at, currency }) =>
      at === undefined ? [] : [{ currency, amount, spendableAt: at }],
    )
    .sort((one, other) => (one.currency < other.currency ? -1 : 1))

const shownAwards = (log: Log, awards: ReadonlyArray<Awarded>, now: number): Outcome["badges"] =>
  awards.map(({ badgeId, tier, times }) => ({
    id: badgeId,
    tier,
    earnedAt: now,
    ...(times !== undefined && { times: timesHeld(log, badgeId) }),
  }))

/** What an undo no longer counts as expired. */
const lostBy = (before: Log, after: Log, of: Happened, when: When): Amounts =>
  Object.fromEntries(
    ["points", ...of.currencies.keys()].flatMap((key) => {
      const [was, is] = [before, after].map((log) => holdingOf(log, key, when).expired)
      return was === is ? [] : [[key, was! - is!]]
    }),
  )

const overflows = (log: Log, place: Place, now: number): boolean =>
  ![
    xpOf(log),
    pointsOf(log, { ...place, now }),
    ...Object.values(furtherOf(log, place, now)),
  ].every(Number.isSafeInteger)

/** What the limits cut in all: the order of credits, and so which limit cut, has no meaning. */
export const cutOf = (capped: ReadonlyArray<Omit<Capped, "by">>): Outcome["capped"] =>
  [...Map.groupBy(capped, ({ currency }) => currency)]
    .map(([currency, cuts]) => {
      return { currency, amount: cuts.reduce((sum, { amount }) => sum + amount, 0) }
    })
    .sort((one, other) => (one.currency < other.currency ? -1 : 1))

/** The balances in a reply; `undefined`: the user has no further currency that is active. */
const shownBalances = (log: Log, place: Place, now: number): Amounts | undefined => {
  const further = Object.entries(furtherOf(log, place, now)).filter(
    ([key]) => activeIn(place, key) !== undefined,
  )
  return further.length === 0
    ? undefined
    : { ...only(log, { ...place, now }), ...Object.fromEntries(further) }
}

const only = (log: Log, when: When): Amounts => ({ xp: xpOf(log), points: pointsOf(log, when) })
