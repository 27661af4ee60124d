/** What the engine says of itself to `Metrics`. Counted here is only what happens once per batch or more rarely; the rest is read. */
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { Counter, Histogram, Metrics } from "../../metrics/Metrics.ts"
import type { ActorCache } from "../actor/ActorCache.ts"
import type { ActorSystem } from "../actor/ActorSystem.ts"
import type { Environments } from "../actor/Environments.ts"
import type { GroupCommit } from "../commit/GroupCommit.ts"
import type { RecoveryReport } from "../recovery/Recovery.ts"
import type { Snapshotter } from "../snapshot/Snapshotter.ts"
import type { EngineClock } from "../time/Clock.ts"

/** The parts of an engine that are read when the metrics are asked for. */
export interface ObservedEngine {
  readonly actors: ActorSystem
  readonly commit: Pick<
    GroupCommit<never>,
    "nextSequence" | "durableSequence" | "pendingBytes" | "stalled"
  >
  readonly environments: Environments
  readonly actorCache: ActorCache
  readonly snapshotter: Snapshotter
  readonly report: RecoveryReport
  /** Epoch milliseconds. */
  readonly now: () => number
}

export class EngineMetrics {
  readonly #metrics: Metrics
  readonly #batchRecords: Histogram
  readonly #batchBytes: Histogram
  readonly #commitDuration: Histogram
  readonly #snapshotDuration: Histogram
  readonly #snapshotFailures: Counter
  readonly #activations: Counter
  readonly #failures: Counter
  readonly #clockJumps: Counter
  readonly #refusals = new Map<string, Counter>()

  constructor(metrics: Metrics) {
    this.#metrics = metrics
    this.#batchRecords = metrics.histogram("laurel_commit_batch_records")
    this.#batchBytes = metrics.histogram("laurel_commit_batch_bytes")
    this.#commitDuration = metrics.histogram("laurel_commit_duration_seconds")
    this.#snapshotDuration = metrics.histogram("laurel_snapshot_duration_seconds")
    this.#snapshotFailures = metrics.counter("laurel_snapshot_failures_total")
    this.#activations = metrics.counter("laurel_actor_activations_total")
    this.#failures = metrics.counter("laurel_actor_failures_total")
    this.#clockJumps = metrics.counter("laurel_clock_jumps_refused_total")
    for (const code of ["overloaded", "storage_unavailable", "shutting_down"])
      this.#refusalsOf(code)
  }

  /** A batch is in the journal. */
  batchCommitted(records: number, bytes: number, durationMs: number): void {
    this.#batchRecords.observe(records)
    this.#batchBytes.observe(bytes)
    this.#commitDuration.observe(durationMs / 1_000)
  }

  snapshotTaken(durationMs: number): void {
    this.#snapshotDuration.observe(durationMs / 1_000)
  }

  snapshotFailed(): void {
    this.#snapshotFailures.increment()
  }

  /** A command, or a batch of them, was not taken into a mailbox. */
  refused({ code }: LaurelError, commands = 1): void {
    this.#refusalsOf(code).add(commands)
  }

  /** An actor's state was read from disk. */
  activated(): void {
    this.#activations.increment()
  }

  /** A command made its actor fail. */
  actorFailed(): void {
    this.#failures.increment()
  }

  /** The machine's clock jumped ahead and is not believed. */
  clockJumpRefused(): void {
    this.#clockJumps.increment()
  }

  observeClock(clock: EngineClock): void {
    this.#metrics.gauge("laurel_clock_ahead_seconds", () => clock.aheadMs / 1_000)
  }

  /** From now on the engine is asked for all that it knows anyway. */
  observe({
    actors,
    commit,
    environments,
    now,
    report,
    actorCache,
    snapshotter,
  }: ObservedEngine): void {
    const metrics = this.#metrics
    metrics.gauge("laurel_users", () => actorCache.size, { state: "warm" })
    metrics.gauge(
      "laurel_users",
      () => {
        let users = 0
        for (const { counts } of environments) users += counts.users
        return Math.max(0, users - actorCache.size)
      },
      { state: "cold" },
    )
    metrics.gauge("laurel_actors_activating", () => actors.activating)
    metrics.gauge("laurel_commands_unanswered", () => actors.answers.unanswered)
    metrics.readCounter("laurel_journal_records_total", () => commit.durableSequence)
    metrics.gauge(
      "laurel_journal_lag_records",
      () => commit.nextSequence - 1 - commit.durableSequence,
    )
    metrics.gauge("laurel_journal_lag_bytes", () => commit.pendingBytes)
    metrics.gauge("laurel_storage_stalled", () => Number(commit.stalled))
    metrics.gauge("laurel_snapshot_age_seconds", () =>
      snapshotter.takenAt === 0 ? 0 : Math.max(0, now() - snapshotter.takenAt) / 1_000,
    )
    metrics.gauge("laurel_snapshot_pending_records", () => snapshotter.pending)
    metrics.gauge("laurel_recovery_duration_seconds", () => report.durationMs / 1_000)
    metrics.gauge("laurel_recovery_replayed_records", () => report.recordsReplayed)
  }

  #refusalsOf(code: string): Counter {
    let counter = this.#refusals.get(code)
    if (counter === undefined) {
      counter = this.#metrics.counter("laurel_mailbox_refusals_total", { code })
      this.#refusals.set(code, counter)
    }
    return counter
  }
}
