/**
 * Decides the opening balances of a user (`record/Opening.ts`): what people who move in had before.
 *
 * - They are set once, before the first event, reward and spend, and before a merge. A repeat with
 *   the same content gets the first answer, one with other content is refused (`Repeat.ts`).
 * - They pay nothing. Badges, milestones and levels that the numbers have reached are not given, and
 *   are not paid later: a target pays when it is crossed, and levels and milestones count as paid. The
 *   badges of the list are kept as those that a person gave, and count as paid, too.
 * - Xp count on the board of all time and in no window. No `max`, `earnLimit` or `pendingDays` cuts
 *   or delays them. What ends with a day is in lots from the beginning.
 * - A streak has as many periods in a row, up to its last day, as if they had been kept here. Its freezes
 *   are those that so many periods earn.
 * - They cannot be undone, because later records depend on them. An operator grants or
 *   spends the difference, or erases the user.
 */
import { Result } from "effect"
import { limits } from "../../Limits.ts"
import { activeCurrency, type Currency } from "../project/Currency.ts"
import { awardsOf } from "../project/Definition.ts"
import { definitionWithKey } from "../project/DefinitionKey.ts"
import { levelAt } from "../project/Level.ts"
import type { ProjectState } from "../project/Project.ts"
import { isShown } from "../project/StreakDefinition.ts"
import type { Opening, OpeningBadge, OpeningFact, OpeningLot } from "../record/Opening.ts"
import type { Fact } from "../record/Record.ts"
import { levelName } from "../user/CurrencyLevel.ts"
import { lastDayOf, todayOf } from "../user/Expiry.ts"
import { type DayLots, noLots, withDayLot } from "../user/Lots.ts"
import { isRefilling } from "../user/Refill.ts"
import { openedStreak } from "../user/Streak.ts"
import { periodAt, periodOfDay } from "../user/StreakPeriods.ts"
import { type UserState, userZones } from "../user/User.ts"
import { dayOf } from "../values/Calendar.ts"
import { pointerStep } from "../values/differences.ts"
import { type Fault, invalidRequest, type LaurelError, refuse } from "../values/Errors.ts"
import type { Decision } from "./Draft.ts"

/** What an opening is checked against, and where its faults are gathered. */
interface Check {
  readonly user: UserState | undefined
  readonly project: ProjectState
  readonly now: number
  readonly faults: Array<Fault>
}

export const decideOpening = (
  user: UserState | undefined,
  project: ProjectState,
  command: Opening,
  now: number,
): Result.Result<Decision, LaurelError<"invalid_request" | "opening_closed">> => {
  if (user !== undefined && isUnderWay(user)) {
    return refuse(
      "opening_closed",
      "The user has events, rewards, spends, balances or badges already: grant or spend the difference.",
    )
  }
  const check: Check = { user, project, now, faults: [] }
  const balances = balancesOf(check, command)
  const lots = lotsOf(check, command, balances)
  const streaks = streaksOf(check, command)
  const badges = badgesOf(check, command)
  if (check.faults.length > 0) return Result.fail(invalidRequest(check.faults))
  const levels = levelsOf(project, balances)
  const xp = balances.xp?.amount ?? 0
  const opened: OpeningFact = {
    kind: "user.opened",
    xp,
    points: balances.points?.amount ?? 0,
    level: levelAt(project.settings.levelCurve, xp),
    balances,
    ...(Object.keys(lots).length > 0 && { lots }),
    ...(levels.length > 0 && { levels }),
    streaks,
    badges,
  }
  const facts: ReadonlyArray<Fact> =
    user === undefined ? [{ kind: "user.created" }, opened] : [opened]
  return Result.succeed({ cause: command, facts })
}

/** Whether anything has happened to the user but changes of the profile and starts of quests. */
const isUnderWay = (user: UserState): boolean =>
  user.lastEventAt !== 0 ||
  user.lastReward !== 0 ||
  user.lastSpend !== 0 ||
  user.scoreSequence !== 0 ||
  user.points !== 0 ||
  user.balances.size > 0 ||
  user.badges.size > 0 ||
  user.streaks.size > 0 ||
  user.absorbed.length > 0

const fault = (pointer: string, code: string, detail: string): Fault => ({ pointer, code, detail })

const balancesOf = (
  { faults, now, project }: Check,
  { balances = {}, earned = {} }: Opening,
): OpeningFact["balances"] => {
  const keys = new Set([...Object.keys(balances), ...Object.keys(earned)])
  const opened = [...keys].flatMap((key) => {
    const currency = activeCurrency(project.currencies, key)
    if (currency === undefined) {
      for (const [member, amounts] of Object.entries({ balances, earned })) {
        if (Object.hasOwn(amounts, key)) faults.push(unknownCurrency(`/${member}`, key))
      }
      return []
    }
    const amount = own(balances, key) ?? 0
    const total = own(earned, key) ?? amount
    const pointer = `/earned${pointerStep(key)}`
    if (total < amount) faults.push(fault(pointer, "out_of_range", "must be at least the balance"))
    if (key === "xp" && total > amount) {
      faults.push(fault(pointer, "out_of_range", "must be the balance: nobody spends xp"))
    }
    const balance = { amount, spent: Math.max(0, total - amount) }
    // What a refill adds is waited for from the opening on.
    return [[key, isRefilling(currency) ? { ...balance, since: now } : balance] as const]
  })
  return Object.fromEntries(opened)
}

const unknownCurrency = (member: string, key: string): Fault =>
  fault(
    `${member}${pointerStep(key)}`,
    "unknown_reference",
    "matches no active currency of this project",
  )

/** An own member, since a key may be `constructor`. */
const own = <A>(members: { readonly [key: string]: A }, key: string): A | undefined =>
  Object.hasOwn(members, key) ? members[key] : undefined

/** The names of the levels of tables that the balances reach. */
const levelsOf = (
  { currencies }: ProjectState,
  balances: OpeningFact["balances"],
): ReadonlyArray<string> =>
  Object.entries(balances).flatMap(([key, { amount, spent }]) => {
    const { of, table = [] } = activeCurrency(currencies, key)?.levels ?? {}
    const reached = of === "balance" ? amount : amount + spent
    return table.filter(({ from }) => from <= reached).map((level) => levelName(key, level.key))
  })

/** The lots of currencies with `expiry`: those of `expiring`, and the rest as if it was earned now. */
const lotsOf = (
  check: Check,
  { expiring = {} }: Opening,
  balances: OpeningFact["balances"],
): { readonly [key: string]: DayLots } => {
  const { currencies } = check.project
  for (const key of Object.keys(expiring)) {
    if (activeCurrency(currencies, key) !== undefined) continue
    check.faults.push(unknownCurrency("/expiring", key))
  }
  const keys = new Set([...Object.keys(balances), ...Object.keys(expiring)])
  const lots = [...keys].flatMap((key) => {
    const currency = activeCurrency(currencies, key)
    if (currency === undefined) return []
    const open = openLots(check, currency, own(expiring, key), own(balances, key)?.amount ?? 0)
    return open.length === 0 ? [] : [[key, open] as const]
  })
  return Object.fromEntries(lots)
}

const openLots = (
  { faults, now, project, user }: Check,
  currency: Currency,
  given: ReadonlyArray<OpeningLot> = [],
  balance: number,
): DayLots => {
  const pointer = `/expiring${pointerStep(currency.key)}`
  const today = todayOf(user, project, now)
  const lastDay = lastDayOf({ ...currency, pendingDays: null }, { day: today, today, active: 0 })
  if (lastDay === undefined) {
    if (given.length > 0) faults.push(fault(pointer, "invalid_value", "has no expiry"))
    return noLots
  }
  let lots: DayLots = noLots
  let rest = balance
  for (const [index, { amount, lastDay: date }] of given.entries()) {
    const day = dayOf(date)!
    if (day < today) {
      const at = `${pointer}/${index}/lastDay`
      faults.push(fault(at, "out_of_range", "must not be in the past"))
    }
    lots = withDayLot(lots, [day, day, amount])
    rest -= amount
  }
  if (rest < 0) faults.push(fault(pointer, "out_of_range", "must be at most the balance in all"))
  return rest > 0 ? withDayLot(lots, [lastDay, lastDay, rest]) : lots
}

const streaksOf = (
  { faults, now, project, user }: Check,
  { streaks = {} }: Opening,
): OpeningFact["streaks"] => {
  const zones = userZones(user, project)
  const opened = Object.entries(streaks).flatMap(([key, { best, current, lastDay }]) => {
    const pointer = `/streaks${pointerStep(key)}`
    const definition = definitionWithKey(project.streaks, key)
    if (definition === undefined || !isShown(definition)) {
      const detail = "matches no streak that users may have"
      faults.push(fault(pointer, "unknown_reference", detail))
      return []
    }
    if (best < current) {
      faults.push(fault(`${pointer}/best`, "out_of_range", "must be at least current"))
    }
    if (current > 0 && lastDay === undefined) {
      faults.push(fault(`${pointer}/lastDay`, "missing", "is required if current is not 0"))
    }
    const day = current === 0 || lastDay === undefined ? undefined : dayOf(lastDay)
    const last = day === undefined ? undefined : periodOfDay(definition, day)
    if (last !== undefined && last > periodAt(definition, zones, now)) {
      faults.push(fault(`${pointer}/lastDay`, "out_of_range", "must not be in the future"))
    }
    return [[key, openedStreak(definition, zones, { current, best, last }, now)] as const]
  })
  return Object.fromEntries(opened)
}

const badgesOf = (check: Check, { badges = [] }: Opening): OpeningFact["badges"] => {
  const seen = new Set<string>()
  return badges.flatMap((given, index) => {
    const pointer = `/badges/${index}`
    const opened = openedBadge(check, given, pointer)
    if (opened === undefined) return []
    const name = `${opened.badgeId} ${given.tier ?? ""}`
    if (seen.has(name)) check.faults.push(fault(pointer, "duplicate", "is in the list already"))
    seen.add(name)
    return [opened]
  })
}

const openedBadge = (
  { faults, now, project }: Check,
  { badge: key, earnedAt, tier: tierKey }: OpeningBadge,
  pointer: string,
): OpeningFact["badges"][number] | undefined => {
  const badge = definitionWithKey(project.badges, key)
  if (badge === undefined || badge.set === "archived" || badge.set === "draft") {
    const detail = "matches no badge of this project that users may have"
    faults.push(fault(`${pointer}/badge`, "unknown_reference", detail))
    return undefined
  }
  if (badge.repeatable) {
    const detail = "is repeatable: only its criteria award it"
    faults.push(fault(`${pointer}/badge`, "invalid_value", detail))
  }
  const award = awardsOf(badge).find(({ tier }) => tier?.key === tierKey)
  if (award === undefined) {
    faults.push(
      tierKey === undefined
        ? fault(`${pointer}/tier`, "missing", "is required: the badge has tiers")
        : fault(`${pointer}/tier`, "unknown_reference", "matches no tier of the badge"),
    )
    return undefined
  }
  if (earnedAt > now + limits.occurredAtFutureMs) {
    const detail = "must be at most 5 minutes in the future"
    faults.push(fault(`${pointer}/earnedAt`, "out_of_range", detail))
  }
  const { tier } = award
  return {
    badgeId: badge.id,
    key: badge.key,
    name: badge.name,
    ...(tier !== undefined && { tier: { key: tier.key, name: tier.name } }),
    earnedAt: Math.min(earnedAt, now),
  }
}
