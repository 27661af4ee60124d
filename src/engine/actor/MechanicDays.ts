/**
 * What each mechanic of an environment did on each of the latest days: how often, and the xp that it gave.
 * Like the counts of actions, an undo and the erasure of a user change nothing. A day is that of
 * `DayCounts.ts`.
 *
 * | kind   | counts |
 * | ------ | ------ |
 * | rule   | events that it rewarded |
 * | quest  | completions |
 * | badge  | awards, of tiers each; several at once of a repeatable badge are one |
 * | streak | periods that were kept |
 * | league | places that users took in a cohort |
 * | boost  | records in which it multiplied an amount |
 * | item   | units bought |
 * | goal   | completions, of teams each |
 * | leaderboard | prizes won |
 *
 * Facts name streaks and boosts by their keys, so a place has the kind and the id or key. What gave xp is
 * named by its id: the xp of the milestones of a streak has a place of its own.
 *
 * Cost: two look-ups in maps for each fact that counts. The first `mechanicsCountedMax` definitions get a
 * place each, so the snapshot has at most 0.7 MiB of it.
 */
import type { Source } from "../../domain/record/BalanceFact.ts"
import { rewardingRule } from "../../domain/record/Past.ts"
import type { Fact, JournalRecord } from "../../domain/record/Record.ts"
import type { MechanicNoun } from "../../domain/user/MechanicTally.ts"
import { limits } from "../../Limits.ts"

/** What a mechanic did on a day. */
export interface MechanicDay {
  readonly times: number
  readonly xp: number
}

type Counted = { -readonly [Name in keyof MechanicDay]: MechanicDay[Name] }

const nothing: MechanicDay = { times: 0, xp: 0 }

/** By place: the days on which it did something. */
export type StoredMechanics = ReadonlyArray<
  readonly [place: string, days: ReadonlyArray<readonly [day: number, times: number, xp: number]>]
>

/** The definition that a source names, with its kind. */
const placeOf = (source: Source): string | undefined => {
  if (typeof source === "string") return undefined
  if ("ruleId" in source) return source.ruleId
  if ("questId" in source) return source.questId
  if ("badgeId" in source) return source.badgeId
  if ("streakId" in source) return source.streakId
  if ("boardId" in source) return source.boardId
  if ("leagueId" in source) return source.leagueId
  if ("itemId" in source) return source.itemId
  return "goalId" in source ? source.goalId : undefined
}

/** The place of a definition: of most kinds its id, which names its kind. */
export const mechanicPlace = (
  noun: MechanicNoun,
  { id, key }: { readonly id: string; readonly key: string },
): string => (noun === "streak" || noun === "boost" ? `${noun} ${key}` : id)

export class MechanicDays {
  readonly #places = new Map<string, Map<number, Counted>>()
  /** The latest day. */
  #latest = Number.NEGATIVE_INFINITY

  on(place: string, day: number): MechanicDay {
    return this.#places.get(place)?.get(day) ?? nothing
  }

  /** Whether the definition has a place, or would get one. */
  hasPlaceFor(place: string): boolean {
    return this.#places.has(place) || this.#places.size < limits.mechanicsCountedMax
  }

  /** Counts a record of the day that `dayOf` tells; returns whether anything counted. */
  fold({ cause, facts }: JournalRecord, dayOf: () => number): boolean {
    let day: number | undefined
    let once: Set<string> | undefined
    const add = (place: string, times: number, xp = 0): void => {
      day ??= dayOf()
      const counted = this.#at(place, day)
      if (counted === undefined) return
      counted.times += times
      counted.xp += xp
    }
    const addOnce = (place: string): void => {
      once ??= new Set()
      if (once.has(place)) return
      once.add(place)
      add(place, 1)
    }
    for (const fact of facts) {
      this.#foldFact(fact, add, addOnce)
      if (fact.kind === "leaderboard.prize_won" && cause.kind === "payment") {
        if (cause.prize !== undefined) add(cause.prize.boardId, 1)
      }
    }
    return day !== undefined
  }

  #foldFact(
    fact: Fact,
    add: (place: string, times: number, xp?: number) => void,
    addOnce: (place: string) => void,
  ): void {
    const ruleId = rewardingRule(fact)
    if (ruleId !== undefined) addOnce(ruleId)
    switch (fact.kind) {
      case "xp.earned":
      case "points.earned":
      case "currency.earned": {
        const { boosts, source } = fact
        if (boosts !== undefined) for (const { key } of boosts) addOnce(`boost ${key}`)
        const place = placeOf(source)
        if (fact.kind === "xp.earned" && place !== undefined) add(place, 0, fact.amount)
        break
      }
      case "badge.earned":
        add(fact.badgeId, 1)
        break
      case "quest.completed":
        add(fact.questId, 1)
        break
      case "streak.extended":
      case "streak.counted":
        add(`streak ${fact.key}`, 1)
        break
      case "league.joined":
        add(fact.leagueId, 1)
        break
      case "item.purchased":
        add(fact.itemId, 1)
        break
      case "goal.completed":
        add(fact.goalId, 1)
        break
    }
  }

  /** `undefined`: the day is too long ago, or there is no place. */
  #at(place: string, day: number): Counted | undefined {
    if (day <= this.#latest - limits.mechanicDaysMax) return undefined
    let days = this.#places.get(place)
    if (days === undefined) {
      if (this.#places.size >= limits.mechanicsCountedMax) return undefined
      days = new Map()
      this.#places.set(place, days)
    }
    const known = days.get(day)
    if (known !== undefined) return known
    const counted = { ...nothing }
    days.set(day, counted)
    if (day > this.#latest) this.#forget(day)
    return counted
  }

  #forget(latest: number): void {
    this.#latest = latest
    for (const days of this.#places.values()) {
      for (const day of days.keys()) if (day <= latest - limits.mechanicDaysMax) days.delete(day)
    }
  }

  load(stored: StoredMechanics): void {
    for (const [place, days] of stored) {
      for (const [day, times, xp] of days) {
        const counted = this.#at(place, day)
        if (counted !== undefined) Object.assign(counted, { times, xp })
      }
    }
  }

  /** The member for the snapshot; none without a place. */
  stored(): { readonly mechanics?: StoredMechanics } {
    if (this.#places.size === 0) return {}
    const mechanics = Array.from(
      this.#places,
      ([place, days]) =>
        [
          place,
          [...days]
            .sort(([one], [other]) => one - other)
            .map(([day, { times, xp }]) => [day, times, xp] as const),
        ] as const,
    )
    return { mechanics }
  }
}
