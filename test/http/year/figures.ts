/** What the API says of a year, as it should be: made from `Expected.ts` in the form of the replies. */
import { type Expected, type Life, milestones, questLessons, runsOf, tiers } from "./Expected.ts"
import {
  effect,
  experimentDay,
  exposureDay,
  historyDays,
  liveDays,
  mainExperiment,
  skewExperiment,
  variantAt,
} from "./Plan.ts"
import { dateOf } from "./play.ts"
import { newcombeOf, oneDegreeTail, welchOf, wilsonOf } from "./statistics.ts"

const decimals = 10_000
export const share = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.round((decimals * part) / whole) / decimals

const firstDayOf = ({ days }: Life): number => Math.min(...days.keys())

/** How many users each day has: of the day, of the week and of the month that end with it. */
const usersByDay = (lives: Iterable<Life>) => {
  const daily = new Map<number, number>()
  const weekly = new Map<number, number>()
  const monthly = new Map<number, number>()
  const fresh = new Map<number, number>()
  const add = (counts: Map<number, number>, day: number) =>
    counts.set(day, (counts.get(day) ?? 0) + 1)
  for (const life of lives) {
    const [weeks, months] = [new Set<number>(), new Set<number>()]
    for (const day of life.days.keys()) {
      add(daily, day)
      for (let later = 0; later < 30; later++) {
        if (later < 7) weeks.add(day + later)
        months.add(day + later)
      }
    }
    for (const day of weeks) add(weekly, day)
    for (const day of months) add(monthly, day)
    if (life.days.size > 0) add(fresh, firstDayOf(life))
  }
  return { daily, weekly, monthly, fresh }
}

/** The rows of `GET /v1/analytics/activity`, from the first day of the history on. */
export const activityRows = ({ lastWhole, lives, on, plan }: Expected, days: number) => {
  const { daily, fresh, monthly, weekly } = usersByDay(lives.values())
  return Array.from({ length: days }, (_, place) => {
    const day = place - historyDays
    const [dau, mau] = [daily.get(day) ?? 0, monthly.get(day) ?? 0]
    const { badges, events, quests, xp } = on.get(day) ?? { events: 0, xp: 0, badges: 0, quests: 0 }
    return {
      date: dateOf(plan.base + day),
      complete: day <= lastWhole,
      dau,
      wau: weekly.get(day) ?? 0,
      mau,
      newUsers: fresh.get(day) ?? 0,
      returningUsers: dau - (fresh.get(day) ?? 0),
      stickiness: share(dau, mau),
      ...{ events, xp, badges, quests },
    }
  })
}

export const shownDays = [1, 7, 14, 30, 60, 90]

/** Who returned on the n-th day, of the users whose first day is from `from` to `to`. */
const returned = (all: Expected, from: number, to: number, day: number) => {
  const cohort = cohortsOf(all)
  let [of, users] = [0, 0]
  for (let first = from; first <= Math.min(to, all.lastWhole - day); first++) {
    const lives = cohort.get(first) ?? []
    of += lives.length
    users += lives.filter(({ days }) => days.has(first + day)).length
  }
  return { day, of, users, share: share(users, of) }
}

const cohortsByYear = new WeakMap<Expected, ReadonlyMap<number, ReadonlyArray<Life>>>()
const cohortsOf = (all: Expected): ReadonlyMap<number, ReadonlyArray<Life>> => {
  const known = cohortsByYear.get(all)
  if (known !== undefined) return known
  const made = Map.groupBy(
    [...all.lives.values()].filter(({ days }) => days.size > 0),
    firstDayOf,
  )
  cohortsByYear.set(all, made)
  return made
}

/** The cohorts and the curve of `GET /v1/analytics/retention`, by their first and last days. */
export const retentionOf = (
  all: Expected,
  periods: ReadonlyArray<readonly [from: number, to: number]>,
) => ({
  cohorts: periods.map(([from, to]) => ({
    from: dateOf(all.plan.base + from),
    to: dateOf(all.plan.base + to),
    users: Array.from(
      { length: to - from + 1 },
      (_, n) => cohortsOf(all).get(from + n)?.length ?? 0,
    ).reduce((sum, users) => sum + users, 0),
    days: shownDays.map((day) => returned(all, from, to, day)),
  })),
  curve: Array.from({ length: 91 }, (_, day) =>
    returned(all, periods[0]![0], periods.at(-1)![1], day),
  ),
})

const weekdayOf = (day: number): number => (day + 3) % 7
/** The weeks, from Monday, and the months that have days from `from` to `to`. */
export const periodsOf = (
  all: Expected,
  by: "day" | "week" | "month",
  from: number,
  to: number,
): ReadonlyArray<readonly [number, number]> => {
  const { base } = all.plan
  const isFirst = (day: number) =>
    by === "day" ||
    (by === "week" ? weekdayOf(base + day) === 0 : dateOf(base + day).endsWith("-01"))
  let begin = from
  while (!isFirst(begin)) begin--
  const periods: Array<[number, number]> = []
  for (let day = begin; day <= to || !isFirst(day); day++) {
    if (isFirst(day)) periods.push([day, day])
    else periods.at(-1)![1] = day
  }
  return periods
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((all, one) => all + one, 0)

const rarityOf = (of: number): string =>
  of === 0
    ? "none"
    : of >= 0.5
      ? "common"
      : of >= 0.2
        ? "uncommon"
        : of >= 0.05
          ? "rare"
          : "very_rare"

/** Users who reached each mechanic, and those who completed it; null: not known. */
const reachedBy = (lives: ReadonlyArray<Life>, buyers: number) => {
  const number = (test: (life: Life) => boolean) => lives.filter(test).length
  const done = number(({ completed }) => completed !== undefined)
  const holders = number(({ earned }) => earned.size > 0)
  return {
    rule: [number(({ lessons }) => lessons > 0), null],
    quest: [number(({ begunAt }) => begunAt !== undefined), done],
    badge: [holders, holders],
    streak: [number(({ kept }) => kept.size > 0), null],
    leaderboard: [number(({ xp }) => xp > 0), null],
    boost: [null, null],
    item: [buyers, buyers],
  } as const
}

const keys = {
  rule: "lesson",
  quest: "start",
  badge: "learner",
  streak: "daily",
  leaderboard: "xp",
  boost: "weekend",
  item: "hat",
} as const

/** The rows of `GET /v1/analytics/mechanics` over the last `days` days, by kind. */
export const mechanicRows = (all: Expected, days: number) => {
  const lives = [...all.lives.values()]
  const reached = reachedBy(lives, all.plan.buyers.length)
  // Today is the second day after the last one with events.
  const from = liveDays + 1 - days + 1
  return Object.entries(reached).map(([kind, [users, completed]]) => {
    const { times, xp } = all.of(kind)
    const inDays = (counts: ReadonlyMap<number, number>) =>
      sum([...counts].filter(([day]) => day >= from).map(([, count]) => count))
    const completions = kind === "leaderboard" ? null : inDays(times)
    const of = users === null ? null : share(users, lives.length)
    return {
      kind,
      key: keys[kind as keyof typeof keys],
      users,
      share: of,
      rarity: of === null ? null : rarityOf(of),
      completed,
      completions,
      perDay: completions === null ? null : Math.round((100 * completions) / days) / 100,
      xp: ["boost", "leaderboard"].includes(kind) ? null : inDays(xp),
    }
  })
}

/** Of a mechanic that reached users on a day: who of the new users came back. */
export const firstWeekOf = (all: Expected, dayOf: (life: Life) => number | undefined) => {
  const groups: { readonly reached: Array<Life>; readonly others: Array<Life> } = {
    reached: [],
    others: [],
  }
  for (const life of all.lives.values()) {
    if (life.days.size === 0) continue
    const day = dayOf(life)
    const isEarly = day !== undefined && day <= firstDayOf(life) + 6
    groups[isEarly ? "reached" : "others"].push(life)
  }
  const shown = (lives: ReadonlyArray<Life>) =>
    [7, 14, 30, 60, 90].map((day) => {
      const counted = lives.filter((life) => firstDayOf(life) + day <= all.lastWhole)
      const users = counted.filter((life) => life.days.has(firstDayOf(life) + day)).length
      return { day, of: counted.length, users, share: share(users, counted.length) }
    })
  return { reached: shown(groups.reached), others: shown(groups.others) }
}

/** The steps and the funnel of the quest. */
export const questDetail = ({ lives }: Expected) => {
  const begun = [...lives.values()].filter(({ begunAt }) => begunAt !== undefined)
  const steps = [
    { key: "lessons", target: questLessons, of: ({ lessons }: Life) => lessons },
    { key: "share", target: 1, of: ({ shares }: Life) => shares },
  ]
  const finishedBy = (life: Life) => steps.filter(({ of, target }) => of(life) >= target).length
  return {
    steps: steps.map(({ key, of, target }) => {
      const finished = begun.filter((life) => of(life) >= target).length
      return {
        ...{ key, target, finished },
        begun: begun.filter((life) => of(life) > 0).length,
        waiting: begun.length - finished,
      }
    }),
    funnel: [0, 1, 2].map((finished) => {
      const users = begun.filter((life) => finishedBy(life) >= finished).length
      return { finished, users, share: share(users, begun.length) }
    }),
  }
}

/** The users of each tier of the badge, and of each milestone of the streak. */
export const tierUsers = ({ lives }: Expected) =>
  tiers.map(({ key }) => [key, [...lives.values()].filter(({ earned }) => earned.has(key)).length])
export const milestoneUsers = ({ lives }: Expected) => {
  const best = [...lives.values()].map((life) => Math.max(0, ...runsOf(life).values()))
  return milestones.map((target) => [`${target}`, best.filter((run) => run >= target).length])
}

/** The percentiles of the times to completion, in seconds. */
export const timesOf = (seconds: ReadonlyArray<number>) => {
  const sorted = seconds.filter((time) => time >= 0).sort((one, other) => one - other)
  const at = (part: number) => sorted[Math.max(1, Math.ceil(part * sorted.length)) - 1]!
  return {
    users: sorted.length,
    p10: at(0.1),
    p25: at(0.25),
    median: at(0.5),
    p75: at(0.75),
    p90: at(0.9),
  }
}

/** A user of an experiment, as results see it. */
interface Exposed {
  readonly variant: string
  readonly life: Life
}

/** The users in the audience of an experiment who were not merged with one of another variant. */
const exposedOf = (all: Expected, arm: "main" | "skew"): ReadonlyArray<Exposed> => {
  const { id } = arm === "main" ? mainExperiment : skewExperiment
  const mixed = new Set(all.plan.merges.map(([, into]) => into))
  return [...all.lives.values()].flatMap((life) =>
    life.person.arm !== arm || mixed.has(life.person.id)
      ? []
      : [{ variant: variantAt(id, life.person.id), life }],
  )
}

type Values = (life: Life) => number | undefined

/** The results of an experiment: of shares, or of means. */
const resultsOf = (exposed: ReadonlyArray<Exposed>, worth: Values, isShare: boolean) => {
  const samples = ["control", "goal"].map((variant) => {
    const own = exposed.filter((one) => one.variant === variant)
    const values = own.flatMap(({ life }) => worth(life) ?? [])
    return { key: variant, exposed: own.length, values }
  })
  const [control] = samples
  const meanOf = (values: ReadonlyArray<number>) => sum(values) / values.length
  return samples.map(({ exposed: number, key, values }, place) => ({
    ...{ key, exposed: number, users: values.length, value: meanOf(values) },
    interval: isShare ? wilsonOf(sum(values), values.length) : undefined,
    difference:
      place === 0
        ? null
        : {
            value: meanOf(values) - meanOf(control!.values),
            interval: isShare
              ? newcombeOf(values, control!.values)
              : welchOf(values, control!.values),
          },
  }))
}

/** Retention on a day after the exposure. */
export const retentionResults = (all: Expected, days: number) =>
  resultsOf(
    exposedOf(all, "main"),
    ({ days: active, person }) => {
      const day = exposureDay(person) + days
      return day > all.lastWhole ? undefined : Number(active.has(day))
    },
    true,
  )

/** The lessons since the exposure. */
export const lessonResults = (all: Expected, atLeast?: number) =>
  resultsOf(
    exposedOf(all, "main"),
    ({ acts }) => {
      const since = acts.filter(({ action, sent }) => action === "LESSON" && sent >= experimentDay)
      return atLeast === undefined ? since.length : Number(since.length >= atLeast)
    },
    atLeast !== undefined,
  )

/** The sizes of the variants of the other experiment, and how likely they are. */
export const skewResults = (all: Expected) => {
  const exposed = exposedOf(all, "skew")
  const sizes = ["control", "goal"].map(
    (variant) => exposed.filter((one) => one.variant === variant).length,
  )
  const half = exposed.length / 2
  const chiSquare = sum(sizes.map((size) => (size - half) ** 2 / half))
  return { sizes, chiSquare, p: oneDegreeTail(chiSquare) }
}

/** By construction: 5 points on each of the days. */
export const constructedEffect = effect

/** The rows of `GET /v1/analytics/reminders` from one day on. */
export const reminderRows = (all: Expected, from: number) =>
  [...all.sentReminders]
    .filter(([day]) => day >= from)
    .sort(([one], [other]) => one - other)
    .map(([day, sent]) => {
      const returnedUsers = all.followedReminders.get(day) ?? 0
      return {
        date: dateOf(all.plan.base + day),
        kind: "user.inactive",
        sent,
        returned: returnedUsers,
        share: share(returnedUsers, sent),
      }
    })

/** The recap of a user over all days. */
export const userRecap = (life: Life) => {
  const dayOf = (day: number) => ({
    xp: life.xpOn.get(day) ?? 0,
    events: life.days.get(day) ?? 0,
  })
  const best = [...life.days.keys()]
    .sort((one, other) => one - other)
    .reduce<number | undefined>((found, day) => {
      if (found === undefined) return day
      const [one, other] = [dayOf(day), dayOf(found)]
      return one.xp > other.xp || (one.xp === other.xp && one.events > other.events) ? day : found
    }, undefined)
  const counts = new Map<string, number>()
  for (const { action } of life.acts) counts.set(action, (counts.get(action) ?? 0) + 1)
  return {
    totals: {
      events: life.acts.length,
      activeDays: life.days.size,
      currencies: { xp: life.xp, points: life.points },
      badges: life.earned.size,
      quests: life.completed === undefined ? 0 : 1,
    },
    best: best === undefined ? null : { day: best, ...dayOf(best) },
    actions: counts,
    longest: Math.max(0, ...runsOf(life).values()),
  }
}

/** The recap of the environment from one day to another. */
export const environmentRecap = (all: Expected, from: number, to: number) => {
  const isIn = (day: number) => day >= from && day <= to
  const lives = [...all.lives.values()]
  const days = [...all.on].filter(([day]) => isIn(day)).sort(([one], [other]) => one - other)
  const total = (name: "events" | "xp" | "badges" | "quests") =>
    sum(days.map(([, count]) => count[name]))
  const best = days.reduce((found, one) =>
    one[1].xp > found[1].xp || (one[1].xp === found[1].xp && one[1].events > found[1].events)
      ? one
      : found,
  )
  return {
    activeUsers: lives.filter(({ days: active }) => [...active.keys()].some(isIn)).length,
    newUsers: lives.filter((life) => life.days.size > 0 && isIn(firstDayOf(life))).length,
    totals: {
      ...{ events: total("events"), badges: total("badges"), quests: total("quests") },
      currencies: {
        xp: total("xp"),
        points: sum([...all.points].filter(([day]) => isIn(day)).map(([, points]) => points)),
      },
    },
    bestDay: { date: dateOf(all.plan.base + best[0]), xp: best[1].xp, events: best[1].events },
  }
}
