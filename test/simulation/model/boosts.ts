/** The boosts of an event, as a person with a clock on the wall reads them. */
import type { Boost, Spell } from "../../../src/domain/project/Boost.ts"
import { pays } from "./Definitions.ts"
import type { Log, Owned } from "./log.ts"
import type { Membership } from "./segments.ts"

const days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] as const

/** The day of the week and the time of the clock in a place, such as `friday` and `18:00`. */
const wallAt = (zone: string, ms: number) => {
  const now = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone)
  return { day: now.dayOfWeek - 1, time: now.toPlainTime().toString().slice(0, 5) }
}

const isIn = ({ days: begins, from, to }: Spell, zone: string, ms: number): boolean => {
  const { day, time } = wallAt(zone, ms)
  const today = begins.includes(days[day]!)
  const yesterday = begins.includes(days[(day + 6) % 7]!)
  if (to > from) return today && time >= from && time < to
  return (today && time >= from) || (yesterday && time < to)
}

export interface Clocks {
  readonly project: string
  readonly user: string
}

/** The boosts that run then. */
export const runningThen = (
  boosts: ReadonlyArray<Boost>,
  clocks: Clocks,
  occurredAt: number,
): ReadonlyArray<Boost> =>
  boosts.filter(
    (boost) =>
      pays(boost, occurredAt) &&
      !boost.personal &&
      (boost.weekly.length === 0 ||
        boost.weekly.some((spell) => isIn(spell, clocks[boost.timeZone], occurredAt))),
  )

/**
 * Those that run then for a user, with the log `before` the event. The first rule or quest that pays asks for the segments of all of
 * them; an event for which nothing pays asks for none.
 */
export const runningFor = (
  boosts: ReadonlyArray<Boost>,
  clocks: Clocks,
  occurredAt: number,
  isIn: Membership["isIn"],
  before: Log,
): (() => ReadonlyArray<Boost>) => {
  let found: ReadonlyArray<Boost> | undefined
  const owned = ownedBy(before)
  const isOwn = ({ key, personal, set }: Boost): boolean =>
    personal &&
    set === "published" &&
    owned.some((one) => one.key === key && one.startsAt <= occurredAt && occurredAt < one.endsAt)
  return () => {
    found ??= [
      ...runningThen(boosts, clocks, occurredAt).filter(({ segment }) => isIn(segment)),
      ...boosts.filter(isOwn),
    ]
    return found
  }
}

const same = (one: Owned) => (other: Owned) => JSON.stringify(one) === JSON.stringify(other)

/** The personal boosts that a user still has: of more than 20, the first to end is forgotten. */
export const ownedBy = (log: Log): ReadonlyArray<Owned> => {
  let owned: ReadonlyArray<Owned> = []
  for (const entry of log) {
    if (entry.kind === "undone") {
      for (const one of entry.of.owned) {
        const at = owned.findIndex(same(one))
        owned = owned.filter((_, index) => index !== at)
      }
    }
    for (const one of "owned" in entry ? entry.owned : []) {
      owned = [...owned, one]
      const [first] = owned.toSorted((a, b) => a.endsAt - b.endsAt)
      if (owned.length > 20) owned = owned.filter((each) => each !== first)
    }
  }
  return owned
}

/** Why no reward can give the boost at `now`; `undefined`: one can. */
export const boostRefused = (
  boosts: ReadonlyArray<Boost>,
  key: string,
  log: Log,
  now: number,
): "boost_not_found" | "boost_not_active" | "quota_exceeded" | undefined => {
  const boost = boosts.find((one) => one.key === key && one.personal && one.set !== "archived")
  if (boost === undefined) return "boost_not_found"
  if (boost.set !== "published") return "boost_not_active"
  return ownedBy(log).filter(({ endsAt }) => endsAt > now).length >= 20
    ? "quota_exceeded"
    : undefined
}

/** A number as JSON writes it, as a whole number and a power of ten to divide by. */
const decimal = (value: number): { readonly digits: bigint; readonly places: number } => {
  const [digits = "0", exponent = "0"] = value.toExponential().split("e")
  const [whole = "0", fraction = ""] = digits.split(".")
  return { digits: BigInt(whole + fraction), places: fraction.length - Number(exponent) }
}

/** The product of all, rounded down, computed in decimals as on paper. */
export const product = (...values: ReadonlyArray<number>): number => {
  const factors = values.map(decimal)
  const digits = factors.reduce((product, one) => product * one.digits, 1n)
  const places = factors.reduce((sum, one) => sum + one.places, 0)
  if (places <= 0) return Number(digits * 10n ** BigInt(-places))
  return Number(digits / 10n ** BigInt(places))
}

/** The factor of all boosts together, at most 10. */
export const together = (boosts: ReadonlyArray<Boost>): ReadonlyArray<number> => {
  const factors = boosts.map(({ factor }) => factor)
  return product(1e9, ...factors) > 10e9 ? [10] : factors
}
