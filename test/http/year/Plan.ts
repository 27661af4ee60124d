/**
 * A year of a product, made from a seed: who does what on which day. Retention follows from the way in
 * which it is made: of each cohort exactly so many users are active on each of their days
 * (`returningOf`), whoever they are.
 *
 * - The first `historyDays` days are imported, the others are lived through with a test clock.
 * - A day is the local day of a user. Zones without summer time are used, so that the plan needs no
 *   calendar: a zone is an offset.
 * - Besides the users of cohorts there are those of two experiments, of a streak that a pause breaks or
 *   saves, two ids of one person that are merged, and users who are erased.
 */
import { hashOf } from "../../simulation/model/segments.ts"
import { Random } from "../../simulation/random.ts"

export const dayMs = 86_400_000
const hourMs = 3_600_000
const minuteMs = 60_000

export const historyDays = 270
export const liveDays = 95
/** Events of a live day are sent at this hour of UTC. */
export const sendingHour = 20

export interface Zone {
  readonly name: string
  readonly offsetHours: number
}

export const utc: Zone = { name: "UTC", offsetHours: 0 }
const zones: ReadonlyArray<Zone> = [
  { name: "Asia/Tokyo", offsetHours: 9 },
  { name: "America/Phoenix", offsetHours: -7 },
]

export interface Person {
  readonly id: string
  readonly zone: Zone
  /** The experiment whose audience the person is in. */
  readonly arm?: "main" | "skew"
}

/** An event. `day`: the local day, from the first live day on. `sent`: the live day; -1: imported. */
export interface Act {
  readonly person: Person
  readonly action: "LESSON" | "SHARE" | "LOOK"
  readonly day: number
  readonly at: number
  readonly sent: number
  readonly id: string
  /** It is undone on the same live day. */
  readonly undone?: true
}

export interface Plan {
  readonly seed: number
  /** The first live day, as a number of days since 1970. */
  readonly base: number
  readonly people: ReadonlyMap<string, Person>
  /** In the order in which they are sent. */
  readonly acts: ReadonlyArray<Act>
  readonly cohortSize: (day: number) => number
  /** Pairs of ids: the first is merged into the second, after the last day. */
  readonly merges: ReadonlyArray<readonly [from: string, into: string]>
  readonly erased: ReadonlyArray<string>
  /** Pauses of the streak, each set before the events of a live day. */
  readonly pauses: ReadonlyArray<Pause>
  readonly buyers: ReadonlyArray<string>
}

export interface Pause {
  readonly userId: string
  readonly sent: number
  readonly from: number
  readonly to: number
}

/** The share of a cohort that is active so many days after its first one. */
export const returningShare = (days: number): number => {
  if (days === 0) return 1
  return days <= 90 ? 0.4 * days ** -0.46 : days <= 200 ? 0.02 : 0
}

export const mainExperiment = { id: "exp_year", key: "year" }
export const skewExperiment = { id: "exp_skew", key: "skew" }
export const variants = [
  { key: "control", weight: 1 },
  { key: "goal", weight: 1 },
]
export const experimentDay = 5
/** The share of each variant that comes back on the days after the exposure: 5 points apart. */
export const effect: ReadonlyArray<readonly [days: number, control: number, goal: number]> = [
  [1, 0.5, 0.55],
  [7, 0.4, 0.45],
  [14, 0.3, 0.35],
  [30, 0.2, 0.25],
  [60, 0.1, 0.15],
]

/** Of two variants of the same weight. */
export const variantAt = (experimentId: string, userId: string): string =>
  hashOf(`${experimentId}:${userId}`) < 2n ** 31n ? "control" : "goal"

/** Users `prefix<n>` with so many of each variant. */
const drawn = (
  prefix: string,
  experimentId: string,
  wanted: Readonly<Record<string, number>>,
): ReadonlyMap<string, ReadonlyArray<string>> => {
  const found = new Map<string, Array<string>>(Object.keys(wanted).map((key) => [key, []]))
  const isFull = () => [...found].every(([key, { length }]) => length === wanted[key])
  for (let n = 0; !isFull(); n++) {
    const variant = variantAt(experimentId, `${prefix}${n}`)
    const own = found.get(variant)!
    if (own.length < wanted[variant]!) own.push(`${prefix}${n}`)
  }
  return found
}

/** Makes the plan step by step. */
class Maker {
  readonly random: Random
  readonly base: number
  readonly people = new Map<string, Person>()
  readonly acts: Array<Act> = []
  readonly #zoneShare: number

  constructor(seed: number, base: number, zoneShare: number) {
    this.random = new Random(seed)
    this.base = base
    this.#zoneShare = zoneShare
  }

  person(id: string, arm?: Person["arm"]): Person {
    const zone = this.random.chance(this.#zoneShare) ? this.random.pick(zones) : utc
    const made = { id, zone, ...(arm !== undefined && { arm }) }
    this.people.set(id, made)
    return made
  }

  /** An event at a random hour of the person's day `day`. */
  act(person: Person, action: Act["action"], day: number, more: Partial<Act> = {}): void {
    const sent = more.sent ?? Math.max(-1, day)
    // What is sent on a live day has happened by then, wherever the person is.
    const lastHour = sent === day ? Math.min(23, sendingHour + person.zone.offsetHours - 1) : 22
    const hour = this.random.integer(Math.min(7, lastHour), lastHour)
    const local = (this.base + day) * dayMs + hour * hourMs + this.random.integer(5, 55) * minuteMs
    const at = local - person.zone.offsetHours * hourMs
    const id = `${person.id}/${this.acts.length}`
    this.acts.push({ person, action, day, at, sent, id, ...more })
  }

  /** What a person does on an active day of a cohort. */
  visit(person: Person, day: number): void {
    const { random } = this
    if (random.chance(0.2)) this.act(person, "LOOK", day)
    else this.act(person, "LESSON", day)
    if (random.chance(0.3)) this.act(person, "LESSON", day)
    if (random.chance(0.1)) this.act(person, "SHARE", day)
    if (random.chance(0.05)) this.act(person, "LOOK", day)
  }

  sorted(): ReadonlyArray<Act> {
    return this.acts.toSorted(
      (one, other) =>
        one.sent - other.sent ||
        Number(one.undone ?? 0) - Number(other.undone ?? 0) ||
        one.at - other.at,
    )
  }
}

interface Sizes {
  /** The users of cohorts. */
  readonly users: number
  /** The users of each variant: a multiple of 20, so that 5 points are whole users. */
  readonly perVariant: number
  /** Pairs of ids, erased users, undone events, buyers, and events that come late. */
  readonly few: number
  readonly zoneShare: number
}

export const planOf = (seed: number, base: number, sizes: Sizes): Plan => {
  const maker = new Maker(seed, base, sizes.zoneShare)
  const cohortSize = addCohorts(maker, sizes.users)
  const merges = [...addExperiments(maker, sizes), ...addTwins(maker, sizes.few)]
  const pauses = addStreaks(maker)
  const erased = addErased(maker, sizes.few)
  const buyers = addTroubles(maker, sizes.few)
  const { people } = maker
  return { seed, base, people, acts: maker.sorted(), cohortSize, merges, erased, pauses, buyers }
}

/** How many users of the cohorts up to `total` users, of which `own` are of the last one, return. */
export const returningOf = (total: number, own: number, days: number): number => {
  const share = returningShare(days)
  return Math.floor(share * total) - Math.floor(share * (total - own))
}

const addCohorts = (maker: Maker, users: number): Plan["cohortSize"] => {
  const days = historyDays + liveDays
  const sizeOf = (day: number) => {
    const place = day + historyDays
    return Math.floor((users * (place + 1)) / days) - Math.floor((users * place) / days)
  }
  let total = 0
  for (let first = -historyDays; first < liveDays; first++) {
    const size = sizeOf(first)
    total += size
    const members = Array.from({ length: size }, (_, n) => maker.person(`c${first}-${n}`))
    for (let days = 0; first + days < liveDays; days++) {
      const returning = returningOf(total, size, days)
      if (returning === 0) continue
      const begin = maker.random.integer(0, size - 1)
      for (let n = 0; n < returning; n++) maker.visit(members[(begin + n) % size]!, first + days)
    }
  }
  return sizeOf
}

/** The users of two experiments; pairs of users of two variants, who are merged. */
const addExperiments = (maker: Maker, { few, perVariant }: Sizes): Plan["merges"] => {
  const main = drawn("x", mainExperiment.id, {
    control: perVariant + few,
    goal: perVariant + few,
  })
  for (const [variant, ids] of main) {
    const people = ids.map((id) => maker.person(id, "main"))
    for (const [place, person] of people.entries()) {
      maker.act(person, "LESSON", experimentDay)
      if (place >= perVariant) continue
      // A lesson of before the experiment, and one more.
      if (place % 2 === 0) maker.act(person, "LESSON", -10)
      if (place % (variant === "goal" ? 2 : 3) === 0) maker.act(person, "LESSON", experimentDay)
    }
    for (const [days, control, goal] of effect) {
      const share = variant === "goal" ? goal : control
      const begin = maker.random.integer(0, perVariant - 1)
      for (let n = 0; n < Math.round(share * perVariant); n++) {
        const person = people[(begin + n) % perVariant]!
        maker.act(person, "LESSON", exposureDay(person) + days)
      }
    }
  }
  const skewed = drawn("y", skewExperiment.id, {
    control: Math.round(perVariant * 1.2),
    goal: Math.round(perVariant * 0.8),
  })
  for (const ids of skewed.values()) {
    for (const id of ids) maker.act(maker.person(id, "skew"), "LOOK", experimentDay)
  }
  const [control, goal] = [main.get("control")!, main.get("goal")!]
  return Array.from({ length: few }, (_, n) => [goal[perVariant + n]!, control[perVariant + n]!])
}

/** The local day on which an event of the first day of the experiments is received. */
export const exposureDay = ({ zone }: Person): number =>
  experimentDay + Math.floor((sendingHour + zone.offsetHours) / 24)

/** People with two ids, which are merged. They only look, each on days of its own and on a common one. */
const addTwins = (maker: Maker, few: number): Plan["merges"] =>
  Array.from({ length: few }, (_, n) => {
    const [from, into] = [maker.person(`t${n}-from`), maker.person(`t${n}-into`)]
    const first = maker.random.integer(-100, 50)
    maker.act(from, "LOOK", first)
    for (const person of [from, into]) {
      maker.act(person, "LOOK", first + 7)
      maker.act(person, "LOOK", first + maker.random.integer(8, 40))
    }
    return [from.id, into.id] as const
  })

/** Streaks of 20 days, then 5 days without a lesson, then 10 days. */
const addStreaks = (maker: Maker): Plan["pauses"] => {
  const people = ["s-broken", "s-paused", "s-paused-later"].map((id) => maker.person(id))
  for (const person of people) {
    for (let day = 10; day < 45; day++) {
      if (day < 30 || day >= 35) maker.act(person, "LESSON", day)
    }
  }
  return [
    { userId: "s-paused", sent: 29, from: 30, to: 34 },
    { userId: "s-paused-later", sent: 50, from: 30, to: 34 },
  ]
}

const addErased = (maker: Maker, few: number): Plan["erased"] =>
  Array.from({ length: few }, (_, n) => {
    const person = maker.person(`e${n}`)
    const first = maker.random.integer(-60, 60)
    for (const days of [0, 1, 2, 7]) {
      for (let lesson = 0; lesson < 2; lesson++) maker.act(person, "LESSON", first + days)
    }
    return person.id
  })

/** People with undone and late events, and people who buy. */
const addTroubles = (maker: Maker, few: number): Plan["buyers"] => {
  for (let n = 0; n < few; n++) {
    const person = maker.person(`u${n}`)
    const first = maker.random.integer(0, 50)
    maker.act(person, "LESSON", first)
    maker.act(person, "LESSON", first + 1, { undone: true })
    maker.act(person, "LESSON", first + 9)
    maker.act(person, "LOOK", first + 9, { undone: true })
    // Late: it was done days before it is sent, and after the first day.
    maker.act(person, "LESSON", first + 20)
    maker.act(person, "LOOK", first + maker.random.integer(10, 18), { sent: first + 20 })
  }
  return Array.from({ length: few }, (_, n) => `u${n}`).filter((_, n) => n % 2 === 0)
}
