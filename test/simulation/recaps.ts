/** Compares the recap of each user with the model. */
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import type { Engine } from "../../src/engine/Engine.ts"
import { recapOf } from "../../src/http/handlers/recapHandlers.ts"
import { sandbox } from "../engine/fixture.ts"
import { dateAt, plusDays } from "./model/calendar.ts"
import { credited, earning, type Log, standing } from "./model/log.ts"
import { zoneNow } from "./model/metrics.ts"
import type { Oracle } from "./Oracle.ts"
import type { Random } from "./random.ts"

export const compareRecaps = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  { definitions, model }: Oracle,
  random: Random,
  now: number,
  users: ReadonlyArray<string>,
) {
  for (const userId of users) {
    const log = model.log(userId)
    if (log.length === 0) continue
    const zone = zoneNow(model.profile(userId), definitions)
    const to = plusDays(dateAt(zone, now), -random.integer(0, 5))
    const from = plusDays(to, -random.integer(0, 40))
    const { actions, bestDay, firsts, totals } = yield* recapOf(engine, sandbox, userId, {
      from,
      to,
    })
    const { activeDays, currencies, events } = totals
    const seen = { actions, activeDays, bestDay, events, firsts }
    expect({ userId, from, to, ...seen }).toEqual({
      userId,
      from,
      to,
      ...expectedOf(log, zone, from, to),
    })
    const keys = new Set(["xp", "points", ...Object.keys(currencies)])
    for (const key of keys) {
      const entries = earned(log).filter((entry) => isIn(dayOf(zone, entry), from, to))
      const amount = entries.reduce((sum, entry) => sum + credited(entry, key), 0)
      expect({ key, amount: currencies[key] ?? 0 }).toEqual({ key, amount })
    }
  }
})

/** What gave amounts, but for what the user brought along. */
const earned = (log: Log) => earning(log).filter(({ kind }) => kind !== "opened")

const isIn = (date: string, from: string, to: string) => date >= from && date <= to

const dayOf = (zone: string, entry: ReturnType<typeof earning>[number]): string =>
  dateAt(zone, entry.kind === "event" ? entry.occurredAt : entry.at)

const expectedOf = (log: Log, zone: string, from: string, to: string) => {
  const events = standing(log)
    .filter(({ kind }) => kind === "event")
    .map((event) => ({ action: event.action!, at: event.occurredAt, date: dayOf(zone, event) }))
  const inRange = events.filter(({ date }) => isIn(date, from, to))
  const names = [...new Set(inRange.map(({ action }) => action))]
  const actions = names
    .map((action) => ({ action, count: inRange.filter((one) => one.action === action).length }))
    .sort((one, other) => other.count - one.count || (one.action < other.action ? -1 : 1))
  const firsts = names
    .map((action) => {
      const times = events.filter((one) => one.action === action).map(({ at }) => at)
      return { action, at: Math.min(...times) }
    })
    .filter(({ at }) => dateAt(zone, at) >= from)
    .sort((one, other) => one.at - other.at || (one.action < other.action ? -1 : 1))
    .map(({ action, at }) => ({ action, at: new Date(at).toISOString() }))
  const activeDays = new Set(inRange.map(({ date }) => date)).size
  return {
    actions,
    activeDays,
    bestDay: bestOf(log, zone, from, to),
    events: inRange.length,
    firsts,
  }
}

const bestOf = (log: Log, zone: string, from: string, to: string) => {
  const days = new Map<string, { date: string; xp: number; events: number }>()
  const stands = new Set<unknown>(standing(log))
  for (const entry of earned(log)) {
    const date = dayOf(zone, entry)
    const isEvent = entry.kind === "event" && stands.has(entry)
    if (!isIn(date, from, to) || (entry.xp === 0 && !isEvent)) continue
    const { events, xp } = days.get(date) ?? { events: 0, xp: 0 }
    days.set(date, { date, xp: xp + entry.xp, events: events + (isEvent ? 1 : 0) })
  }
  const best = [...days.values()].sort(
    (one, other) =>
      other.xp - one.xp || other.events - one.events || (one.date < other.date ? -1 : 1),
  )
  return best[0] ?? null
}
