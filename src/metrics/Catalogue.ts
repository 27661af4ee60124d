/**
 * Every metric of the service: its kind, its labels and what it says, after Prometheus' conventions (base units,
 * `_total` for what only grows). `README.md` beside this file shows the same to people; a test compares
 * the two with what a running server says. Values of labels are few and known; ids are never one.
 */

/** Seconds of a request, from its head to its reply. */
const requestSeconds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]
/** Seconds of one step of ours that takes the disk or the event loop. */
const stepSeconds = [
  0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30,
]
const powersOfFour = (from: number, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => from * 4 ** index)

export interface MetricKind {
  readonly type: "counter" | "gauge" | "histogram"
  readonly labels: ReadonlyArray<string>
  readonly help: string
  /** Upper ends of a histogram's buckets, ascending, without the last one, which has none. */
  readonly bounds?: ReadonlyArray<number>
}

const counter = <const Labels extends ReadonlyArray<string>>(help: string, ...labels: Labels) =>
  ({ type: "counter", labels, help }) as const
const gauge = <const Labels extends ReadonlyArray<string>>(help: string, ...labels: Labels) =>
  ({ type: "gauge", labels, help }) as const
const histogram = <const Labels extends ReadonlyArray<string>>(
  help: string,
  bounds: ReadonlyArray<number>,
  ...labels: Labels
) => ({ type: "histogram", labels, help, bounds }) as const

export const catalogue = {
  // Requests
  laurel_http_requests_total: counter(
    "Requests answered, by operation (`none`: no operation has its path) and status.",
    "operation",
    "status",
  ),
  laurel_http_request_duration_seconds: histogram(
    "Time from a request's head to its reply, without the way to the caller. `class` is that of the status: 2xx, 4xx, 5xx.",
    requestSeconds,
    "operation",
    "class",
  ),
  laurel_http_requests_in_flight: gauge("Requests of operations that wait for their reply."),
  laurel_http_connections: gauge("Open connections."),
  laurel_rate_limited_requests_total: counter(
    "Requests refused because their key had used up its minute.",
    "tier",
  ),
  laurel_overloaded: gauge(
    "1 while more is asked than can be answered, and a part of it is refused with 503 `overloaded`, else 0.",
  ),
  laurel_overload_refusals_total: counter(
    "Requests refused unread with 503 `overloaded`: a `queue` stands before the event loop, too many are `waiting` for their reply, or too much is in memory of their `bodies`.",
    "reason",
  ),
  laurel_request_bodies_bytes: gauge("Memory that bodies of requests take."),

  // Events
  laurel_events_total: counter(
    "Events by outcome: `tracked` for the first time, `duplicate` of an earlier one, `refused`. A single event counts as refused with any error.",
    "outcome",
  ),

  // Actors
  laurel_users: gauge(
    "Users by where their state is: `warm` in memory, `cold` only on disk.",
    "state",
  ),
  laurel_actors_activating: gauge("Actors that wait for their state from disk."),
  laurel_actor_activations_total: counter("Actors whose state was read from disk."),
  laurel_actor_failures_total: counter(
    "Commands that made an actor fail; the log says why, with the request id.",
  ),
  laurel_commands_unanswered: gauge(
    "Commands that were accepted and wait in a mailbox or for the commit.",
  ),
  laurel_mailbox_refusals_total: counter(
    "Commands that no mailbox took, by the code of the error: `overloaded`, `storage_unavailable`, `shutting_down`.",
    "code",
  ),

  // Journal
  laurel_commit_batch_records: histogram("Records in a commit.", powersOfFour(1, 8)),
  laurel_commit_batch_bytes: histogram("Bytes of a commit.", powersOfFour(256, 8)),
  laurel_commit_duration_seconds: histogram(
    "Time to write a commit and flush it to disk.",
    stepSeconds,
  ),
  laurel_journal_records_total: counter(
    "Records that are durable, since the beginning of the data directory.",
  ),
  laurel_journal_lag_records: gauge("Records accepted that are not durable yet."),
  laurel_journal_lag_bytes: gauge("Bytes of them."),
  laurel_storage_stalled: gauge("1 while writes are refused because the disk is full, else 0."),

  // Snapshot
  laurel_snapshot_duration_seconds: histogram("Time that a snapshot took.", stepSeconds),
  laurel_snapshot_failures_total: counter(
    "Snapshots that failed, as a rule for lack of space; the journal keeps everything.",
  ),
  laurel_snapshot_age_seconds: gauge(
    "Time since the last snapshot; 0 before the first one. None is taken while nothing changes.",
  ),
  laurel_clock_ahead_seconds: gauge(
    "By how much the machine's clock is ahead of the time that is used: above 0 it has jumped ahead and is not believed, below 0 it is behind the newest time of the data.",
  ),
  laurel_clock_jumps_refused_total: counter(
    "Jumps ahead of the machine's clock that were not believed, or not at once.",
  ),
  laurel_snapshot_pending_records: gauge("Durable records that are not in a snapshot yet."),

  // Archives
  laurel_archives_total: counter(
    "Archives that were `made`, or that `failed`: then the log says why, and the data is as it was.",
    "outcome",
  ),
  laurel_archive_age_seconds: gauge(
    "Time since the newest archive that passed its check was made; 0 before the first one.",
  ),
  laurel_database_checked: gauge(
    "1 once all entries of the database were checked since the start, else 0: a large one is checked after the start.",
  ),

  // Webhooks
  laurel_webhook_attempts_total: counter(
    "Attempts to deliver a message that `succeeded`, or that `failed`.",
    "outcome",
  ),
  laurel_webhook_attempts_in_flight: gauge(
    "Attempts that were begun and have not ended, or wait for their connection.",
  ),
  laurel_webhook_deliveries_pending: gauge(
    "Deliveries that wait for an attempt, as far as they are on disk.",
  ),
  laurel_webhook_lag_records: gauge(
    "Durable records of which no webhooks were made yet; 0 while there is no webhook.",
  ),
  laurel_webhook_erasure_pages_total: counter(
    "Pages of deliveries that were searched for erased users; one search serves all erasures that wait when it begins.",
  ),
  laurel_webhook_erasures_waiting: gauge(
    "Erasures of users whose deliveries are still to be searched.",
  ),
  laurel_webhook_missed_records_total: counter(
    "Records that were not in the journal any more when webhooks were to be made of them; the log says which.",
  ),

  // Telemetry
  laurel_otlp_exports_total: counter(
    "Exports to the OpenTelemetry collector, by signal (`logs`, `metrics`), that `succeeded`, or that `failed`; only with `LAUREL_OTLP_ENDPOINT`.",
    "signal",
    "outcome",
  ),
  laurel_otlp_lost_log_lines_total: counter(
    "Log lines of failed exports, which the OpenTelemetry collector did not get; only with `LAUREL_OTLP_ENDPOINT`.",
  ),

  // Start
  laurel_recovery_duration_seconds: gauge("Time that recovery took at the last start."),
  laurel_recovery_replayed_records: gauge("Records replayed from the journal at the last start."),

  // Process
  laurel_metric_read_failures_total: counter(
    "Times that a metric could not be read and was shown as NaN; the log says which, and why.",
  ),
  laurel_event_loop_delay_seconds: histogram(
    "How late a timer of 20 ms was: what the event loop keeps everybody waiting.",
    stepSeconds,
  ),
  laurel_event_loop_busy_seconds_total: counter("Time in which the event loop was busy."),
  process_cpu_seconds_total: counter("CPU time of the process, in user and kernel mode."),
  process_resident_memory_bytes: gauge("Resident memory."),
  process_start_time_seconds: gauge("When the process started, Unix time."),
  nodejs_heap_used_bytes: gauge("JavaScript heap in use."),
  nodejs_external_memory_bytes: gauge("Memory of buffers outside the heap."),
} as const satisfies { readonly [name: string]: MetricKind }

type Catalogue = typeof catalogue

export type MetricName = keyof Catalogue

/** Names of one type of metric. */
export type NameOf<Type extends MetricKind["type"]> = {
  [Name in MetricName]: Catalogue[Name]["type"] extends Type ? Name : never
}[MetricName]

/** The labels that a metric is given: all that the catalogue lists for it. */
export type LabelsOf<Name extends MetricName> = {
  readonly [Label in Catalogue[Name]["labels"][number]]: string
}
