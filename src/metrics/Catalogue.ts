/**
 * Every metric of the server: its type, its labels and its help, after the conventions of
 * Prometheus (base units, `_total` for counters). `README.md` in this folder has the same table; a
 * test compares both with a running server. Labels have few, known values, never ids.
 */

/** Buckets for the duration of a request. */
const requestSeconds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]
/** Buckets for the duration of a step that uses the disk or blocks the event loop. */
const stepSeconds = [
  0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30,
]
/** Buckets for a turn of the event loop of at least `longTurnMs`. */
const longTurnSeconds = [0.0075, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
const powersOfFour = (from: number, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => from * 4 ** index)

/**
 * How the values of several parts of a process are combined. `largest` compares absolute values.
 */
export type Combined = "sum" | "largest" | "smallest"

export interface MetricKind {
  readonly type: "counter" | "gauge" | "histogram"
  readonly labels: ReadonlyArray<string>
  readonly help: string
  /** Upper bounds of a histogram's buckets, ascending, without the unbounded last one. */
  readonly bounds?: ReadonlyArray<number>
  /** Default: `sum`. */
  readonly combined?: Combined
}

const counter = <const Labels extends ReadonlyArray<string>>(help: string, ...labels: Labels) =>
  ({ type: "counter", labels, help }) as const
const gauge = <const Labels extends ReadonlyArray<string>>(help: string, ...labels: Labels) =>
  ({ type: "gauge", labels, help }) as const
/** Gauges whose values are not summed. */
const largest = <const Labels extends ReadonlyArray<string>>(help: string, ...labels: Labels) =>
  ({ ...gauge(help, ...labels), combined: "largest" }) as const
const smallest = <const Labels extends ReadonlyArray<string>>(help: string, ...labels: Labels) =>
  ({ ...gauge(help, ...labels), combined: "smallest" }) as const
const histogram = <const Labels extends ReadonlyArray<string>>(
  help: string,
  bounds: ReadonlyArray<number>,
  ...labels: Labels
) => ({ type: "histogram", labels, help, bounds }) as const

export const catalogue = {
  // Cluster
  laurel_cluster_serving: gauge(
    "1 while this server serves the partition, else 0; only in a cluster.",
    "partition",
  ),
  laurel_cluster_epoch: gauge(
    "Epoch (fencing token) of the partition's current owner: each new owner adds 1; only in a cluster.",
    "partition",
  ),
  laurel_cluster_following: gauge(
    "1 while this server follows the partition's owner and is ready to take over: it had all records in the last 5 seconds; else 0; only in a cluster.",
    "partition",
  ),
  laurel_cluster_follower_lag_records: gauge(
    "Replication lag of the partition's follower on this server in records, 0 if the server does not follow; only in a cluster.",
    "partition",
  ),
  laurel_cluster_follower_lag_seconds: gauge(
    "Time since the partition's follower on this server last had all records, 0 if the server does not follow; only in a cluster.",
    "partition",
  ),
  laurel_cluster_forwarded_requests_total: counter(
    "Requests forwarded to the owner of their partition, by outcome: `answered`, `repeated` (sent again after a failure), `refused` (no owner took it), `unknown` (no reply after it was sent), `left` (by the client); only in a cluster.",
    "outcome",
  ),
  laurel_cluster_waiting_requests: gauge(
    "Requests that wait for their partition to have an owner; only in a cluster.",
  ),
  // Requests
  laurel_http_requests_total: counter(
    "Requests answered, by operation (`none`: unknown path) and status.",
    "operation",
    "status",
  ),
  laurel_http_request_duration_seconds: histogram(
    "Time from the head of a request to its reply, without transmission. `class` is the class of the status: 2xx, 4xx, 5xx.",
    requestSeconds,
    "operation",
    "class",
  ),
  laurel_http_requests_in_flight: gauge("Requests in progress."),
  laurel_http_connections: gauge("Open connections."),
  laurel_rate_limited_requests_total: counter(
    "Requests refused because their project or user exceeded the rate limit.",
    "tier",
  ),
  laurel_overloaded: largest(
    "1 while the server is overloaded and refuses a part of the requests with 503 `overloaded`, else 0.",
  ),
  laurel_overload_refusals_total: counter(
    "Requests refused unread with 503 `overloaded`, by reason: `queue` before the event loop, too many `waiting` for a reply, too much memory in `bodies`.",
    "reason",
  ),
  laurel_request_bodies_bytes: gauge("Memory of request bodies."),

  // Events
  laurel_events_total: counter(
    "Events by outcome: `tracked`, `duplicate` of an earlier event, `refused`. A single event counts as refused with any error.",
    "outcome",
  ),

  // Actors
  laurel_users: gauge("Users."),
  laurel_users_decoded: gauge("Users whose states are objects in memory; all others are bytes."),
  laurel_user_decodes_total: counter("Users whose states were decoded."),
  laurel_state_buckets: gauge("Buckets of users."),
  laurel_state_bytes: gauge("Memory of the states of all users."),
  laurel_state_bytes_max: gauge("The bound of that memory (`LAUREL_STATE_MIB_MAX`)."),
  laurel_state_refusals_total: counter("Commands of new users refused because of that bound."),
  laurel_actor_failures_total: counter(
    "Commands that crashed an actor; the log has the cause under the request id.",
  ),
  laurel_payments_failing: gauge(
    "Prizes, rewards of goals and outcomes of leagues whose users met a defect; they are tried again, and the log has the users.",
  ),
  laurel_board_fills_failing: gauge(
    "Environments in which the fill of a new leaderboard met a defect; it is tried again, and the log has the cause.",
  ),
  laurel_commands_unanswered: gauge(
    "Accepted commands that wait in a mailbox or for their commit.",
  ),
  laurel_mailbox_refusals_total: counter(
    "Commands refused by mailboxes, by error code: `overloaded`, `storage_unavailable`, `shutting_down`.",
    "code",
  ),

  // Journal
  laurel_commit_batch_records: histogram("Records per commit.", powersOfFour(1, 8)),
  laurel_commit_batch_bytes: histogram("Bytes per commit.", powersOfFour(256, 8)),
  laurel_commit_duration_seconds: histogram("Time to write and flush a commit.", stepSeconds),
  laurel_journal_flush_duration_seconds: histogram(
    "Time of the disk to write and flush a batch of the journal, from the call to its end.",
    stepSeconds,
  ),
  laurel_journal_records_total: counter("Durable records since the data directory was created."),
  laurel_journal_lag_records: gauge("Accepted records that are not durable yet."),
  laurel_journal_lag_bytes: gauge("Bytes of accepted records that are not durable yet."),
  laurel_storage_stalled: largest(
    "1 while writes are refused because the disk is full or the database of the journal does not answer, else 0.",
  ),

  // Snapshot
  laurel_snapshot_duration_seconds: histogram("Duration of a snapshot.", stepSeconds),
  laurel_snapshot_failures_total: counter(
    "Failed snapshots, usually for lack of space; the journal keeps everything.",
  ),
  laurel_snapshot_age_seconds: largest(
    "Time since the last snapshot; 0 before the first. No snapshot is taken while nothing changes.",
  ),
  laurel_clock_ahead_seconds: largest(
    "Machine clock minus the time in use: above 0, a jump ahead was refused; below 0, the clock is behind the newest record.",
  ),
  laurel_clock_jumps_refused_total: counter(
    "Jumps ahead of the machine's clock that were refused or delayed.",
  ),
  laurel_snapshot_pending_records: gauge("Durable records that are not in a snapshot yet."),

  // Disk and archives
  laurel_archives_total: counter(
    "Archives by outcome: `made`, or `failed` (the log has the cause; the data is unchanged).",
    "outcome",
  ),
  laurel_archive_age_seconds: largest(
    "Age of the newest archive that passed its check; 0 before the first.",
  ),
  laurel_shipped_archives_total: counter(
    "Archives sent to the bucket by outcome: `sent`, or `failed` attempts (the log has the cause); only with a bucket.",
    "outcome",
  ),
  laurel_shipped_archive_age_seconds: largest(
    "Age of the newest archive in the bucket; 0 until the first is found or sent; only with a bucket.",
  ),
  laurel_shipped_bytes_total: counter("Bytes sent to the bucket; only with a bucket."),
  laurel_data_bytes: gauge(
    "Bytes on disk by part: `journal`, `database` (with the deliveries of webhooks), `audit`, `archives`; read every 30 seconds.",
    "part",
  ),
  laurel_disk_free_bytes: smallest(
    "Free space that the process can use, of the `disk` with the `data` and that with the `archives`, which may be the same; read every 30 seconds.",
    "disk",
  ),
  laurel_disk_size_bytes: smallest("Size of the disks of `laurel_disk_free_bytes`.", "disk"),
  laurel_database_checked: smallest(
    "1 once the database was checked since the start, else 0; a large database is checked after the start.",
  ),

  // Webhooks
  laurel_webhook_attempts_total: counter(
    "Delivery attempts by outcome: `succeeded`, `failed`.",
    "outcome",
  ),
  laurel_webhook_attempts_in_flight: gauge(
    "Delivery attempts in progress, including those that wait for a connection.",
  ),
  laurel_webhook_deliveries_pending: gauge("Pending deliveries on disk."),
  laurel_webhooks: gauge(
    "Webhooks by state: `delivering`; `failing`, with nothing but failures since the last success; `disabled` by hand; `given_up`, disabled by Laurel after a 410 or five days of failures.",
    "state",
  ),
  laurel_webhook_oldest_pending_seconds: largest(
    "Age of the oldest message that an enabled webhook has not delivered; 0 without one. Read every 15 seconds.",
  ),
  laurel_webhook_lag_records: gauge(
    "Durable records not yet expanded into deliveries; 0 while no webhook exists.",
  ),
  laurel_webhook_erasure_pages_total: counter(
    "Pages of deliveries searched for erased users; one search serves all erasures waiting at its start.",
  ),
  laurel_webhook_erasures_waiting: gauge(
    "Erasures that wait for a search of their user's deliveries.",
  ),
  laurel_webhook_missed_records_total: counter(
    "Records pruned from the journal before webhooks were made of them; the log names them.",
  ),

  // Logs and telemetry
  laurel_access_log_lost_lines_total: counter(
    "Lines of the access log that were lost because their reader is slow or gone; only with `LAUREL_ACCESS_LOG`.",
  ),
  laurel_otlp_exports_total: counter(
    "Exports to the OpenTelemetry collector by signal (`logs`, `metrics`, `traces`) and outcome (`succeeded`, `failed`); only with `LAUREL_OTLP_ENDPOINT`.",
    "signal",
    "outcome",
  ),
  laurel_otlp_lost_log_lines_total: counter(
    "Log lines lost in failed exports to the OpenTelemetry collector; only with `LAUREL_OTLP_ENDPOINT`.",
  ),

  // Start
  laurel_recovery_duration_seconds: largest("Duration of recovery at the last start."),
  laurel_recovery_replayed_records: gauge("Records replayed from the journal at the last start."),

  // Process
  laurel_build_info: gauge(
    "1, with the version and commit of Laurel (`unknown` where the installation does not say) and the version of Node.",
    "version",
    "commit",
    "node",
  ),
  laurel_metric_read_failures_total: counter(
    "Failed reads of a metric, which is then NaN; the log has the name and the cause.",
  ),
  laurel_event_loop_delay_seconds: histogram(
    "Delay of a 20 ms timer: the time that the event loop keeps requests waiting.",
    stepSeconds,
  ),
  laurel_event_loop_long_turns_seconds: histogram(
    "Turns of the event loop of 5 ms and more, without garbage collections, by `cause`: background work by name, collections as `gc_minor` and `gc_major`, and `other`.",
    longTurnSeconds,
    "cause",
  ),
  nodejs_gc_duration_seconds: histogram(
    "Pauses of the event loop by garbage collection, by `kind`: `minor` of new objects, `major` of all, `other`.",
    stepSeconds,
    "kind",
  ),
  laurel_event_loop_busy_seconds_total: counter("Time that the event loop was busy."),
  process_cpu_seconds_total: counter("CPU time of the process, in user and kernel mode."),
  process_resident_memory_bytes: gauge("Resident memory."),
  process_start_time_seconds: gauge("Start of the process, Unix time."),
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
