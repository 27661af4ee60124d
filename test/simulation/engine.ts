/**
 * One seeded run of the whole engine against the model: random definitions and edits, single
 * commands and many at once, repeated ids, jumps of the clock over days and ends of windows, advances
 * of the test clock with crashes between their steps, users that become cold, snapshots, erasures that are carried out, restarts, crashes after which every
 * command without an answer is sent again, full disks and actors that fail (`troubles.ts`), in both
 * durabilities. Every answer and every read is compared. A command with an id or an Idempotency-Key
 * is executed once.
 */
import { expect } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { replyOf } from "../../src/domain/message/UserReply.ts"
import { isAdvancing, timeIn } from "../../src/domain/project/Project.ts"
import {
  decidedAt,
  type JournalRecord,
  type Revocation,
  type TrackedEvent,
} from "../../src/domain/record/Record.ts"
import type { Durability } from "../../src/engine/commit/GroupCommit.ts"
import type { UserMessage } from "../../src/engine/Engine.ts"
import { Metrics } from "../../src/metrics/Metrics.ts"
import type { Storage } from "../../src/storage/Storage.ts"
import { yieldToEventLoop } from "../../src/storage/yieldToEventLoop.ts"
import { once, recordsOf, sandbox, start } from "../engine/fixture.ts"
import { sampleValue } from "../metrics/exposition.ts"
import * as MemoryStorage from "../storage/MemoryStorage.ts"
import { firstOf, recordOf, withRecord } from "./answers.ts"
import {
  beginnings,
  inheritedNames,
  randomBadge,
  randomBoard,
  randomBoost,
  randomCommand,
  randomCurrency,
  randomEdit,
  randomExperiment,
  randomItem,
  randomMetric,
  randomQuest,
  randomRule,
  randomSegment,
  randomSettings,
  randomStreak,
  randomTeam,
  type Surroundings,
  zones,
} from "./commands.ts"
import { Defects } from "./defects.ts"
import { commandOf } from "./definitionCommands.ts"
import { dyingDisk } from "./dyingDisk.ts"
import { statusOf } from "./model/Definitions.ts"
import { isNamed } from "./model/repeats.ts"
import { Oracle } from "./Oracle.ts"
import { hashSecretOf, Random } from "./random.ts"
import { compareReads } from "./reads.ts"
import { troubledDisk } from "./troubledDisk.ts"
import { endWithoutSpace, type Outcome, type Sent, type Surrounded, trouble } from "./troubles.ts"
import { outcomeOf, sorted } from "./views.ts"

const minute = 60_000
const day = 1_440 * minute

/** How many runs succeeded, and how many commands all runs have asked. */
export const simulated = { runs: 0, commands: 0 }

export const simulate = Effect.fnUntraced(function* (seed: number, steps: number) {
  const random = new Random(seed)
  const oracle = new Oracle()
  const state = new MemoryStorage.MemoryState()
  const defects = new Defects()
  const keyed = new Map<string, string>()
  let metrics = new Metrics()
  const disk = {
    full: false,
    appendMs: 0,
    appendsLeft: Infinity,
    lastAppendKept: false,
    writesLeft: Infinity,
  }
  const options = {
    decodedUsersMax: 4,
    newHashSecret: hashSecretOf(seed),
    durability: random.pick<Durability>(["fsync", "fsync", "relaxed"]),
    snapshotIntervalMs: 300 * minute,
    snapshotSliceEntriesMax: 4,
    clockCheckMs: day,
    erasureGatherMs: random.pick([60 * minute, day]),
    erasureCheckMs: 60 * minute,
    domain: defects.domain,
  } as const
  /** All durable records so far: the journal itself is pruned. */
  const journal: Array<JournalRecord> = []
  const overhear = (storage: Storage["Service"]): Storage["Service"] => ({
    ...storage,
    append: (batch) =>
      Effect.tap(storage.append(batch), () =>
        Effect.sync(() => {
          const last = journal.at(-1)?.sequence ?? 0
          journal.push(...recordsOf(state).filter((record) => record.sequence > last))
        }),
      ),
  })
  const open = Effect.suspend(() => {
    Object.assign(disk, { full: false, appendMs: 0, appendsLeft: Infinity, writesLeft: Infinity })
    metrics = new Metrics()
    const memory = troubledDisk(overhear(MemoryStorage.make({ state })), disk)
    return start(dyingDisk(memory, disk), { ...options, metrics })
  })
  let now = Date.parse(random.pick(beginnings))
  yield* TestClock.setTime(now)
  let running = yield* open
  const users = [...inheritedNames, ...Array.from({ length: 5 }, (_, index) => `u${index}`)]
  const settled = random.chance(0.6)
  const recurAnew = new Set<string>()
  let sequence = 0
  let ids = 0

  /** The environment's time. */
  const time = () => timeIn(oracle.project, now)

  const surroundings = (userId = ""): Surroundings => ({
    random,
    now: time(),
    sequence: ++ids,
    project: oracle.project,
    model: oracle.model,
    records: [...oracle.records.values()].flat().filter(({ facts }) => facts.length > 0),
    sequenceOf: () => oracle.records.get(userId)?.at(-1)?.sequence ?? 0,
    settled,
    recurAnew,
  })

  /** Revokes half of the records with a caller's id by that id. */
  const byOwnId = (userId: string, made: Revocation): Revocation => {
    const known = oracle.records.get(userId) ?? []
    const cause = known.find(({ sequence }) => sequence === made.sequence)?.cause
    if (cause?.kind !== made.of || cause.id === undefined || random.chance(0.5)) return made
    return { ...made, at: 0, ownId: cause.id }
  }

  const command = (withId: boolean): UserMessage => {
    const userId = random.pick(users)
    const made = randomCommand(surroundings(userId), userId)
    if (made.kind === "tick" || made.kind === "backfill") return command(withId)
    const id = withId || random.chance(0.4) ? `id${ids}` : `id${random.integer(0, ids)}`
    if (made.kind === "revocation") return { userId, command: byOwnId(userId, made) }
    const hasId = isNamed(made)
    return { userId, command: hasId && (withId || random.chance(0.6)) ? { ...made, id } : made }
  }

  /**
   * Gives the model the records that became durable since the last call, in order for each user.
   */
  const fresh = (): ReadonlyArray<JournalRecord> => {
    const records = journal.filter((record) => record.sequence > sequence)
    sequence = records.at(-1)?.sequence ?? sequence
    for (const record of records) {
      if (record.subject.actor === "project") oracle.define(record)
      if (record.subject.actor !== "user") continue
      oracle.note(record)
      const { userId } = record.subject
      if (record.cause.kind === "erasure") {
        // Idempotency keys of erased users count as absent.
        for (const [key, of] of keyed) if (of === userId) keyed.delete(key)
      }
      if (record.kept === undefined) continue
      expect(keyed.get(record.kept.key)).toBeUndefined()
      keyed.set(record.kept.key, userId)
    }
    return records.filter(({ subject }) => subject.actor === "user")
  }

  /**
   * Compares the answers to `sent`, in the order of sending, with the model's. `strict`: nothing
   * else was under way, so refusals must be the model's too.
   */
  const settleNow = (sent: ReadonlyArray<Sent>, strict: boolean): void => {
    const unseen = sequence
    const left = [...fresh()]
    const revokedNow = new Set(
      left.flatMap(({ cause }) => (cause.kind === "revocation" ? [cause.sequence] : [])),
    )
    const takeWhile = (userId: string, until: number) => {
      for (const record of left.filter((one) => one.sequence <= until)) {
        if (record.subject.actor !== "user" || record.subject.userId !== userId) continue
        left.splice(left.indexOf(record), 1)
        oracle.take(record)
      }
    }
    for (const { message, outcome } of sent) {
      const { command, userId } = message
      if (outcome === undefined) continue
      if (!("_tag" in outcome)) {
        const known = oracle.records.get(userId) ?? []
        const record = recordOf(outcome, userId, command, [...known, ...left], left)
        if (record === undefined) continue
        takeWhile(userId, record.sequence)
        const isOpening = command.kind === "opening" && "duplicate" in outcome && outcome.duplicate
        const repeat = isOpening
          ? { differs: [], revoked: false }
          : isNamed(command) && "duplicate" in outcome && outcome.duplicate
            ? oracle.model.repeat(userId, command)
            : undefined
        // Commands at the same time may be decided in any order.
        const unsure = !strict && revokedNow.has(record.sequence) && "revoked" in outcome
        const expected = unsure && repeat ? { ...repeat, revoked: outcome.revoked } : repeat
        const actual =
          "differs" in outcome ? { ...outcome, differs: outcome.differs.toSorted() } : outcome
        expect(actual).toEqual(replyOf(record, expected))
        continue
      }
      if (!strict) continue
      const records = oracle.records.get(userId) ?? []
      // A second undo is like an undo of an unknown record.
      if (firstOf(command, records)?.cause.kind === "revocation") {
        expect(outcome.code).toMatch(/_not_found$/)
        continue
      }
      const asked = withRecord(command, records)
      if (command.kind === "purchase") {
        // What others bought at the same time may have been decided before or after it.
        const moments = journal.map((one) => one.sequence).filter((one) => one > unseen)
        const refusals = [unseen, ...moments].map((after) =>
          oracle.foresee(userId, asked, time(), after + 0.5),
        )
        expect(refusals).toContainEqual({ refused: outcome.code })
        continue
      }
      const moment = { now: time(), sequence: sequence + 0.5 }
      expect({ refused: outcome.code }).toEqual(
        oracle.expect(userId, asked, oracle.definitions, moment),
      )
    }
    for (const userId of users) takeWhile(userId, Number.POSITIVE_INFINITY)
    expect(left).toEqual([])
  }

  /** Ends when the journal has every acknowledged record; waits only in relaxed durability. */
  const written = Effect.gen(function* () {
    while ((journal.at(-1)?.sequence ?? 0) < running.engine.feed.head) yield* yieldToEventLoop
  })

  const settle = (sent: ReadonlyArray<Sent>, strict: boolean) =>
    Effect.map(written, () => settleNow(sent, strict))

  const askOne = (message: UserMessage) =>
    Effect.suspend(() => {
      simulated.commands++
      return Effect.match(running.engine.askUser(sandbox, message), {
        onSuccess: ({ reply }): Outcome => reply,
        onFailure: (error) => error,
      })
    })

  const pass = (ms: number) =>
    Effect.suspend(() => {
      now += ms
      return TestClock.adjust(ms)
    })

  /** Waits for the work that the clock or a start has begun. */
  const rest = Effect.gen(function* () {
    for (let before = -1; before !== sequence; ) {
      before = sequence
      yield* pass(200)
      for (let turn = 0; turn < 5; turn++) yield* yieldToEventLoop
      yield* settle([], false)
    }
  })

  const troubles: Surrounded = {
    random,
    disk,
    defects,
    engine: () => running.engine,
    message: () => command(random.chance(0.7)),
    key: () => once(`key${ids++}`),
    users: users.length,
    warm: () => sampleValue(metrics.text(), "laurel_users_decoded") ?? 0,
    now: () => now,
    pass,
    asked: () => {
      simulated.commands++
    },
  }

  const jump = () =>
    random.pick([1, 1000, minute, 60 * minute, 7 * 60 * minute, day, day, 3 * day, 8 * day])

  /**
   * Kills the engine while commands are under way. Whatever happened to them, a repeat settles it.
   */
  const crash = Effect.gen(function* () {
    // The power may fail in the middle of a snapshot, or before or after the journal takes a batch.
    if (random.chance(0.5)) {
      disk.writesLeft = random.integer(0, 6)
      yield* pass(options.snapshotIntervalMs)
    }
    yield* settle([], false)
    if (random.chance(0.5)) {
      disk.appendsLeft = 0
      disk.lastAppendKept = random.chance(0.5)
    }
    const sent = Array.from({ length: random.integer(0, 20) }, () => command(true))
    const { version } = oracle.project.settings
    const change = { name: `Name ${ids++}` }
    const edit = { kind: "updateSettings", change, ifMatch: [version] } as const
    const key = once(`key${ids++}`)
    // Detached: a caller with a key cannot be interrupted, and nobody answers it any more.
    yield* Effect.forkDetach(Effect.exit(running.engine.askProject(sandbox, edit, key)), {
      startImmediately: true,
    })
    const asked = yield* Effect.forkChild(running.engine.askUsers(sandbox, sent), {
      startImmediately: true,
    })
    if (random.chance(0.5)) yield* yieldToEventLoop
    yield* running.close("kill")
    yield* Fiber.interrupt(asked)
    simulated.commands += sent.length
    if (random.chance(0.3)) yield* pass(random.integer(1, 20 * 60 * minute))
    running = yield* open
    yield* settle([], false)
    // A change on condition with a key is made once, whether or not the first one was.
    const made = yield* running.engine.askProject(sandbox, edit, key)
    const again = yield* running.engine.askProject(sandbox, edit, key)
    expect([again.replayed, again.reply]).toEqual([true, made.reply])
    yield* settle([], false)
    expect(oracle.project.settings).toMatchObject({ ...change, version: version + 1 })
    const outcomes: Array<Outcome> = []
    for (const message of sent) outcomes.push(yield* askOne(message))
    yield* settle(
      sent.map((message, index) => ({ message, outcome: outcomes[index] })),
      false,
    )
  })

  /** Shuts the server down while the disk is full. */
  const endFull = Effect.gen(function* () {
    yield* settle([], false)
    const sent = Array.from({ length: random.integer(0, 10) }, () => command(true))
    yield* endWithoutSpace(troubles, sent, running.close())
    simulated.commands += sent.length
    running = yield* open
    yield* settle([], false)
    const outcomes: Array<Outcome> = []
    for (const message of sent) outcomes.push(yield* askOne(message))
    yield* settle(
      sent.map((message, index) => ({ message, outcome: outcomes[index] })),
      false,
    )
  })

  /** Simulates an event, then sends it: it has the simulated result. */
  const tryOut = Effect.gen(function* () {
    const { command: made, userId } = command(false)
    if (made.kind !== "event") return
    const { id: _, ...event } = made as TrackedEvent
    const message = { userId, command: event }
    const simulated = yield* Effect.exit(running.engine.simulate(sandbox, message))
    const expected = oracle.foresee(userId, event, time())
    if (Exit.isSuccess(simulated)) {
      expect(outcomeOf(simulated.value.record)).toEqual(expected && sorted(expected))
    } else expect(expected).toHaveProperty("refused")
    yield* settle([{ message, outcome: yield* askOne(message) }], true)
  })

  /**
   * Awards a badge to all users who qualify already, in the background; then no user without it
   * qualifies.
   */
  const backfill = Effect.gen(function* () {
    const badges = oracle.definitions.badges.filter((badge) => statusOf(badge, time()) === "active")
    if (badges.length === 0) return
    const { criteria, id } = random.pick(badges)
    if (criteria.kind === "manual") return
    const asked = { kind: "startBackfill", badgeId: id, notify: random.chance(0.5) } as const
    const at = decidedAt((yield* running.engine.askProject(sandbox, asked)).reply)
    for (let tries = 0; ; tries++) {
      yield* Effect.andThen(pass(10), yieldToEventLoop)
      const run = yield* running.engine.readBackfill(sandbox, id)
      if (run?.startedAt === at && run.status === "finished") break
      expect(tries).toBeLessThan(1_000)
    }
    yield* rest
    for (const userId of users) {
      if (oracle.model.log(userId).length > 0) {
        expect(oracle.qualifies(userId, id, time())).toBe(false)
      }
    }
  })

  /** Counts a metric for the past, in the background, while commands arrive. */
  const metricBackfill = Effect.gen(function* () {
    const metrics = oracle.definitions.metrics.filter(({ set }) => set !== "archived")
    if (metrics.length === 0) return
    const { id: metricId } = random.pick(metrics)
    yield* running.engine.askProject(sandbox, { kind: "startMetricBackfill", metricId })
    for (let tries = 0; ; tries++) {
      const message = command(false)
      if (random.chance(0.3)) {
        yield* settle([{ message, outcome: yield* askOne(message) }], false)
      }
      yield* Effect.andThen(pass(10), yieldToEventLoop)
      if ((yield* running.engine.readBackfill(sandbox, metricId))?.status === "finished") break
      expect(tries).toBeLessThan(1_000)
    }
    yield* settle([], false)
    yield* rest
    yield* compareReads(running.engine, oracle, random, time(), users)
  })

  /** Advances the test clock, often over several ends of days, with commands and a kill meanwhile. */
  const advance = Effect.gen(function* () {
    const to = time() + random.pick([1, minute, 7 * 60 * minute, day, 3 * day, 40 * day])
    yield* running.engine.askProject(sandbox, { kind: "advanceClock", to })
    // A kill may lose what relaxed durability has acknowledged.
    yield* written
    const killAfter = random.chance(0.4) ? random.integer(0, 12) : Number.POSITIVE_INFINITY
    for (let turn = 0; isAdvancing(running.engine.projectNow(sandbox)); turn++) {
      expect(turn).toBeLessThan(5_000)
      if (turn === killAfter) {
        yield* running.close("kill")
        if (random.chance(0.3)) yield* pass(jump())
        running = yield* open
      }
      const message = command(true)
      if (random.chance(0.2)) {
        const outcome = yield* askOne(message)
        yield* settle([{ message, outcome }], false)
      }
      yield* pass(random.integer(1, 5))
      yield* yieldToEventLoop
    }
    yield* settle([], false)
    expect(running.engine.timeIn(sandbox)).toBe(time())
    expect(time()).toBeGreaterThanOrEqual(to)
  })

  const define = Effect.gen(function* () {
    const made = surroundings()
    const kind = random.next()
    const facts =
      kind < 0.1
        ? [
            random.chance(0.3)
              ? ({ kind: "experiment.created", experiment: randomExperiment(made) } as const)
              : ({ kind: "segment.created", segment: randomSegment(made) } as const),
          ]
        : kind < 0.2
          ? [{ kind: "rule.created", rule: randomRule(made) } as const]
          : kind < 0.4
            ? [{ kind: "badge.created", badge: randomBadge(made) } as const]
            : kind < 0.55
              ? [{ kind: "quest.created", quest: randomQuest(made) } as const]
              : kind < 0.58
                ? [{ kind: "boost.created", boost: randomBoost(made) } as const]
                : kind < 0.61
                  ? [{ kind: "leaderboard.created", leaderboard: randomBoard(made) } as const]
                  : kind < 0.65
                    ? randomCurrency(made)
                    : kind < 0.7
                      ? [{ kind: "metric.created", metric: randomMetric(made) } as const]
                      : kind < 0.75
                        ? randomStreak(made)
                        : kind < 0.82
                          ? random.chance(0.3)
                            ? randomTeam(made)
                            : [{ kind: "item.created", item: randomItem(made) } as const]
                          : kind < 0.95
                            ? randomEdit(made)
                            : [{ kind: "project.updated", settings: randomSettings(made) } as const]
    for (const fact of facts) {
      yield* Effect.exit(running.engine.askProject(sandbox, commandOf(oracle.project, fact)))
    }
    yield* settle([], false)
  })

  yield* running.engine.askProject(sandbox, {
    kind: "updateSettings",
    change: { timezone: random.pick(zones) },
  })
  for (let step = 0; step < steps; step++) {
    if (step % 6 === 0) {
      for (const fact of randomTeam(surroundings())) {
        yield* Effect.exit(running.engine.askProject(sandbox, commandOf(oracle.project, fact)))
      }
      yield* settle([], false)
    }
    const kind = random.next()
    if (kind < 0.08 || step < 8) yield* define
    else if (kind < 0.09) yield* backfill
    else if (kind < 0.1) yield* metricBackfill
    else if (kind < 0.14) {
      // Commands arrive while a snapshot is written, and while time passes.
      const sent = Array.from({ length: random.integer(1, 20) }, () => command(false))
      const ms = random.integer(1, 700 * minute)
      const [outcomes] = yield* Effect.all(
        [
          Effect.forEach(sent, (message) => Effect.andThen(yieldToEventLoop, askOne(message))),
          pass(ms),
        ],
        { concurrency: "unbounded" },
      )
      yield* settle(
        sent.map((message, index) => ({ message, outcome: outcomes[index] })),
        false,
      )
    } else if (kind < 0.16) yield* crash
    else if (kind < 0.17) yield* advance
    else if (kind < 0.18) yield* endFull
    else if (kind < 0.22) yield* settle(yield* trouble(troubles), false)
    else if (kind < 0.24) {
      yield* running.close()
      running = yield* open
    } else if (kind < 0.31) {
      yield* pass(jump())
      yield* settle([], false)
    } else if (kind < 0.4) {
      const sent = Array.from({ length: random.integer(1, 30) }, () => command(false))
      const outcomes = yield* running.engine.askUsers(sandbox, sent)
      simulated.commands += sent.length
      yield* settle(
        sent.map((message, index) => ({ message, outcome: outcomes[index] })),
        true,
      )
    } else if (kind < 0.45) yield* tryOut
    else {
      const message = command(false)
      yield* settle([{ message, outcome: yield* askOne(message) }], true)
    }
    if (step % 10 === 0) {
      yield* rest
      for (const userId of users) {
        // What is due within this second may still come.
        const due = oracle.model.warningsDue(userId, oracle.definitions, time() - 1_000)
        const pauses = oracle.model.pausesDue(userId, oracle.definitions, time() - 1_000)
        expect([userId, due, pauses]).toEqual([userId, [], []])
      }
      yield* compareReads(running.engine, oracle, random, time(), users)
    }
    expect(running.broken).toEqual([])
  }
  yield* rest
  yield* compareReads(running.engine, oracle, random, time(), users)
  yield* running.close()
  simulated.runs++
})
