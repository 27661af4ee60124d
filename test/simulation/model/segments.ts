/** The segments of a user: every condition is computed from the log. */
import type { Currency } from "../../../src/domain/project/Currency.ts"
import type { Segment, SegmentCondition } from "../../../src/domain/project/Segment.ts"
import type { Profile } from "../../../src/domain/user/User.ts"
import { badgesOf, type Place } from "./badges.ts"
import { balanceOf, xpOf } from "./balances.ts"
import { satisfies } from "./conditions.ts"
import { enteredBy } from "./experiments.ts"
import { levelAmountOf, levelIn, levelOf } from "./levels.ts"
import { type Entered, happened, type Log } from "./log.ts"
import { totalOf } from "./metrics.ts"
import { streakOf } from "./streaks.ts"
import { teamsOf } from "./teams.ts"

export interface Somebody {
  readonly userId: string
  readonly log: Log
  readonly profile: Profile
  readonly place: Place
  readonly now: number
  /** What the decision enters, beside what the log has. */
  readonly entered?: ReadonlyArray<Entered>
}

const day = 86_400_000

/** MurmurHash3 for 32 bits, in numbers without a size. */
export const hashOf = (text: string): bigint => {
  const whole = 2n ** 32n
  const turned = (number: bigint, by: bigint) =>
    ((number << by) | (number >> (32n - by))) & (whole - 1n)
  const mixed = (word: bigint) => (turned((word * 0xcc9e2d51n) % whole, 15n) * 0x1b873593n) % whole
  const bytes = [...Buffer.from(text)]
  const wordOf = (part: ReadonlyArray<number>) =>
    part.reduceRight((word, byte) => word * 256n + BigInt(byte), 0n)
  let hash = 0n
  while (bytes.length >= 4) {
    hash = (turned(hash ^ mixed(wordOf(bytes.splice(0, 4))), 13n) * 5n + 0xe6546b64n) % whole
  }
  hash ^= mixed(wordOf(bytes))
  hash ^= BigInt(Buffer.from(text).length)
  hash = ((hash ^ (hash >> 16n)) * 0x85ebca6bn) % whole
  hash = ((hash ^ (hash >> 13n)) * 0xc2b2ae35n) % whole
  return hash ^ (hash >> 16n)
}

/** What the condition compares; `undefined`: the user has none. */
const found = (
  { entered = [], log, now, place, profile, userId }: Somebody,
  condition: SegmentCondition,
): unknown => {
  switch (condition.kind) {
    case "attribute":
      return new Map(Object.entries(profile.attributes)).get(condition.attribute!)
    case "level":
      return levelOf(place.settings.levelCurve, xpOf(log))
    case "balance":
      return condition.currency === "xp"
        ? xpOf(log)
        : balanceOf(log, condition.currency!, { ...place, now })
    case "currency_level": {
      const isNamed = ({ key, set }: Currency) => key === condition.currency && set !== "archived"
      const { levels = null } = place.currencies.find(isNamed) ?? {}
      if (levels === null) return 0
      const amount = levelAmountOf(log, condition.currency!, levels, { ...place, now })
      return levelIn(levels, amount)
    }
    case "badge": {
      const badge = place.badges.find(({ key }) => key === condition.badge)
      return badgesOf(log).get(badge?.id ?? "")?.[0]?.earnedAt
    }
    case "streak": {
      const streak = place.streaks.find(({ key }) => key === condition.streak)
      return streak === undefined ? 0 : streakOf(log, streak, place.places, now).current
    }
    case "metric": {
      const metric = place.metrics.find(({ key }) => key === condition.metric)
      return (metric && totalOf(log, metric)) ?? undefined
    }
    case "team":
      return teamsOf(log, place.teams).get(condition.team!)?.id
    case "account_age_days":
      return Math.floor((now - (log[0]?.at ?? now)) / day)
    case "inactive_days": {
      const events = happened(log).filter(({ kind }) => kind === "event")
      const last = Math.max(...events.map(({ occurredAt }) => occurredAt))
      return events.length === 0 ? undefined : Math.floor((now - last) / day)
    }
    case "experiment":
      return [...enteredBy(log), ...entered].find(({ key }) => key === condition.experiment)
        ?.variant
    case "percent":
      return Number(hashOf(`${condition.salt}:${userId}`) * 100n) / 2 ** 32
  }
}

/** The condition with the number of the level that it names; `undefined`: there is no such level. */
const meantBy = (
  { place }: Somebody,
  condition: SegmentCondition,
): SegmentCondition | undefined => {
  if (condition.kind !== "currency_level" || typeof condition.value === "number") return condition
  const currency = place.currencies.find(({ key }) => key === condition.currency)
  const table = (currency?.set !== "archived" && currency?.levels?.table) || []
  const value = table.map(({ key }) => key).indexOf(condition.value as string) + 1
  return value === 0 ? undefined : { ...condition, value }
}

const isMember = (somebody: Somebody, { conditions, match, set }: Segment): boolean => {
  const answers = conditions.map((condition) => {
    const value = found(somebody, condition)
    const meant = meantBy(somebody, condition)
    if (meant === undefined) return false
    return satisfies([{ ...meant, path: "found" }], value === undefined ? {} : { found: value })
  })
  return set !== "archived" && (match === "all" ? !answers.includes(false) : answers.includes(true))
}

/** Tells whether a user is in a segment, and lists the segments that were asked for and hold. */
export interface Membership {
  readonly isIn: (segment: string | null) => boolean
  readonly held: () => ReadonlyArray<string>
}

export const membershipOf = (somebody: Somebody): Membership => {
  const held = new Set<string>()
  return {
    isIn: (wanted) => {
      if (wanted === null) return true
      const segment = somebody.place.segments.find(({ key }) => key === wanted)
      const answer = segment !== undefined && isMember(somebody, segment)
      if (answer) held.add(wanted)
      return answer
    },
    held: () => [...held],
  }
}

export const everyone: Membership["isIn"] = () => true
