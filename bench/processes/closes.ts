/**
 * Closes a window of many users: a leaderboard that pays all of them, or a league that settles all of
 * them. The engine writes to a disk. A commander earns at a steady rate before the close and during it.
 *
 * The clock of the engine is the machine's until all users have scored. Then it jumps to the next
 * midnight.
 */
// As in a server, the sizes of the young generation do not apply to threads.
import "../../src/startAgain.js"
import { Clock, Effect } from "effect"
import type { JournalRecord } from "../../src/domain/record/Record.ts"
import type { Engine } from "../../src/engine/Engine.ts"
import { makeEngine } from "../../src/engine/EngineLive.ts"
import * as DurableStorage from "../../src/storage/durable/DurableStorage.ts"
import { answer } from "../children.ts"
import { environment } from "../millionUsers.ts"

export interface ClosesInput {
  readonly directory: string
  readonly kind: "prizes" | "league"
  readonly users: number
  /** Of the commands before the close: first those that are not measured, then as long the measured ones. */
  readonly quietSeconds: number
}

export interface ClosesReport {
  /** From the close until the last user is paid or settled. */
  readonly ms: number
  /** Of the process, less that of the same commands without a close. */
  readonly processorMs: number
  /** The 99th percentile of the commands' latency, in milliseconds. */
  readonly quietMs: number
  readonly busyMs: number
  /** Users who were paid or settled. */
  readonly done: number
}

const together = 1_000
/** Between two commands of the commander. */
const betweenMs = 10
const dayMs = 86_400_000
const cohortSize = 30

const userIdOf = (n: number): string => `user-${n.toString().padStart(15, "0")}`

/** The machine's clock, ahead by a time that can change. */
const shiftedClock = (real: Clock.Clock) => {
  let aheadMs = 0
  const nanos = () => real.currentTimeNanosUnsafe() + BigInt(aheadMs) * 1_000_000n
  const monotonic = () => real.monotonicTimeNanosUnsafe() + BigInt(aheadMs) * 1_000_000n
  const clock: Clock.Clock = {
    ...real,
    currentTimeMillisUnsafe: () => real.currentTimeMillisUnsafe() + aheadMs,
    currentTimeMillis: Effect.sync(() => real.currentTimeMillisUnsafe() + aheadMs),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: monotonic,
    monotonicTimeNanos: Effect.sync(monotonic),
    sleep: (duration) => real.sleep(duration),
  }
  return {
    clock,
    advance: (ms: number) => {
      aheadMs += ms
    },
  }
}

const outcomes = new Set(["league.promoted", "league.stayed", "league.demoted"])

const isDone = (kind: ClosesInput["kind"], { cause, facts }: JournalRecord): boolean =>
  kind === "prizes" ? cause.kind === "payment" : facts.some((fact) => outcomes.has(fact.kind))

/** What the window of a day closes. */
const define = (engine: Engine["Service"], kind: ClosesInput["kind"]) =>
  kind === "prizes"
    ? engine.askProject(environment, {
        kind: "updateLeaderboard",
        leaderboardId: "xp",
        change: {
          prizes: [{ window: "daily", percent: 100, reward: { xp: 0, points: 5, badgeId: null } }],
        },
      })
    : engine.askProject(environment, {
        kind: "createLeague",
        league: {
          id: "lga_1",
          key: "league",
          name: "League",
          score: { currency: "xp" },
          window: "daily",
          cohortSize,
          divisions: ["bronze", "silver"].map((key) => ({
            key,
            name: key,
            icon: null,
            promote: 7,
            demote: 5,
          })),
          description: null,
          startsAt: null,
          endsAt: null,
          segment: null,
          metadata: {},
          set: "published",
        },
      })

const percentile99 = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0

const processorMs = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1_000
}

/**
 * Sends commands at a steady rate until `isOver`; returns their latencies. Each counts from the moment
 * when its command is due: the command waits for long turns of the event loop too.
 */
const command = Effect.fnUntraced(function* (
  engine: Engine["Service"],
  users: number,
  isOver: () => boolean,
) {
  const latencies: Array<number> = []
  const beganAt = performance.now()
  for (let sent = 0; !isOver(); sent++) {
    const userId = userIdOf((sent * 7_919) % users)
    const dueAt = beganAt + sent * betweenMs
    yield* Effect.sleep(Math.max(0, dueAt - performance.now()))
    const reward = { kind: "reward", type: "points", amount: 1 } as const
    yield* Effect.forkChild(
      Effect.map(engine.askUser(environment, { userId, command: reward }), () => {
        latencies.push(performance.now() - dueAt)
      }),
    )
  }
  return latencies
})

const commandFor = (engine: Engine["Service"], users: number, seconds: number) => {
  const until = performance.now() + seconds * 1_000
  return command(engine, users, () => performance.now() >= until)
}

const measure = Effect.fnUntraced(function* ({ kind, quietSeconds, users }: ClosesInput) {
  const { advance, clock } = shiftedClock(yield* Clock.Clock)
  let done = 0
  const engine = yield* makeEngine({
    clockCheckMs: 100,
    onCommitted: (record) => {
      if (isDone(kind, record)) done++
    },
    onBroken: (cause) => {
      throw cause
    },
  }).pipe(Effect.provideService(Clock.Clock, clock))
  yield* define(engine, kind)
  for (let next = 0; next < users; next += together) {
    const count = Math.min(together, users - next)
    const messages = Array.from({ length: count }, (_, index) => {
      const amount = 1 + (((next + index) * 7_919) % 99_991)
      return {
        userId: userIdOf(next + index),
        command: { kind: "reward", type: "xp", amount } as const,
      }
    })
    yield* engine.askUsers(environment, messages)
  }
  globalThis.gc!()
  // The snapshot of the load runs in this time, so the quiet phase has usual work only.
  yield* commandFor(engine, users, quietSeconds)
  const quietFrom = processorMs()
  const quiet = yield* commandFor(engine, users, quietSeconds)
  const quietPerMs = (processorMs() - quietFrom) / (quietSeconds * 1_000)
  const now = clock.currentTimeMillisUnsafe()
  advance(dayMs - (now % dayMs))
  const startedAt = performance.now()
  const startedFrom = processorMs()
  const busy = yield* command(engine, users, () => done >= users)
  const ms = performance.now() - startedAt
  return {
    ms,
    processorMs: processorMs() - startedFrom - quietPerMs * ms,
    quietMs: percentile99(quiet),
    busyMs: percentile99(busy),
    done,
  }
})

await answer((input: ClosesInput) =>
  measure(input).pipe(
    Effect.provide(DurableStorage.layer({ directory: input.directory })),
    Effect.scoped,
    Effect.runPromise,
  ),
)
