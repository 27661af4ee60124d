/** Compares all that the API says of a year with what it should be (`figures.ts`). */
import { isDeepStrictEqual } from "node:util"
import type { Expected, Life } from "./Expected.ts"
import { remindersDay, runsOf } from "./Expected.ts"
import {
  activityRows,
  constructedEffect,
  environmentRecap,
  firstWeekOf,
  lessonResults,
  mechanicRows,
  milestoneUsers,
  periodsOf,
  questDetail,
  reminderRows,
  retentionOf,
  retentionResults,
  share,
  skewResults,
  tierUsers,
  timesOf,
  userRecap,
} from "./figures.ts"
import { historyDays, liveDays, returningOf } from "./Plan.ts"
import { type Call, dateOf } from "./play.ts"

// biome-ignore lint/suspicious/noExplicitAny: a reply is JSON
type Json = any

/** What differs, by the name of the figure. */
export class Differences {
  readonly found: Array<string> = []
  compared = 0

  same(what: string, actual: unknown, expected: unknown): void {
    this.compared++
    if (isDeepStrictEqual(actual, expected)) return
    this.found.push(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`)
  }

  /** Each row by itself, so that a difference is short. */
  rows(what: string, actual: ReadonlyArray<unknown>, expected: ReadonlyArray<unknown>): void {
    this.same(`${what}: rows`, actual.length, expected.length)
    for (const [place, row] of expected.entries()) {
      this.same(`${what}: row ${place}`, actual[place], row)
    }
  }

  near(what: string, actual: number, expected: number, within: number): void {
    this.compared++
    if (Math.abs(actual - expected) <= within) return
    this.found.push(`${what}: ${actual} instead of ${expected} ± ${within}`)
  }
}

/** Reads until nothing is being counted any more. */
const settled = async (call: Call, path: string): Promise<Json> => {
  let reply = await call("GET", path)
  while (reply.counting === true) reply = await call("GET", path)
  return reply
}

const compareActivity = async (call: Call, all: Expected, differences: Differences) => {
  const { base } = all.plan
  const days = historyDays + liveDays + 2
  const range = `from=${dateOf(base - historyDays)}&to=${dateOf(base + liveDays + 1)}`
  const { days: rows } = await settled(call, `/v1/analytics/activity?${range}`)
  differences.rows("activity", rows, activityRows(all, days))
}

const compareRetention = async (call: Call, all: Expected, differences: Differences) => {
  const { base, cohortSize } = all.plan
  for (const by of ["day", "week", "month"] as const) {
    const [from, to] = [-historyDays, liveDays]
    const range = `by=${by}&from=${dateOf(base + from)}&to=${dateOf(base + to)}`
    const reply = await settled(call, `/v1/analytics/retention?${range}`)
    const expected = retentionOf(all, periodsOf(all, by, from, to))
    differences.rows(`retention by ${by}: cohorts`, reply.cohorts, expected.cohorts)
    differences.rows(`retention by ${by}: curve`, reply.curve, expected.curve)
  }
  // The first 150 days have cohorts alone, whose retention is known by the way they were made.
  const last = -historyDays + 149
  const range = `from=${dateOf(base - historyDays)}&to=${dateOf(base + last)}`
  const { curve } = await settled(call, `/v1/analytics/retention?${range}`)
  const sizes = Array.from({ length: 150 }, (_, n) => cohortSize(n - historyDays))
  const of = sizes.reduce((sum, size) => sum + size, 0)
  for (let day = 0; day <= 90; day++) {
    const users = returningOf(of, of, day)
    const row = { day, of, users, share: share(users, of) }
    differences.same(`retention by construction: day ${day}`, curve[day], row)
  }
}

const without = ({ id: _, name: _name, status: _status, ...row }: Json): Json => row

const compareMechanics = async (call: Call, all: Expected, differences: Differences) => {
  for (const days of [30, 90]) {
    const reply = await settled(call, `/v1/analytics/mechanics?days=${days}`)
    differences.same("mechanics: all users", reply.allUsers, all.lives.size)
    const found = new Map(
      reply.mechanics.map((row: Json) => [`${row.kind} ${row.key}`, without(row)]),
    )
    for (const row of mechanicRows(all, days)) {
      differences.same(
        `mechanics of ${days} days: ${row.kind}`,
        found.get(`${row.kind} ${row.key}`),
        row,
      )
    }
  }
  const detail = (path: string) => settled(call, `/v1/analytics/mechanics/${path}?days=90`)
  const { base } = all.plan
  for (const [kind, key] of [
    ["rule", "lesson"],
    ["quest", "start"],
    ["badge", "learner"],
    ["streak", "daily"],
    ["boost", "weekend"],
  ] as const) {
    const { days } = await detail(`${kind}/${key}`)
    const { times, xp } = all.of(kind)
    const expected = Array.from({ length: 90 }, (_, n) => {
      const day = liveDays + 1 - 89 + n
      const date = dateOf(base + day)
      return { date, completions: times.get(day) ?? 0, xp: xp.get(day) ?? 0 }
    })
    differences.rows(`days of the ${kind}`, days, expected)
  }
  await compareDetails(detail, all, differences)
}

/** A time is rounded down by less than 1 %, and requests take some of the clock's time. */
const tolerance = (seconds: number): number => seconds / 100 + 120

const compareTimes = (what: string, found: Json, seconds: Array<number>, to: Differences) => {
  const expected = timesOf(seconds)
  to.same(`${what}: users`, found?.users, expected.users)
  for (const part of ["p10", "p25", "median", "p75", "p90"] as const) {
    to.near(`${what}: ${part}`, found?.[part], expected[part], tolerance(expected[part]))
  }
}

const compareDetails = async (
  detail: (path: string) => Promise<Json>,
  all: Expected,
  differences: Differences,
) => {
  const lives = [...all.lives.values()]
  const compared = ({ firstWeek: { others, reached } }: Json) => ({ reached, others })
  const quest = await detail("quest/start")
  const { funnel, steps } = questDetail(all)
  differences.rows("steps of the quest", quest.steps, steps)
  differences.rows("funnel of the quest", quest.funnel, funnel)
  const questDay = ({ completed }: Life) => completed?.day
  differences.same("first week of the quest", compared(quest), firstWeekOf(all, questDay))
  const questSeconds = lives.flatMap(({ begunAt, completed }) =>
    completed === undefined ? [] : [(completed.at - begunAt!) / 1_000],
  )
  compareTimes("time to complete the quest", quest.timeToComplete, questSeconds, differences)
  const badge = await detail("badge/learner")
  const parts = (reply: Json) => reply.parts.map(({ key, users }: Json) => [key, users])
  differences.rows("tiers of the badge", parts(badge), tierUsers(all))
  const badgeDay = ({ earned }: Life) => earned.get("few")?.day
  differences.same("first week of the badge", compared(badge), firstWeekOf(all, badgeDay))
  const badgeSeconds = lives.flatMap(({ createdAt, earned }) => {
    const first = earned.get("few")
    return first === undefined ? [] : [(first.at - createdAt) / 1_000]
  })
  compareTimes("time to the badge", badge.timeToComplete, badgeSeconds, differences)
  const rule = await detail("rule/lesson")
  const ruleDay = ({ ruleDay: day }: Life) => day
  differences.same("first week of the rule", compared(rule), firstWeekOf(all, ruleDay))
  differences.rows("milestones", parts(await detail("streak/daily")), milestoneUsers(all))
}

const compareReminders = async (call: Call, all: Expected, differences: Differences) => {
  const { base } = all.plan
  const from = remindersDay + 2
  const range = `from=${dateOf(base + from)}&to=${dateOf(base + liveDays + 1)}`
  const { days, totals } = await call("GET", `/v1/analytics/reminders?${range}`)
  const rows = reminderRows(all, from)
  const whole = days.map(({ complete: _, ...row }: Json) => row)
  differences.rows("reminders", whole, rows)
  const sent = rows.reduce((sum, row) => sum + row.sent, 0)
  const returned = rows.reduce((sum, row) => sum + row.returned, 0)
  const total = { kind: "user.inactive", sent, returned, share: share(returned, sent) }
  differences.same("reminders in total", totals[0], total)
}

/** Results have 6 significant digits. */
const digits = 1e-5

const compareResults = (
  what: string,
  { leftOut, sampleRatio, variants }: Json,
  expected: ReturnType<typeof retentionResults>,
  all: Expected,
  differences: Differences,
) => {
  const mixed = all.plan.merges.filter(([from]) => from.startsWith("x")).length
  differences.same(`${what}: left out`, leftOut, mixed)
  differences.same(`${what}: sample ratio`, sampleRatio, { chiSquare: 0, p: 1, mismatch: false })
  for (const [place, { difference, exposed, interval, key, users, value }] of expected.entries()) {
    const found = variants[place]
    const name = `${what}: ${key}`
    differences.same(name, [found.key, found.exposed, found.users], [key, exposed, users])
    differences.near(`${name}: value`, found.value, value, digits)
    if (interval !== undefined) {
      differences.near(`${name}: low`, found.interval.low, interval[0], digits)
      differences.near(`${name}: high`, found.interval.high, interval[1], digits)
    }
    if (difference === null) continue
    const [low, high] = difference.interval
    differences.near(`${name}: difference`, found.difference.value, difference.value, digits)
    differences.near(`${name}: difference, low`, found.difference.low, low, digits)
    differences.near(`${name}: difference, high`, found.difference.high, high, digits)
    differences.same(`${name}: excludes 0`, found.difference.excludesZero, low > 0 || high < 0)
  }
}

const compareExperiments = async (call: Call, all: Expected, differences: Differences) => {
  const read = (query: string) => settled(call, `/v1/experiments/year/results?${query}`)
  for (const [days, control, goal] of constructedEffect) {
    const what = `experiment, day ${days}`
    const reply = await read(`retention=D${days}`)
    const expected = retentionResults(all, days)
    compareResults(what, reply, expected, all, differences)
    for (const { key, users, value } of expected) {
      const of = `by=month&experiment=year&variant=${key}`
      const { curve } = await settled(call, `/v1/analytics/retention?${of}`)
      const name = `retention of ${key}, day ${days}`
      differences.same(
        name,
        [curve[days].of, curve[days].users],
        [users, Math.round(users * value)],
      )
    }
    const values = reply.variants.map(({ value }: Json) => value)
    differences.same(`${what}: by construction`, values, [control, goal])
    differences.near(`${what}: effect`, reply.variants[1].difference.value, 0.05, 1e-9)
  }
  compareResults(
    "experiment, lessons",
    await read("metric=lessons"),
    lessonResults(all),
    all,
    differences,
  )
  const atLeast = await read("metric=lessons&atLeast=3")
  compareResults("experiment, at least 3 lessons", atLeast, lessonResults(all, 3), all, differences)
  const skew = await settled(call, "/v1/experiments/skew/results?retention=D1")
  const { chiSquare, p, sizes } = skewResults(all)
  const exposed = skew.variants.map((variant: Json) => variant.exposed)
  differences.same("mismatch: sizes", exposed, sizes)
  differences.near("mismatch: chi-square", skew.sampleRatio.chiSquare, chiSquare, chiSquare / 1e5)
  differences.near("mismatch: p", skew.sampleRatio.p, p, p / 1e4)
  differences.same("mismatch", skew.sampleRatio.mismatch, p < 0.001)
}

const compareRecaps = async (
  call: Call,
  all: Expected,
  differences: Differences,
  users: number,
) => {
  const { base } = all.plan
  for (const [name, from, to] of [
    ["the year", -historyDays, liveDays],
    ["a month", -100, -71],
    ["a week", 7, 13],
    ["a day", 20, 20],
  ] as const) {
    const range = `from=${dateOf(base + from)}&to=${dateOf(base + to)}`
    const { activeUsers, bestDay, newUsers, streaks, totals } = await settled(
      call,
      `/v1/recap?${range}`,
    )
    const { gems: _, ...currencies } = totals.currencies
    const found = { activeUsers, newUsers, totals: { ...totals, currencies }, bestDay }
    const expected = environmentRecap(all, from, to)
    for (const figure of ["activeUsers", "newUsers", "totals", "bestDay"] as const) {
      differences.same(
        `recap of ${name}: ${figure}`,
        sorted(found[figure]),
        sorted(expected[figure]),
      )
    }
    if (from < 0) continue
    // Of users who stayed: erased ones ran too.
    const longest = longestIn(all, from, to)
    differences.same(`recap of ${name}: streaks`, streaks[0]?.best >= longest, true)
  }
  const lives = [...all.lives.values()].filter(
    ({ person }) => !all.plan.merges.some(([, into]) => into === person.id),
  )
  const step = Math.max(1, Math.floor(lives.length / users))
  const some = lives.filter(({ person: { id } }, n) => n % step === 0 || /^[su]/.test(id))
  for (const life of some) await compareUser(call, life, base, differences)
}

const longestIn = ({ lives }: Expected, from: number, to: number): number =>
  Math.max(
    ...[...lives.values()].flatMap((life) =>
      [...runsOf({ kept: life.kept, paused: new Set() })]
        .filter(([day]) => day >= from && day <= to)
        .map(([, run]) => run),
    ),
  )

/** With members in the order of their names. */
const sorted = (value: Json): Json =>
  value === null || typeof value !== "object"
    ? value
    : Object.fromEntries(
        Object.entries(value)
          .sort(([one], [other]) => (one < other ? -1 : 1))
          .map(([name, member]) => [name, sorted(member)]),
      )

const compareUser = async (call: Call, life: Life, base: number, differences: Differences) => {
  const { id } = life.person
  const what = `recap of ${id}`
  const range = `from=${dateOf(base - historyDays)}&to=${dateOf(base + liveDays)}`
  const found = await call("GET", `/v1/users/${id}/recap?${range}`)
  const { actions, best, longest, totals } = userRecap(life)
  const { gems: _, ...currencies } = found.totals.currencies
  differences.same(`${what}: totals`, sorted({ ...found.totals, currencies }), sorted(totals))
  const bestDay = best && { date: dateOf(base + best.day), xp: best.xp, events: best.events }
  differences.same(`${what}: best day`, found.bestDay, bestDay)
  const counts = Object.fromEntries(found.actions.map(({ action, count }: Json) => [action, count]))
  differences.same(`${what}: actions`, sorted(counts), sorted(Object.fromEntries(actions)))
  differences.same(`${what}: longest streak`, found.streaks[0]?.best ?? 0, longest)
}

/** Compares all figures; `users`: of so many the recap is read. */
export const compare = async (call: Call, all: Expected, users: number): Promise<Differences> => {
  const differences = new Differences()
  await compareActivity(call, all, differences)
  await compareRetention(call, all, differences)
  await compareMechanics(call, all, differences)
  await compareReminders(call, all, differences)
  await compareExperiments(call, all, differences)
  await compareRecaps(call, all, differences, users)
  return differences
}
