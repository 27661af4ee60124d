/**
 * Seeded runs of a backfill of a metric: users with events, undo, merges, erasures and changes of time zone
 * before the metric exists, while its backfill runs, and afterwards, while the power fails before or
 * after the journal takes a batch.
 *
 * The model folds the records: which events stand, whose they are, and in which time zones these
 * users lived. From these it computes each value anew, with dates as texts.
 */
import { expect } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Metric } from "../../src/domain/project/Metric.ts"
import {
  decidedAt,
  type JournalRecord,
  type TrackedEvent,
  type UserCommand,
} from "../../src/domain/record/Record.ts"
import { readMetric } from "../../src/domain/user/MetricState.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { metricWith } from "../domain/definitions.ts"
import { recordsOf, sandbox, start } from "../engine/fixture.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { dyingDisk } from "./dyingDisk.ts"
import { dateAt, dateOf, later, plusDays, windowKinds, windowOf } from "./model/calendar.ts"
import { hashSecretOf, Random } from "./random.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** How much has happened in all runs. */
export const happened = { crashes: 0, merges: 0, erasures: 0, undone: 0, meanwhile: 0 }

interface Entry {
  readonly record: JournalRecord
  readonly value: number
  readonly occurredAt: number
  /** The date of an event that counted when it came; `undefined`: the backfill counts it. */
  readonly date: string | undefined
}

interface Person {
  readonly id: string
  readonly entries: Array<Entry>
  /** The former time zones, each with its end. */
  readonly zones: Array<{ readonly zone: string; readonly until: number }>
  zone: string
}

/** The persons as the records leave them, by the id that the others lead to. */
const personsOf = (records: ReadonlyArray<JournalRecord>): ReadonlyMap<string, Person> => {
  const persons = new Map<string, Person>()
  const undone = new Set(
    records.flatMap(({ cause, facts }) =>
      cause.kind === "revocation" && facts.length > 0 ? [cause.sequence] : [],
    ),
  )
  let isDefined = false
  for (const record of records) {
    const { cause, facts, sequence, subject } = record
    if (facts[0]?.kind === "metric.created") isDefined = true
    if (subject.actor !== "user" || facts.length === 0) continue
    const { userId: id } = subject
    const person = persons.get(id) ?? { id, entries: [], zones: [], zone: "UTC" }
    persons.set(id, person)
    const at = decidedAt(record)
    if (cause.kind === "event" && !undone.has(sequence)) {
      const occurredAt = Math.min(cause.occurredAt ?? at, at)
      const date = isDefined ? dateAt(person.zone, occurredAt) : undefined
      person.entries.push({ record, value: cause.metadata!.amount as number, occurredAt, date })
    }
    if (cause.kind === "profile") {
      const zone = cause.change.timezone ?? "UTC"
      // The first zone of a user applies to all earlier times: a merge may add events from before.
      const isFirst = facts.some(({ kind }) => kind === "user.created")
      if (zone !== person.zone && !isFirst) person.zones.push({ zone: person.zone, until: at })
      person.zone = zone
    }
    for (const fact of facts) {
      if (fact.kind !== "user.merged") continue
      person.entries.push(...persons.get(fact.from)!.entries)
      persons.delete(fact.from)
    }
    if (cause.kind === "mergeEnd" || cause.kind === "erasure") persons.delete(id)
  }
  for (const { entries } of persons.values()) {
    entries.sort((one, other) => one.record.sequence - other.record.sequence)
  }
  return persons
}

const datesOf = ({ entries, zone, zones }: Person): ReadonlyArray<string> =>
  entries.map(({ date, occurredAt, record }) => {
    if (date !== undefined) return date
    const at = decidedAt(record)
    return dateAt(zones.find(({ until }) => at < until)?.zone ?? zone, occurredAt)
  })

/** The aggregate of some of the person's events; null: none. */
const aggregated = (
  { aggregate }: Metric,
  { entries }: Person,
  dates: ReadonlyArray<string>,
  isIn: (date: string) => boolean,
): number | null => {
  const chosen = entries.filter((_, place) => isIn(dates[place]!))
  if (chosen.length === 0) return null
  const values = chosen.map(({ value }) => value)
  switch (aggregate) {
    case "count":
      return chosen.length
    case "sum":
      return values.reduce((sum, value) => sum + value, 0)
    case "max":
      return Math.max(...values)
    case "min":
      return Math.min(...values)
    case "distinct_days":
      return new Set(dates.filter(isIn)).size
    case "last":
      return chosen.reduce((latest, one) => (one.occurredAt >= latest.occurredAt ? one : latest))
        .value
  }
}

const zones = ["UTC", "Pacific/Auckland", "America/Los_Angeles"] as const
const users = ["u0", "u1", "u2", "u3", "u4"] as const

interface Asked {
  readonly userId: string
  readonly command: UserCommand
}

/** An engine whose disk may die, and the metric that it counts. */
class World {
  readonly random: Random
  readonly state = new MemoryStorage.MemoryState()
  readonly disk = { appendsLeft: Infinity, lastAppendKept: false, writesLeft: Infinity }
  readonly metric: Metric
  /** How many users there may be: some come only after the metric. */
  present = 3
  running!: Effect.Success<ReturnType<typeof start>>

  constructor(seed: number) {
    this.random = new Random(seed)
    const aggregate = this.random.pick([
      ...(["count", "sum", "max", "min", "last", "distinct_days"] as const),
    ])
    const isValued = aggregate !== "count" && aggregate !== "distinct_days"
    this.metric = metricWith({ id: "m", aggregate, value: isValued ? "amount" : null })
  }

  readonly open = Effect.suspend(() => {
    Object.assign(this.disk, { appendsLeft: Infinity, writesLeft: Infinity })
    const newHashSecret = hashSecretOf(1)
    const storage = dyingDisk(MemoryStorage.make({ state: this.state }), this.disk)
    const options = {
      decodedUsersMax: 3,
      durability: "fsync" as const,
      newHashSecret,
      snapshotIntervalMs: 4 * hour,
    }
    return Effect.map(start(storage, options), (running) => {
      this.running = running
    })
  })

  /** Ends the engine as a power cut does, and starts it again. */
  readonly restart = Effect.suspend(() => {
    happened.crashes++
    return Effect.andThen(this.running.close("kill"), this.open)
  })

  /** The answer is that of the records: a refusal has none. */
  ask({ command, userId }: Asked): Effect.Effect<void> {
    const asked = this.running.engine.askUser(sandbox, { userId, command } as never)
    const counted = Effect.map(asked, () => {
      if (command.kind === "erasure") happened.erasures++
    })
    return Effect.ignore(counted)
  }

  event(userId: string): Asked {
    const occurredAt = this.now - this.random.integer(1, 3 * day)
    const metadata = { amount: this.random.integer(1, 20) }
    const command: TrackedEvent = { kind: "event", action: "TAP", occurredAt, metadata }
    return { userId, command }
  }

  get now(): number {
    return this.running.engine.timeIn(sandbox)
  }

  undo(userId: string): Asked | undefined {
    const events = recordsOf(this.state).filter(
      ({ cause, facts, subject }) =>
        cause.kind === "event" &&
        facts.length > 0 &&
        subject.actor === "user" &&
        subject.userId === userId,
    )
    if (events.length === 0) return undefined
    const { at, sequence } = this.random.pick(events)
    return { userId, command: { kind: "revocation", of: "event", sequence, at } }
  }

  /** `zone`: whether it may be a change of time zone, whose order matters to events. */
  choose(zone: boolean): Asked {
    const { random } = this
    const present = users.slice(0, this.present)
    const userId = random.pick(present)
    const kind = random.next()
    if (kind < 0.25) return this.undo(userId) ?? this.event(userId)
    if (kind < 0.32) return { userId, command: { kind: "merge", into: random.pick(present) } }
    if (kind < 0.35) return { userId, command: { kind: "erasure" } }
    if (zone && kind < 0.43) {
      return { userId, command: { kind: "profile", change: { timezone: random.pick(zones) } } }
    }
    return this.event(userId)
  }

  readonly pass = Effect.suspend(() =>
    TestClock.adjust(this.random.pick([1, minute, 5 * hour, day])),
  )

  readonly define = Effect.suspend(() =>
    this.running.engine.askProject(sandbox, { kind: "createMetric", metric: this.metric }),
  )

  readonly begin = Effect.suspend(() => {
    const command = { kind: "startMetricBackfill", metricId: "m" } as const
    return Effect.ignore(this.running.engine.askProject(sandbox, command))
  })

  /** Waits until neither a backfill, a recount nor a merge is under way. */
  readonly settle = Effect.gen({ self: this }, function* () {
    const { engine } = this.running
    for (let turn = 0; ; turn++) {
      expect(turn).toBeLessThan(5_000)
      yield* Effect.andThen(TestClock.adjust(100), yieldToEventLoop)
      const backfill = yield* engine.readBackfill(sandbox, "m")
      if (backfill !== undefined && backfill.status !== "finished") continue
      let isOpen = false
      for (const id of users) {
        const user = yield* engine.readUser(sandbox, id)
        if (user?.leadsTo?.done === false || (user?.erasing ?? 0) > 0) isOpen = true
        if (user?.metrics.get("m")?.recalculating === true) isOpen = true
      }
      if (!isOpen) return
    }
  })

  /** Compares the values of all users; before the backfill only events with a date count. */
  readonly compare = Effect.gen({ self: this }, function* () {
    const { metric } = this
    const persons = personsOf(recordsOf(this.state))
    for (const person of persons.values()) {
      const user = (yield* this.running.engine.readUser(sandbox, person.id))!
      expect(user.id).toBe(person.id)
      const state = user.metrics.get("m")
      const dates = datesOf(person)
      const latest = dates.reduce(later, dateAt(person.zone, this.now))
      const shown = readMetric(state, 0)
      // The state may be on the day of an event that was undone.
      const today = later(latest, state === undefined ? "" : dateOf(shown.day))
      const { values } = readMetric(state, Math.round(Date.parse(today) / day))
      const of = (isIn: (date: string) => boolean) => aggregated(metric, person, dates, isIn)
      const expected = [
        of(() => true),
        ...windowKinds.flatMap((kind) => {
          const first = windowOf(kind, today)
          const before = windowOf(kind, plusDays(first, -1))
          return [first, before].map((window) => of((date) => windowOf(kind, date) === window))
        }),
      ]
      expect([person.id, values]).toEqual([person.id, expected])
    }
  })
}

const opened = Effect.fnUntraced(function* (seed: number) {
  const world = new World(seed)
  yield* TestClock.setTime(Date.parse("2026-11-27T00:00:00Z"))
  yield* world.open
  return world
})

/** Events, undo and merges while the backfill runs, and a power cut at one of its writes. */
const runMeanwhile = Effect.fnUntraced(function* (world: World) {
  const { disk, random } = world
  yield* world.begin
  for (let turn = random.integer(1, 6); turn > 0; turn--) {
    const mayDie = random.chance(0.5)
    if (mayDie) {
      disk.appendsLeft = random.integer(0, 4)
      disk.lastAppendKept = random.chance(0.5)
    }
    const commands = Array.from({ length: random.integer(1, 5) }, () => world.choose(false))
    const asked = yield* Effect.forkChild(
      Effect.forEach(commands, (one) => world.ask(one), { concurrency: "unbounded" }),
      { startImmediately: true },
    )
    for (let waits = random.integer(0, 3); waits > 0; waits--) {
      yield* Effect.andThen(TestClock.adjust(10), yieldToEventLoop)
    }
    if (!mayDie) {
      yield* Fiber.join(asked)
      continue
    }
    yield* TestClock.adjust(100)
    yield* world.restart
    yield* Fiber.interrupt(asked)
  }
})

export const simulateMetricBackfills = Effect.fnUntraced(function* (seed: number) {
  const world = yield* opened(seed)
  const { random } = world
  const some = Effect.fnUntraced(function* (count: number) {
    for (let step = 0; step < count; step++) {
      yield* world.ask(world.choose(true))
      yield* world.pass
    }
  })
  yield* some(random.integer(10, 40))
  yield* world.define
  yield* TestClock.adjust(1)
  world.present = users.length
  yield* some(random.integer(0, 15))
  if (random.chance(0.5)) {
    // A user of before the metric becomes part of a later user.
    yield* world.ask(world.event("u4"))
    yield* world.ask({ userId: random.pick(users), command: { kind: "merge", into: "u4" } })
  }
  yield* runMeanwhile(world)
  // A power cut may have lost the request.
  yield* world.settle
  if ((yield* world.running.engine.readBackfill(sandbox, "m")) === undefined) yield* world.begin
  yield* world.settle
  yield* world.compare
  for (let step = 0; step < 20; step++) {
    yield* some(random.integer(1, 4))
    if (random.chance(0.1)) yield* world.begin
    if (random.chance(0.1)) yield* world.restart
    yield* world.settle
    yield* world.compare
  }
  const records = recordsOf(world.state)
  const placeOf = (kind: string) => records.findIndex(({ facts }) => facts[0]?.kind === kind)
  happened.meanwhile += records
    .slice(placeOf("backfill.started"), placeOf("backfill.finished"))
    .filter(({ cause }) => cause.kind !== "tick").length
  happened.undone += records.filter(({ cause }) => cause.kind === "revocation").length
  happened.merges += records.filter(({ cause }) => cause.kind === "absorb").length
  yield* world.running.close()
})

/**
 * A fixed run whose disk dies at its append `appends` after the request of the backfill; returns
 * whether all was over before.
 */
export const dieAtAppend = Effect.fnUntraced(function* (
  seed: number,
  appends: number,
  lastAppendKept: boolean,
) {
  const world = yield* opened(seed)
  const { disk } = world
  for (const userId of users) {
    for (let event = 0; event < 3; event++) yield* world.ask(world.event(userId))
  }
  yield* TestClock.adjust(1)
  yield* world.define
  Object.assign(disk, { appendsLeft: appends, lastAppendKept })
  const commands: Array<Asked> = [
    world.event("u0"),
    world.undo("u1")!,
    { userId: "u2", command: { kind: "merge", into: "u1" } },
    world.undo("u3")!,
  ]
  const asked = yield* Effect.forkChild(
    Effect.gen(function* () {
      yield* world.begin
      // One after the other, so that each append has one of them.
      for (const one of commands) yield* world.ask(one)
    }),
    { startImmediately: true },
  )
  for (let turn = 0; turn < 60; turn++) {
    yield* Effect.andThen(TestClock.adjust(10), yieldToEventLoop)
  }
  const isOver = disk.appendsLeft >= 0
  yield* world.restart
  yield* Fiber.interrupt(asked)
  if ((yield* world.running.engine.readBackfill(sandbox, "m")) === undefined) yield* world.begin
  yield* world.settle
  yield* world.compare
  // The snapshot has all that the journal says.
  yield* world.running.close()
  yield* world.open
  yield* world.compare
  yield* world.running.close()
  return isOver
})
