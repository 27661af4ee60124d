/**
 * Analytics without HTTP and disk: what active days and the reach of rules add to an event, and how long the counts
 * over all users take and hold the event loop.
 *
 * The parts of an event are measured alone, in loops: as differences of whole events they would be lost in
 * the noise. The whole is the processor time of an event of an engine that drops what it writes.
 */
import { Effect, Exit, Result, Scope } from "effect"
import { eventDay } from "../../src/domain/decide/Activity.ts"
import { decideUser } from "../../src/domain/decide/Decide.ts"
import { Draft } from "../../src/domain/decide/Draft.ts"
import type { Experiment } from "../../src/domain/project/Experiment.ts"
import { emptyProject } from "../../src/domain/project/Project.ts"
import { applyUser } from "../../src/domain/record/applyUser.ts"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import { type ActiveDays, withDay } from "../../src/domain/user/ActiveDays.ts"
import { newcomer, type UserState } from "../../src/domain/user/User.ts"
import { Environment, type Environments } from "../../src/engine/actor/Environments.ts"
import { makeEngine } from "../../src/engine/EngineLive.ts"
import { ActiveUsers } from "../../src/engine/read/ActiveUsers.ts"
import { ExperimentCounts } from "../../src/engine/read/ExperimentCounts.ts"
import { Mechanics } from "../../src/engine/read/Mechanics.ts"
import { UsersOfRange } from "../../src/engine/read/UsersOfRange.ts"
import { Names } from "../../src/engine/records/Names.ts"
import { encodeUser } from "../../src/engine/records/UserCodec.ts"
import { prefixesEnd } from "../../src/engine/users/BucketTable.ts"
import { Storage } from "../../src/storage/Storage.ts"
import { answer } from "../children.ts"
import { lessonAction, lessonRule, userIdAt } from "../events.ts"
import { forgetful } from "../forgetful.ts"
import { median } from "../statistics.ts"
import { watched } from "../watched.ts"

export interface AnalyticsOptions {
  readonly users: number
  readonly events: number
  readonly rounds: number
}

/** Microseconds of processor time for an event, and its parts. */
export interface AnalyticsReport {
  readonly eventUs: number
  readonly activityUs: number
  readonly reachUs: number
  readonly counts: ReadonlyArray<{
    readonly what: string
    readonly ms: number
    readonly turnMs: number
  }>
  /** A decode of every state. */
  readonly decodeMs: number
}

const id = "prj_bench:sandbox"
const dayMs = 86_400_000
const at = 20_800 * dayMs + 12 * 3_600_000
const today = Math.floor(at / dayMs)

/* An event. */

const engineEventUs = ({ events, rounds }: AnalyticsOptions): Promise<number> =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const engine = yield* makeEngine({
      onBroken: (cause) => {
        throw cause
      },
    }).pipe(Effect.provideService(Storage, forgetful()), Scope.provide(scope))
    yield* engine.askProject(id, lessonRule)
    const messages = Array.from({ length: 1_000 }, (_, n) => ({
      userId: userIdAt(n),
      command: { kind: "event", action: lessonAction } as const,
    }))
    const costs: Array<number> = []
    for (let round = 0; round <= rounds; round++) {
      const before = process.cpuUsage()
      for (let sent = 0; sent < events; sent += messages.length) {
        yield* engine.askUsers(id, messages)
      }
      const { system, user } = process.cpuUsage(before)
      if (round > 0) costs.push((system + user) / events)
    }
    yield* Scope.close(scope, Exit.void)
    return median(costs)
  }).pipe(Effect.runPromise)

const experimentsOf = (count: number): ReadonlyArray<Experiment> =>
  Array.from({ length: count }, (_, n) => ({
    id: `exp_${n}`,
    key: `e${n}`,
    name: `Experiment ${n}`,
    description: null,
    metadata: {},
    set: "published",
    startsAt: null,
    endsAt: null,
    segment: null,
    metric: null,
    version: 1,
    createdAt: at - 40 * dayMs,
    updatedAt: at - 40 * dayMs,
    variants: [
      { key: "control", weight: 1 },
      { key: "other", weight: 1 },
    ],
  }))

/** Processor time of a call: the least of all rounds, since whatever else the machine does only adds. */
const leastUs = (rounds: number, times: number, run: () => unknown): number => {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round <= rounds; round++) {
    const before = process.cpuUsage()
    for (let n = 0; n < times; n++) sink.last = run()
    const { system, user } = process.cpuUsage(before)
    if (round > 0) least = Math.min(least, system + user)
  }
  return least / times
}

/** Keeps results, so that no loop is optimised away. */
const sink: { last: unknown } = { last: undefined }

const subject = { actor: "user", environment: id, userId: "u1" } as const

/**
 * What active days and the reach of rules add: the day of the event is decided, the record folded with and
 * without it, the state encoded with and without.
 */
const partsUs = ({ events, rounds }: AnalyticsOptions) => {
  // Without a rule: `rewarded` is what one gives.
  const project = emptyProject
  const command = { kind: "event", action: lessonAction } as const
  const decided = Result.getOrThrow(
    decideUser(undefined, project, command, at, undefined, undefined, undefined, "u1"),
  )
  const first = applyUser(undefined, { sequence: 1, at, subject, ...decided })
  const next = Result.getOrThrow(decideUser(first, project, command, at))
  const rewarded = {
    kind: "xp.earned",
    amount: 10,
    total: 10,
    source: { ruleId: "rul_1" },
  } as const
  const record = (facts: JournalRecord["facts"]): JournalRecord => ({
    sequence: 2,
    at,
    subject,
    cause: next.cause,
    facts,
  })
  const withoutDay = next.facts.map((fact) => {
    if (!("day" in fact)) return fact
    const { day: _, ...rest } = fact
    return rest as typeof fact
  })
  const user = applyUser(first, record([...next.facts, rewarded]))!
  const foldUs = (facts: JournalRecord["facts"]) => {
    const one = { ...record(facts), sequence: 3 }
    return leastUs(rounds, events, () => applyUser(user, one))
  }
  const names = new Names()
  const encodeUs = (state: UserState) =>
    leastUs(rounds, events, () => encodeUser(state, 0, names).length)
  const draft = new Draft("u1", user, project, at)
  const dayUs = leastUs(rounds, events, () => eventDay(draft))
  // A tenth of a user's events at most are the first of a day.
  const newDayUs = leastUs(rounds, events, () => withDay(user.activity, today + 1)) / 10
  const plain = { ...user, rulesReached: new Map() }
  const reachUs =
    Math.max(0, foldUs([...next.facts, rewarded]) - foldUs([...withoutDay, rewarded])) +
    Math.max(0, encodeUs(user) - encodeUs(plain))
  const activityUs =
    dayUs +
    newDayUs +
    Math.max(0, foldUs(next.facts) - foldUs(withoutDay)) +
    Math.max(0, encodeUs(plain) - encodeUs({ ...plain, activity: null }))
  return { activityUs, reachUs }
}

/* Counts over all users. */

/** Active on the first day, and on about half of up to 60 days since. */
const activityOf = (n: number): ActiveDays => {
  const first = today - (n % 400)
  let days = withDay(null, first)
  for (let day = 1; day <= Math.min(today - first, n % 61); day++) {
    if ((Math.imul(n, 2_654_435_761) >>> (day % 31)) % 2 === 1) days = withDay(days, first + day)
  }
  return days
}

const userAt = (n: number): UserState => ({
  ...newcomer,
  id: userIdAt(n),
  sequence: n + 1,
  xp: n,
  scoreSequence: n + 1,
  profile: {
    displayName: `User ${n}`,
    timezone: null,
    attributes: { plan: "free" },
    hidden: false,
  },
  createdAt: at - (n % 400) * dayMs,
  updatedAt: at,
  lastEventAt: at,
  activity: activityOf(n),
  rulesReached: new Map([0, 1, 2].map((rule) => [`rul_${rule}`, { times: 5, firstDay: today }])),
  experiments: new Map(
    Array.from({ length: 10 }, (_, e) => [
      `exp_${e}`,
      { variant: (n + e) % 2 === 0 ? "control" : "other", at: at - 30 * dayMs },
    ]),
  ),
})

const countsOf = async ({ users }: AnalyticsOptions) => {
  const environment = new Environment(id, {
    domain: { decideUser, applyUser },
    now: () => at,
    sooner: () => {},
    stateBytes: { bytes: 0 },
  })
  const experiments = experimentsOf(10)
  environment.project.durable = {
    ...emptyProject,
    experiments: new Map(experiments.map((one) => [one.id, one])),
  }
  for (let n = 0; n < users; n++) environment.states.put(userAt(n), 0)
  const environments = { of: () => environment } as unknown as Environments
  const parts = { environments, now: () => at }
  const activity = new ActiveUsers(parts)
  const range = new UsersOfRange(parts)
  const mechanics = new Mechanics(parts)
  const tallies = new ExperimentCounts(parts)
  const asked: ReadonlyArray<
    readonly [
      what: string,
      count: { readonly run: Effect.Effect<never> },
      read: Effect.Effect<unknown>,
    ]
  > = [
    ["active users and retention", activity, activity.read(environment, "counted")],
    ["users of a year", range, range.read(environment, today - 364, today, "counted")],
    ["mechanics", mechanics, mechanics.read(environment, "counted")],
    [
      "the retention of an experiment",
      tallies,
      tallies.read(environment, experiments[0]!, { retentionDays: 7 }, "counted"),
    ],
  ]
  const counts: Array<AnalyticsReport["counts"][number]> = []
  for (const [what, { run }, read] of asked) {
    const counting = Effect.runFork(run)
    counts.push({ what, ...(await watched(() => Effect.runPromise(read))) })
    counting.interruptUnsafe()
  }
  const startedAt = performance.now()
  for (let prefix = 0; prefix < prefixesEnd; ) prefix = environment.usersFrom(prefix).next
  return { counts, decodeMs: performance.now() - startedAt }
}

await answer(async (options: AnalyticsOptions): Promise<AnalyticsReport> => {
  const eventUs = await engineEventUs(options)
  return { eventUs, ...partsUs(options), ...(await countsOf(options)) }
})
