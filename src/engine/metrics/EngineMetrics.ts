/**
 * The metrics of an engine. It counts here what happens once in a batch or less often. All other
 * values are read from the engine's parts when metrics are collected.
 */
import type { LaurelError } from "../../domain/values/Errors.ts"
import type { Counter, Histogram, Metrics } from "../../metrics/Metrics.ts"

interface EnvironmentGauges {
  readonly counts: { readonly users: number }
  readonly states: { readonly table: { readonly count: number } }
}

/** The values that are read from the engine's parts when metrics are collected. */
interface ObservedEngine {
  readonly actors: {
    readonly answers: { readonly unanswered: number }
  }
  readonly commit: {
    readonly nextSequence: number
    readonly durableSequence: number
    readonly pendingBytes: number
    readonly stalled: boolean
  }
  readonly environments: Iterable<EnvironmentGauges>
  readonly actorCache: { readonly size: number }
  readonly shared: { readonly states: { readonly bytes: number; readonly bytesMax: number } }
  /** `takenAt`: epoch milliseconds. */
  readonly snapshotter: { readonly takenAt: number; readonly pending: number }
  readonly report: { readonly durationMs: number; readonly recordsReplayed: number }
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
  readonly #decodes: Counter
  readonly #stateRefusals: Counter
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
    this.#decodes = metrics.counter("laurel_user_decodes_total")
    this.#stateRefusals = metrics.counter("laurel_state_refusals_total")
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

  /** A command or a batch of commands was refused before a mailbox had it. */
  refused({ code }: LaurelError, commands = 1): void {
    this.#refusalsOf(code).add(commands)
  }

  /** A user's state was decoded. */
  decoded(): void {
    this.#decodes.increment()
  }

  /** A new user was refused, since the states of all users take too much memory. */
  stateRefused(): void {
    this.#stateRefusals.increment()
  }

  /** A command or a load made its actor fail. */
  actorFailed(): void {
    this.#failures.increment()
  }

  /** The machine's clock jumped ahead, and the jump is ignored. */
  clockJumpRefused(): void {
    this.#clockJumps.increment()
  }

  observeClock(clock: { readonly aheadMs: number }): void {
    this.#metrics.gauge("laurel_clock_ahead_seconds", () => clock.aheadMs / 1_000)
  }

  /** Work that met a defect and waits for its next try: payments, and environments whose leaderboards are filled. */
  observeFailing({
    failing,
    fillsFailing,
  }: {
    readonly failing: () => number
    readonly fillsFailing: () => number
  }): void {
    this.#metrics.gauge("laurel_payments_failing", failing)
    this.#metrics.gauge("laurel_board_fills_failing", fillsFailing)
  }

  /** Registers the gauges that read the engine's parts. */
  observe({
    actors,
    commit,
    environments,
    now,
    report,
    actorCache,
    shared,
    snapshotter,
  }: ObservedEngine): void {
    const metrics = this.#metrics
    const sum = (of: (environment: EnvironmentGauges) => number): number => {
      let total = 0
      for (const environment of environments) total += of(environment)
      return total
    }
    metrics.gauge("laurel_users", () => sum(({ counts }) => counts.users))
    metrics.gauge("laurel_users_decoded", () => actorCache.size)
    metrics.gauge("laurel_state_buckets", () => sum(({ states }) => states.table.count))
    metrics.gauge("laurel_state_bytes", () => shared.states.bytes)
    metrics.gauge("laurel_state_bytes_max", () => shared.states.bytesMax)
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
