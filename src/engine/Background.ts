/**
 * The background work of an engine, in two parts:
 *
 * - The upkeep of the state (`startUpkeep`) runs from recovery on, whether the engine serves or
 *   follows another server: snapshots, expired answers, erasures, the filter of known ids. It
 *   writes no record. Once the engine serves, it asks the writer for heartbeats.
 * - The work that writes records (`startBackground`) runs while the engine serves: due users, ends
 *   of windows of leaderboards and leagues, awards of badges. Counts of members of segments, metrics of all
 *   users and active users run with it,
 *   since only a server has their readers.
 */
import { Effect, type Scope } from "effect"
import type { ProjectCommand } from "../domain/decide/Project.ts"
import type { Backfill, JournalRecord } from "../domain/record/Record.ts"
import { limits } from "../Limits.ts"
import type { StorageError } from "../storage/Storage.ts"
import { BoardFills } from "./actor/BoardFills.ts"
import type { Environment } from "./actor/Environments.ts"
import { RankNews } from "./actor/RankNews.ts"
import { toReply } from "./actor/Requests.ts"
import { Backfills } from "./badges/Backfills.ts"
import { MetricRecounts } from "./badges/MetricRecounts.ts"
import { AnswerExpiry } from "./dedupe/KeptAnswers.ts"
import type { EngineOptions } from "./Engine.ts"
import { ErasureRuns } from "./ErasureRuns.ts"
import { atIntervals, endsWhenBroken } from "./endsWhenBroken.ts"
import { JournalUpkeep } from "./JournalUpkeep.ts"
import type { EngineMetrics } from "./metrics/EngineMetrics.ts"
import { GoalRewards } from "./payouts/GoalRewards.ts"
import { Payouts } from "./payouts/Payouts.ts"
import type { PaymentTo } from "./payouts/payAll.ts"
import { ActiveUsers } from "./read/ActiveUsers.ts"
import { ExperimentCounts } from "./read/ExperimentCounts.ts"
import { GoalContributors } from "./read/GoalContributors.ts"
import { Mechanics } from "./read/Mechanics.ts"
import { MetricsOfAll } from "./read/MetricsOfAll.ts"
import { RetentionOfSome } from "./read/RetentionOfSome.ts"
import { SegmentCounts } from "./read/SegmentCounts.ts"
import { UsersOfRange } from "./read/UsersOfRange.ts"
import { type Heartbeat, Snapshotter } from "./snapshot/Snapshotter.ts"
import type { EngineState } from "./state/EngineState.ts"
import { LeagueClock } from "./time/LeagueClock.ts"
import { TestClocks } from "./time/TestClocks.ts"
import { Ticker } from "./time/Ticker.ts"
import { WindowClock } from "./time/WindowClock.ts"
import type { Writes } from "./Writes.ts"

/** The writer of the state's records, as snapshots need it. */
export interface Writer {
  /** Ends when the journal has every record that is durable to callers. */
  readonly written: Effect.Effect<void>
  /**
   * The lowest sequence of the journal that a reader still needs; `undefined`: no reader has said
   * so yet.
   */
  readonly held: Effect.Effect<number | undefined, StorageError>
  readonly heartbeat: Heartbeat
  /** There may be room for more records. */
  readonly changed: () => void
}

/** Stands in while another server writes the records: there is nothing to wait for. */
const nobody: Writer = {
  written: Effect.void,
  held: Effect.undefined,
  heartbeat: (over) => over(),
  changed: () => {},
}

export interface Upkeep {
  readonly snapshotter: Snapshotter
  /** This engine writes the records from now on. */
  readonly serve: (writer: Writer) => void
}

/** Starts the upkeep in the surrounding scope. */
export const startUpkeep = Effect.fnUntraced(function* (
  state: EngineState,
  options: EngineOptions,
  metrics: EngineMetrics,
): Effect.fn.Return<Upkeep, never, Scope.Scope> {
  const { deduplicator } = state
  const { needed = Effect.succeed(Number.POSITIVE_INFINITY) } = options
  let writer: Writer = nobody
  const snapshotter = new Snapshotter({
    state,
    written: Effect.suspend(() => writer.written),
    onEnded: () => writer.changed(),
    sliceEntriesMax: options.snapshotSliceEntriesMax ?? limits.snapshotSliceEntriesMax,
    metrics,
  })
  const journalUpkeep = new JournalUpkeep({
    ...state,
    historyMs: options.historyMs,
    watermark: () => snapshotter.watermark,
    held: Effect.flatMap(
      Effect.suspend(() => writer.held),
      (held) => (held === undefined ? needed : Effect.succeed(held)),
    ),
  })
  const expiry = new AnswerExpiry({ ...state, alone: snapshotter.alone })
  const gatherMs = options.erasureGatherMs ?? limits.erasureGatherMs
  const erasureRuns = new ErasureRuns({ ...state, alone: snapshotter.alone, gatherMs })
  const snapshotIntervalMs = options.snapshotIntervalMs ?? limits.snapshotIntervalMs
  const heartbeatMs = options.heartbeatMs ?? limits.journalHeartbeatMs
  for (const work of [
    deduplicator.fill,
    snapshotter.run(snapshotIntervalMs, heartbeatMs, (over) => writer.heartbeat(over)),
    atIntervals(options.journalUpkeepMs ?? limits.journalUpkeepMs, journalUpkeep.keep),
    atIntervals(snapshotIntervalMs, expiry.sweep),
    atIntervals(options.erasureCheckMs ?? limits.erasureCheckMs, erasureRuns.run),
  ]) {
    yield* Effect.forkScoped(endsWhenBroken(options.onBroken, work))
  }
  return {
    snapshotter,
    serve: (next) => {
      writer = next
    },
  }
})

export interface Background {
  readonly backfills: Backfills
  readonly segmentCounts: SegmentCounts
  readonly activeUsers: ActiveUsers
  readonly retention: RetentionOfSome
  readonly mechanics: Mechanics
  readonly usersOfRange: UsersOfRange
  readonly contributors: GoalContributors
  readonly experiments: ExperimentCounts
  readonly metricsOfAll: MetricsOfAll
  readonly testClocks: TestClocks<Environment>
  /** How many payments have met a defect and wait for their next try. */
  readonly failing: () => number
  /** In how many environments the fill of a leaderboard has met a defect, and waits for its next try. */
  readonly fillsFailing: () => number
}

/** Tells these of each durable record, in a stage of the pipeline. */
const follow = (
  pipeline: Writes["pipeline"],
  stage: "windows" | "backfills",
  followers: ReadonlyArray<{ readonly committed: (record: JournalRecord) => void }>,
): void => {
  pipeline.on(stage, ({ record }) => {
    for (const follower of followers) follower.committed(record)
  })
}

/** The clocks that close windows, and that of sandboxes which leads them. */
const clocksOf = (
  state: EngineState,
  { commit, pace, requests }: Pick<Writes, "commit" | "pace" | "requests">,
  clockCheckMs: number,
  payers: ReadonlyArray<Payouts | GoalRewards>,
) => {
  const windowClock = new WindowClock({
    ...state,
    clockCheckMs,
    afterCommit: commit.afterCommit,
    close: ({ project }: Environment, command, over) => requests.tell(project, command, over),
  })
  const leagueClock = new LeagueClock({
    ...state,
    clockCheckMs,
    afterCommit: commit.afterCommit,
    close: ({ project }: Environment, command, over) => requests.tell(project, command, over),
    askUsers: ({ id }, messages) => pace.refusals(id, messages),
  })
  const testClocks = new TestClocks<Environment>({
    ...state,
    windows: {
      closeEnded: (environment) =>
        Effect.zipWith(
          windowClock.closeEnded(environment),
          leagueClock.closeEnded(environment),
          (boards, leagues) => boards && leagues,
        ),
      nextEnd: (environment) =>
        Math.min(windowClock.nextEnd(environment), leagueClock.nextEnd(environment)),
    },
    isPaying: (environment) => payers.some((payer) => payer.isPaying(environment)),
    move: ({ project }, command) =>
      Effect.callback((resume) =>
        requests.tell(project, command, (moved) => resume(Effect.succeed(moved))),
      ),
    sooner: () => void state.dueSooner.openUnsafe(),
  })
  return { windowClock, leagueClock, testClocks }
}

/** What pays many users in the background. */
const payoutsOf = (
  state: EngineState,
  { pace, requests }: Pick<Writes, "pace" | "requests">,
  options: EngineOptions,
): ReadonlyArray<Payouts | GoalRewards> => {
  const parts = {
    ...state,
    groupUsersMax: options.payoutGroupUsersMax ?? limits.payoutGroupUsersMax,
    stepRows: options.payoutStepRows ?? limits.payoutStepRows,
    askUsers: (environment: string, messages: ReadonlyArray<PaymentTo>) =>
      pace.refusals(environment, messages),
    askProject: (environment: string, command: ProjectCommand) =>
      requests.one(requests.to(state.environments.of(environment).project), command),
  }
  return [new Payouts(parts), new GoalRewards(parts)]
}

/** The work that reads all users. */
const countsOf = (state: EngineState, history: Writes["history"]) => ({
  segmentCounts: new SegmentCounts(state),
  activeUsers: new ActiveUsers(state),
  retention: new RetentionOfSome(state),
  mechanics: new Mechanics(state),
  usersOfRange: new UsersOfRange(state),
  contributors: new GoalContributors(state),
  experiments: new ExperimentCounts(state),
  metricsOfAll: new MetricsOfAll({ ...state, history }),
})

/** Starts the work that writes records in the surrounding scope. */
export const startBackground = Effect.fnUntraced(function* (
  state: EngineState,
  { batches, commit, feed, history, pace, pipeline, requests }: Writes,
  upkeep: Upkeep,
  options: EngineOptions,
): Effect.fn.Return<Background, never, Scope.Scope> {
  const { directory, environments } = state
  const clockCheckMs = options.clockCheckMs ?? limits.clockCheckMs
  upkeep.serve({
    written: commit.written,
    held: feed.held,
    heartbeat: (over) => requests.tell(directory, { kind: "heartbeat" }, over),
    changed: () => batches.changed(),
  })
  const payouts = payoutsOf(state, { pace, requests }, options)
  const { leagueClock, testClocks, windowClock } = clocksOf(
    state,
    { commit, pace, requests },
    clockCheckMs,
    payouts,
  )
  const recounts = yield* MetricRecounts.make({
    history,
    askUser: (environment, { command, userId }, prepare) =>
      requests.one(requests.toUser(environment, userId), command, undefined, prepare),
  })
  const ticker = new Ticker({
    ...state,
    clockCheckMs,
    advance: testClocks.advance,
    peek: ({ states, users }: Environment, userId) => {
      const actor = users.get(userId)
      return actor?.loaded ? actor.state : states.read(userId)
    },
    recount: (environment, userId) => recounts.ask(environment, userId),
    askUsers: ({ id }, messages) => pace.refusals(id, messages),
  })
  const backfills = new Backfills({
    ...state,
    history,
    recounts,
    askUser: (environment, { command, userId }, prepare) =>
      Effect.map(
        requests.one(requests.toUser(environment, userId), command, undefined, prepare),
        toReply<Backfill>,
      ),
    askProject: (environment, command) =>
      requests.one(requests.to(environments.of(environment).project), command),
  })
  const boardFills = new BoardFills(environments)
  const rankNews = new RankNews({
    ...state,
    askUsers: (environment, messages) => pace.refusals(environment, messages),
  })
  follow(pipeline, "windows", [windowClock, leagueClock, testClocks])
  follow(pipeline, "backfills", [backfills, boardFills, rankNews, ...payouts])
  const counts = countsOf(state, history)
  const closing = [windowClock, leagueClock]
  const writing = [ticker, recounts, backfills, boardFills, rankNews, ...payouts]
  for (const { run } of [...closing, ...writing, ...Object.values(counts)]) {
    yield* Effect.forkScoped(endsWhenBroken(options.onBroken, run))
  }
  const paying = [leagueClock, ...payouts]
  const failing = () => paying.reduce((sum, payer) => sum + payer.failing, 0)
  const fillsFailing = () => boardFills.failing
  return { ...counts, backfills, testClocks, failing, fillsFailing }
})
