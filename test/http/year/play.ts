/** Lives through a year (`Plan.ts`) over the API: imports its history, then sends each day by a test clock. */
import {
  beginningHour,
  hourMs,
  inactiveDays,
  lessonXp,
  milestones,
  questLessons,
  questXp,
  reminderHour,
  remindersDay,
  tiers,
} from "./Expected.ts"
import {
  type Act,
  dayMs,
  experimentDay,
  historyDays,
  liveDays,
  mainExperiment,
  type Person,
  type Plan,
  sendingHour,
  skewExperiment,
  utc,
  variants,
} from "./Plan.ts"

/** Sends a request. Resolves with the JSON of a reply that is a success, and fails otherwise. */
// biome-ignore lint/suspicious/noExplicitAny: replies are of all kinds
export type Call = (method: string, path: string, body?: unknown) => Promise<any>

const isoOf = (at: number): string => new Date(at).toISOString()

/** The live days begin on a Monday, so that each year has the same weekends. */
export const baseAfter = (now: number): number => {
  const monday = 4
  const day = Math.floor(now / dayMs) + 2
  return day + ((monday - (day % 7) + 7) % 7)
}

/** The time of the last look. */
export const endOf = (base: number): number => (base + liveDays + 1) * dayMs + 6 * hourMs

const together = 1_000
const callers = 8

/** Does each of them, several at once. */
const each = async <Item>(items: ReadonlyArray<Item>, run: (item: Item) => Promise<unknown>) => {
  let next = 0
  const work = async () => {
    while (next < items.length) await run(items[next++]!)
  }
  await Promise.all(Array.from({ length: callers }, work))
}

const define = async (call: Call, base: number): Promise<void> => {
  const startsAt = isoOf((base - historyDays - 10) * dayMs)
  const segment = (arm: string) => ({
    key: arm,
    name: arm,
    conditions: [{ kind: "attribute", attribute: "arm", op: "eq", value: arm }],
  })
  const experiment = {
    name: "Of the year",
    variants,
    startsAt: isoOf((base + experimentDay) * dayMs),
  }
  await call("POST", "/v1/definitions/apply", {
    definitions: {
      currencies: [{ key: "gems", name: "Gems" }],
      metrics: [{ key: "lessons", name: "Lessons", aggregate: "count", actions: ["LESSON"] }],
      segments: [segment("main"), segment("skew")],
      rules: [{ key: "lesson", action: "LESSON", reward: { xp: lessonXp, points: 1 }, startsAt }],
      boosts: [
        {
          ...{ key: "weekend", name: "Weekend", currencies: ["xp"], factor: 2 },
          weekly: [{ days: ["saturday", "sunday"], from: "00:00", to: "24:00" }],
        },
      ],
      quests: [
        {
          ...{ key: "start", title: "Start", reward: { xp: questXp }, startsAt },
          steps: [
            { key: "lessons", action: "LESSON", target: questLessons },
            { key: "share", action: "SHARE", target: 1 },
          ],
        },
      ],
      badges: [
        {
          ...{ key: "learner", name: "Learner", startsAt },
          tiers: tiers.map((tier) => ({ ...tier, name: tier.key })),
          criteria: { kind: "action_count", action: "LESSON" },
        },
      ],
      streaks: [
        {
          ...{ key: "daily", name: "Daily", needs: [{ action: "LESSON" }] },
          milestones: milestones.map((target) => ({ target, reward: { currencies: { gems: 1 } } })),
        },
      ],
      items: [
        { key: "hat", name: "Hat", price: { points: 1 }, reward: { currencies: { gems: 1 } } },
      ],
      experiments: [
        { ...experiment, ...mainExperiment, segment: "main", metric: "lessons" },
        { ...experiment, ...skewExperiment, segment: "skew" },
      ],
    },
  })
}

const send = (call: Call, path: string, acts: ReadonlyArray<Act>) =>
  each(chunksOf(acts), async (chunk) => {
    const events = chunk.map(({ action, at, id, person }) => ({
      ...{ userId: person.id, action, id },
      occurredAt: isoOf(at),
    }))
    const { rejected } = await call("POST", path, { events })
    if (rejected !== 0) throw new Error(`${path} refused ${rejected} events`)
  })

/** Parts that are sent at once: all events of a user are in one of them, in their order. */
const chunksOf = (acts: ReadonlyArray<Act>): ReadonlyArray<ReadonlyArray<Act>> => {
  const byUser = new Map<string, Array<Act>>()
  for (const act of acts) {
    const own = byUser.get(act.person.id) ?? []
    byUser.set(act.person.id, own)
    own.push(act)
  }
  const chunks: Array<Array<Act>> = [[]]
  for (const own of byUser.values()) {
    if (chunks.at(-1)!.length + own.length > together) chunks.push([])
    chunks.at(-1)!.push(...own)
  }
  return chunks.filter(({ length }) => length > 0)
}

/** Describes the people who are new: their time zone, and the audience that they are in. */
const introduce = async (call: Call, known: Set<string>, acts: ReadonlyArray<Act>) => {
  const fresh: Array<Person> = []
  for (const { person } of acts) {
    if (known.has(person.id)) continue
    known.add(person.id)
    if (person.zone !== utc || person.arm !== undefined) fresh.push(person)
  }
  await each(fresh, ({ arm, id, zone }) =>
    call("PUT", `/v1/users/${id}`, {
      timezone: zone.name,
      ...(arm !== undefined && { attributes: { arm } }),
    }),
  )
}

const advance = async (call: Call, at: number): Promise<void> => {
  let { status } = await call("POST", "/v1/test-clock", { advanceTo: isoOf(at) })
  while (status !== "ready") {
    ;({ status } = await call("POST", "/v1/test-clock", { advanceTo: isoOf(at) }))
  }
}

/** `told`: called after the import and after each live day. */
export const play = async (
  call: Call,
  plan: Plan,
  told: (what: string) => void = () => {},
): Promise<void> => {
  const { base } = plan
  const bySent = Map.groupBy(plan.acts, ({ sent }) => sent)
  const known = new Set<string>()
  await advance(call, base * dayMs + beginningHour * hourMs)
  await define(call, base)
  const history = bySent.get(-1) ?? []
  await introduce(call, known, history)
  await send(call, "/v1/events/import", history)
  told("history")
  for (let day = 0; day < liveDays; day++) {
    await advance(call, (base + day) * dayMs + sendingHour * hourMs)
    const acts = bySent.get(day) ?? []
    for (const { from, sent, to, userId } of plan.pauses) {
      if (sent !== day) continue
      const days = { from: dateOf(base + from), to: dateOf(base + to) }
      await call("POST", `/v1/users/${userId}/streaks/daily/pauses`, days)
    }
    await introduce(call, known, acts)
    await send(call, "/v1/events/batch", acts)
    // What was sent arrives once more.
    if (day % 30 === 7) await send(call, "/v1/events/batch", acts.slice(0, together))
    for (const { id, person, undone } of acts) {
      if (undone === true) {
        const path = `/v1/users/${person.id}/events/${encodeURIComponent(id)}`
        await call("DELETE", path)
      }
    }
    if (day === remindersDay) {
      const reminders = { inactiveDays: [inactiveDays], hour: reminderHour }
      await call("PATCH", "/v1/project", { reminders })
    }
    told(`day ${day}`)
  }
  await each(plan.buyers, (userId) =>
    call("POST", `/v1/users/${userId}/purchases`, { item: "hat", id: `hat of ${userId}` }),
  )
  await advance(call, endOf(base))
  await each(plan.merges, ([from, into]) => call("POST", `/v1/users/${from}/merge`, { into }))
  await each(plan.erased, (userId) => call("DELETE", `/v1/users/${userId}`))
}

export const dateOf = (day: number): string => isoOf(day * dayMs).slice(0, 10)
