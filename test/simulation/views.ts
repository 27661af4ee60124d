/** The visible state of a user at a moment, according to the domain and to the model. */

import { replyOf, type UserReply } from "../../src/domain/message/UserReply.ts"
import {
  addsUp,
  type BoardScore,
  isWhole,
  isXpBoard,
} from "../../src/domain/project/BoardDefinition.ts"
import { hasLevels } from "../../src/domain/project/Currency.ts"
import {
  isCounting,
  type Quest,
  questPeriodOf,
  statusAt,
} from "../../src/domain/project/Definition.ts"
import { definitionWithKey } from "../../src/domain/project/DefinitionKey.ts"
import { levelAt } from "../../src/domain/project/Level.ts"
import { unscaled } from "../../src/domain/project/Metric.ts"
import type { ProjectState } from "../../src/domain/project/Project.ts"
import { streakTime } from "../../src/domain/project/StreakDefinition.ts"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import { daysOf, lastDayOf } from "../../src/domain/user/ActiveDays.ts"
import { standingOf } from "../../src/domain/user/CurrencyLevel.ts"
import { endingsOf } from "../../src/domain/user/Expiry.ts"
import { pendingAt } from "../../src/domain/user/Lots.ts"
import { metricTotal } from "../../src/domain/user/MetricState.ts"
import { metricProgress } from "../../src/domain/user/Progress.ts"
import { boughtIn } from "../../src/domain/user/Purchases.ts"
import { balanceAt, refillingKeys } from "../../src/domain/user/Refill.ts"
import { lastPeriodOf, streakNow } from "../../src/domain/user/Streak.ts"
import { streakCalendar } from "../../src/domain/user/StreakCalendar.ts"
import { firstDayOfPeriod, periodAt } from "../../src/domain/user/StreakPeriods.ts"
import { teamsOfUser } from "../../src/domain/user/TeamMembership.ts"
import {
  earnedOf,
  noBoardScores,
  type Profile,
  pointsEarned,
  stepCountOf,
  type UserState,
  userZones,
} from "../../src/domain/user/User.ts"
import { dateOf, firstDayOf, zoneOf } from "../../src/domain/values/Calendar.ts"
import { limitPeriods } from "../../src/domain/values/Periods.ts"
import { activityOf } from "./model/activity.ts"
import { badgesOf, countFor, type Place, paidOf } from "./model/badges.ts"
import {
  furtherOf,
  pendingOf,
  pointsEarnedOf,
  pointsOf,
  windowsOf,
  windowXp,
  windowXpSince,
  xpOf,
  xpSince,
} from "./model/balances.ts"
import { onBoard, scoreSince, totalOn } from "./model/boards.ts"
import { ownedBy } from "./model/boosts.ts"
import { dateAt, plusDays, windowAt, windowKinds } from "./model/calendar.ts"
import { levelsPaid } from "./model/credits.ts"
import { enteredBy } from "./model/experiments.ts"
import { holdingOf } from "./model/holdings.ts"
import { boughtItems } from "./model/items.ts"
import { levelAmountOf, levelIn, levelOf } from "./model/levels.ts"
import type { Log, Owned, Ticked } from "./model/log.ts"
import { cutOf, nothingDone, type Outcome, type Refused } from "./model/Model.ts"
import { metricsShown } from "./model/metrics.ts"
import {
  claimOf,
  completedIn,
  completionsOf,
  periodOf,
  questCount,
  standingIn,
  stepCount,
} from "./model/quests.ts"
import { reachedBy } from "./model/reached.ts"
import { calendarOf, openCounts, paidMilestones, streakOf } from "./model/streaks.ts"
import { teamsOf } from "./model/teams.ts"

const byKey = <A>(pairs: Iterable<readonly [string, A]>): { readonly [key: string]: A } =>
  Object.fromEntries([...pairs].sort(([one], [other]) => (one < other ? -1 : 1)))

/** The first day that all states of active days have. */
const recentSince = (now: number): string => plusDays(dateAt("UTC", now), -400)

export const stateView = (user: UserState, project: ProjectState, now: number) => {
  const { quests, settings } = project
  const zone = zoneOf(settings.timezone)
  const zones = userZones(user, project)
  return {
    xp: user.xp,
    xpSince: user.scoreSequence,
    points: balanceAt(user, project, "points", now).amount,
    pointsEarned: pointsEarned(user),
    balances: byKey(
      [...new Set([...user.balances.keys(), ...refillingKeys(project)])].map((key) => [
        key,
        balanceAt(user, project, key, now).amount,
      ]),
    ),
    pending: byKey(
      [...project.currencies.values()].map(({ key }) => [key, pendingAt(user, key, now)]),
    ),
    endings: byKey(
      [...project.currencies.values()].map(({ key }) => [key, endingsOf(user, project, key, now)]),
    ),
    currencyLevels: byKey(
      [...project.currencies.values()].filter(hasLevels).map((currency) => {
        const { amount, level } = standingOf(user, project, currency, now)
        return [currency.key, [amount, level?.number ?? 0]] as const
      }),
    ),
    level: levelAt(settings.levelCurve, user.xp),
    profile: user.profile,
    badges: byKey(user.badges),
    badgesPaid: byKey(user.badgesPaid),
    levelsPaid: byKey(user.levelsPaid),
    badgeCounts: byKey(
      [...project.badges.values()]
        .filter(({ criteria, id }) => isCounting(criteria) && !user.badges.has(id))
        .map(({ id }) => [id, user.badgeCounts.get(id) ?? 0]),
    ),
    questCount: user.questsCompleted,
    quests: byKey(
      [...quests.values()].map((quest) => {
        const period = questPeriodOf(quest, zone.dayAt(now))
        const state = user.quests.get(quest.id)
        const present = state?.period === period ? state : undefined
        const status =
          present === undefined || (present.startedAt === null && present.completedAt === null)
            ? "not_started"
            : present.completedAt !== null
              ? "completed"
              : present.expired || ["ended", "archived"].includes(statusAt(quest, now))
                ? "expired"
                : "in_progress"
        return [
          quest.id,
          {
            status,
            claim: shownClaim(quest, present?.claim ?? null),
            completedAt: present?.completedAt ?? null,
            times: state?.times ?? 0,
            steps:
              status === "completed"
                ? []
                : quest.steps.map(({ key, target }) =>
                    Math.min(target, stepCountOf(present?.steps, key)),
                  ),
          },
        ]
      }),
    ),
    streaks: byKey(
      [...project.streaks.values()].flatMap((definition) => {
        const { key } = definition
        const streak = user.streaks.get(key)
        const last = streak && lastPeriodOf(streak)
        if (streak === undefined || last === undefined) return []
        const { current, freezes } = streakNow(streak, definition, zones, now)
        const lastDay = dateOf(firstDayOfPeriod(definition, last))
        const paid = [...(streak.paid ?? [])].sort((one, other) => one - other)
        return [[key, { current, best: streak.best, freezes, lastDay, paid }] as const]
      }),
    ),
    calendars: byKey(
      [...project.streaks.values()].map((definition) => {
        const present = periodAt(definition, zones, streakTime(definition, now))
        const listed = streakCalendar(
          user.streaks.get(definition.key),
          definition,
          zones,
          { createdAt: user.createdAt, now },
          [present - 40, present],
        )
        const shown: ReadonlyArray<string> = listed.map(
          ({ period, status }) => `${dateOf(firstDayOfPeriod(definition, period))} ${status}`,
        )
        return [definition.key, shown] as const
      }),
    ),
    streakCounts: byKey(
      [...user.streakCounts].flatMap(([key, periods]) =>
        periods.flatMap(({ counts, period }) =>
          Object.entries(counts).map(
            ([need, count]) => [`${key} ${period} ${need}`, count] as const,
          ),
        ),
      ),
    ),
    windows: shownWindows(user.windows),
    boards: byKey(
      [...project.leaderboards.values()]
        .filter((board) => !isXpBoard(board))
        .map((board) => {
          const { counted, missed, sequence, windows } = user.boards.get(board.id) ?? noBoardScores
          const earned = addedEver(user, project, board.score)
          const score = isWhole(board) ? earned - missed : counted
          return [board.id, { score, since: sequence, windows: shownWindows(windows) }] as const
        }),
    ),
    metrics: metricProgress(user, project, now),
    boosts: user.boosts.toSorted(byTimes),
    rulesReached: byKey([...user.rulesReached].map(([id, { times }]) => [id, times] as const)),
    activity: user.activity && {
      first: dateOf(user.activity.firstDay),
      last: dateOf(lastDayOf(user.activity)),
      recent: daysOf(user.activity)
        .map(dateOf)
        .filter((date) => date >= recentSince(now)),
    },
    experiments: byKey(
      [...user.experiments].map(([id, { at, before = 0, variant }]) => {
        const key = project.experiments.get(id)?.metric
        const metric = [...project.metrics.values()].find((one) => one.key === key)
        const decimals = metric?.decimals ?? 0
        return [id, { variant, at, before: unscaled(before, decimals) }] as const
      }),
    ),
    purchases: byKey(
      [...user.purchases].map(([itemId, bought]) => [
        itemId,
        limitPeriods.map((per) => boughtIn(bought, per, zone, now)),
      ]),
    ),
    lastPurchase: user.lastPurchase,
    teams: byKey(
      teamsOfUser(user, project).map(({ joinedAt, team: { id, kind, name } }) => [
        kind,
        { id, kind, name, joinedAt },
      ]),
    ),
    createdAt: user.createdAt,
    updatedAt: user.updatedAt,
  }
}

/** What a user ever earned of the currency or added to the metric; present values are compared apart. */
const addedEver = (user: UserState, { metrics }: ProjectState, score: BoardScore): number => {
  if ("currency" in score) return earnedOf(user, score.currency)
  if ("streak" in score) return 0
  const { aggregate, id } = definitionWithKey(metrics, score.metric)!
  return addsUp(aggregate) ? (metricTotal(user.metrics.get(id)) ?? 0) : 0
}

const shownWindows = (windows: UserState["windows"]) =>
  byKey(
    windowKinds.map((kind) => {
      const { index, indexBefore, sequence, sequenceBefore, xp, xpBefore } = windows[kind]
      const latest = { first: dateOf(firstDayOf(kind, index)), xp, since: sequence }
      const before = {
        first: dateOf(firstDayOf(kind, indexBefore)),
        xp: xpBefore,
        since: sequenceBefore,
      }
      return [kind, [before, latest].filter(({ since }) => since > 0)]
    }),
  )

/** The windows of a log. The state may lack some that are over. */
const windowsIn = (
  log: Log,
  timezone: string,
  now: number,
  state: ReturnType<typeof shownWindows>,
  sinceOf: (kind: (typeof windowKinds)[number], first: string) => number,
) =>
  byKey(
    windowKinds.map((kind) => [
      kind,
      windowsOf(log, kind)
        .filter(
          (first, index, { length }) =>
            first >= windowAt(kind, timezone, now) || length - index <= (state[kind]?.length ?? 0),
        )
        .map((first) => ({ first, xp: windowXp(log, kind, first), since: sinceOf(kind, first) })),
    ]),
  )

export const modelView = (
  log: Log,
  profile: Profile,
  place: Place,
  now: number,
  /** The state, which may lack windows that are over. */
  state: ReturnType<typeof stateView>,
): ReturnType<typeof stateView> => {
  const { badges, places, quests, settings, streaks } = place
  const held = badgesOf(log)
  return {
    xp: xpOf(log),
    xpSince: xpSince(log),
    points: pointsOf(log, { ...place, now }),
    pointsEarned: pointsEarnedOf(log),
    balances: furtherOf(log, place, now),
    pending: byKey(
      place.currencies.map(({ key }) => [key, pendingOf(log, key, { ...place, now })]),
    ),
    endings: byKey(
      place.currencies.map(({ key }) => [
        key,
        holdingOf(log, key, { ...place, now }).endings(places),
      ]),
    ),
    currencyLevels: byKey(
      place.currencies.flatMap(({ key, levels }) => {
        if (levels === null) return []
        const amount = levelAmountOf(log, key, levels, { ...place, now })
        return [[key, [amount, levelIn(levels, amount)]] as const]
      }),
    ),
    level: levelOf(settings.levelCurve, xpOf(log)),
    profile,
    badges: byKey(
      [...held].map(([id, awards]) => [
        id,
        awards.map(({ earnedAt, target, tier, times }) => ({
          tier,
          earnedAt,
          ...(target !== undefined && { target }),
          ...(times !== undefined && { times }),
        })),
      ]),
    ),
    badgesPaid: byKey(
      [...paidOf(log)].map(([name, times]) => [JSON.parse(name).join(" ").trimEnd(), times]),
    ),
    levelsPaid: byKey(levelsPaid(log)),
    badgeCounts: byKey(
      badges
        .filter(({ criteria, id }) => isCounting(criteria) && !held.has(id))
        .map(({ id }) => [id, countFor(log, id)]),
    ),
    questCount: questCount(log),
    quests: byKey(
      quests.map((quest) => {
        const period = periodOf(quest, settings.timezone, now)
        const status = standingIn(log, quest, period, settings.timezone, now)
        return [
          quest.id,
          {
            status,
            claim: shownClaim(quest, claimOf(log, quest.id, period)),
            completedAt: completedIn(log, quest.id, period),
            times: completionsOf(log, quest.id).length,
            steps:
              status === "completed"
                ? []
                : quest.steps.map(({ key, target }) =>
                    Math.min(target, stepCount(log, quest.id, period, key)),
                  ),
          },
        ]
      }),
    ),
    streaks: byKey(
      streaks.flatMap((definition) => {
        const { key } = definition
        const { lastDay, ...streak } = streakOf(log, definition, places, now)
        const paid = paidMilestones(log, key).toSorted((one, other) => one - other)
        return lastDay === null ? [] : [[key, { ...streak, lastDay, paid }] as const]
      }),
    ),
    calendars: byKey(
      streaks.map(
        (definition) => [definition.key, calendarOf(log, definition, places, now)] as const,
      ),
    ),
    streakCounts: byKey(
      streaks.flatMap(({ key }) =>
        openCounts(log, key).map(
          ({ count, need, period }) => [`${key} ${period} ${need}`, count] as const,
        ),
      ),
    ),
    windows: windowsIn(log, settings.timezone, now, state.windows, (kind, first) =>
      windowXpSince(log, kind, first),
    ),
    boards: byKey(
      place.leaderboards
        .filter(({ key }) => key !== "xp")
        .map((board) => {
          const { id } = board
          const windows = windowsIn(
            onBoard(log, id),
            settings.timezone,
            now,
            state.boards[id]!.windows,
            (kind, first) => scoreSince(log, id, kind, first),
          )
          return [id, { ...totalOn(log, board, place), windows }] as const
        }),
    ),
    metrics: metricsShown(log, profile, place, now),
    boosts: ownedBy(log).toSorted(byTimes),
    rulesReached: byKey(reachedBy(log)),
    activity: activityOf(log, recentSince(now)),
    experiments: byKey(
      enteredBy(log).map(({ at, before, experimentId, variant }) => [
        experimentId,
        { variant, at, before },
      ]),
    ),
    purchases: byKey(boughtItems(log, settings.timezone, now)),
    lastPurchase: log.findLast(({ kind }) => kind === "purchase")?.sequence ?? 0,
    teams: byKey(teamsOf(log, place.teams)),
    createdAt: log[0]!.at,
    updatedAt: log.at(-1)!.at,
  }
}

/** The claim of an archived quest lapses with the next tick. */
const shownClaim = ({ set }: Quest, claim: "open" | "paid" | null) =>
  set === "archived" && claim === "open" ? null : claim

/** A reply in the form of the model's. */
export const outcomeOf = (record: JournalRecord): Outcome => {
  const reply = replyOf(record)
  if (reply.kind === "spend" || reply.kind === "refund") {
    const earned = reply.kind === "spend" ? 0 - reply.amount : reply.amount
    const currencies = Object.entries(reply.currencies ?? {}).map(([key, change]) => [
      key,
      {
        earned: "spent" in change ? 0 - change.spent : change.refunded,
        total: change.total,
      },
    ])
    return {
      ...nothingDone,
      points: { earned, total: reply.total },
      currencies: Object.fromEntries(currencies),
      balances: reply.balances,
    }
  }
  const price = priceIn(reply)
  if (reply.kind === "merge" || reply.kind === "opening") return nothingDone
  const badges = reply.badges
    .map(({ earnedAt, id, tier, times }) => ({
      id,
      tier: tier?.key ?? "",
      earnedAt,
      ...(times !== undefined && { times }),
    }))
    .sort(byId)
  if (reply.kind === "done") return { ...nothingDone, badges }
  return {
    xp: reply.xp,
    points: reply.points,
    currencies: reply.currencies ?? {},
    capped: cutOf(reply.capped ?? []),
    pending: (reply.pending ?? [])
      .map(({ spendableAt, ...credit }) => ({ ...credit, spendableAt: Date.parse(spendableAt) }))
      .sort((one, other) => (one.currency < other.currency ? -1 : 1)),
    expired: reply.kind === "revocation" ? (reply.expired ?? {}) : {},
    freezes: Object.fromEntries(
      Object.entries(reply.freezes ?? {}).map(([key, { capped = 0, ...change }]) => [
        key,
        { ...change, capped },
      ]),
    ),
    levels: Object.fromEntries(
      Object.entries(reply.levels ?? {}).map(([key, { after, before }]) => [
        key,
        [before?.number ?? 0, after?.number ?? 0] as const,
      ]),
    ),
    balances: reply.balances,
    level: reply.level,
    badges,
    badgesRevoked: reply.badgesRevoked
      .map(({ id, tier, times }) => `${id} ${tier?.key ?? ""} ${times}`)
      .sort(),
    owned: (reply.boostsEarned ?? []).map(timesOf).sort(byStart),
    disowned: reply.boostsRevoked.map(timesOf).sort(byStart),
    quests: reply.quests
      .map(({ alreadyCompleted, claimable, progress, questId, status }) => ({
        questId,
        status,
        progress,
        alreadyCompleted,
        ...(claimable && { claimable }),
      }))
      .sort((one, other) => (one.questId < other.questId ? -1 : 1)),
    streaks: [...reply.streaks].sort(ofKeys),
    boosts: reply.kind === "event" ? [...reply.boosts].sort(ofKeys) : [],
    entered: (reply.experiments ?? [])
      .map(({ experimentId, variant }) => `${experimentId} ${variant}`)
      .sort(),
    metrics: [...reply.metrics].sort(ofKeys),
    ...(price !== undefined && { price }),
  }
}

const priceIn = (reply: UserReply): Outcome["price"] => {
  if (!("price" in reply)) return undefined
  const amounts = Object.entries(reply.price).map(([key, amount]) =>
    typeof amount === "number"
      ? ([key, [amount, 0]] as const)
      : ([key, [amount.refunded, amount.shortfall]] as const),
  )
  return Object.fromEntries(amounts)
}

const timesOf = (one: {
  readonly key: string
  readonly startsAt: string
  readonly endsAt: string
}) => ({
  key: one.key,
  startsAt: Date.parse(one.startsAt),
  endsAt: Date.parse(one.endsAt),
})

/** Boosts of one record have no order among themselves. */
const byTimes = (one: Owned, other: Owned): number =>
  one.startsAt - other.startsAt || one.endsAt - other.endsAt || (one.key < other.key ? -1 : 1)

const byStart = (one: Owned, other: Owned): number =>
  JSON.stringify(one) < JSON.stringify(other) ? -1 : 1

const ofKeys = (one: { readonly key: string }, other: { readonly key: string }): number =>
  one.key < other.key ? -1 : 1

/** Sorts lists whose order has no meaning. */
export const sorted = (outcome: Outcome | Refused): Outcome | Refused =>
  "refused" in outcome
    ? outcome
    : {
        ...outcome,
        badges: [...outcome.badges].sort(byId),
        badgesRevoked: [...outcome.badgesRevoked].sort(),
        owned: [...outcome.owned].sort(byStart),
        disowned: [...outcome.disowned].sort(byStart),
        quests: [...outcome.quests].sort((one, other) => (one.questId < other.questId ? -1 : 1)),
        streaks: [...outcome.streaks].sort(ofKeys),
        boosts: [...outcome.boosts].sort(ofKeys),
        metrics: [...outcome.metrics].sort(ofKeys),
      }

type Named = Outcome["badges"][number]

const byId = (one: Named, other: Named): number =>
  `${one.id} ${one.tier}` < `${other.id} ${other.tier}` ? -1 : 1

/** The streaks that a record found at risk, and its reminders. */
export const toldBy = ({ facts }: JournalRecord): Told => ({
  warned: facts.flatMap((fact) => {
    if (fact.kind !== "streak.at_risk") return []
    const { kind: _, ...warning } = fact
    return [warning]
  }),
  reminded: facts.flatMap((fact) => {
    if (fact.kind !== "user.inactive") return []
    const { kind: _, ...reminded } = fact
    return [reminded]
  }),
  quests: facts
    .flatMap((fact) => (fact.kind === "quest.ending" ? [`${fact.questId} ${fact.endsAt}`] : []))
    .sort(),
  amounts: facts
    .flatMap((fact) =>
      fact.kind === "currency.expiring"
        ? [`${fact.currency} ${fact.through} ${fact.endings.join(" ")}`]
        : [],
    )
    .sort(),
})

interface Told extends Pick<Ticked, "reminded" | "warned"> {
  readonly quests: ReadonlyArray<string>
  readonly amounts: ReadonlyArray<string>
}

/** The same of the model. */
export const toldIn = ({
  ended,
  reminded,
  warned,
}: Omit<Ticked, "at" | "kind" | "sequence">): Told => ({
  warned,
  reminded,
  quests: ended.quests.map(({ endsAt, questId }) => `${questId} ${endsAt}`).sort(),
  amounts: ended.amounts
    .map(({ currency, endings, through }) => `${currency} ${through} ${endings.join(" ")}`)
    .sort(),
})
