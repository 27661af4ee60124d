/** The running server, for its owners: load, data on disk, archives, the settings in force. */
import { Effect } from "effect"
import type { ClusterStatus, PartitionStatus } from "../../cluster/status.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import type { LaurelError } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { noticeOf, redirectWithNotice } from "../request/notice.ts"
import type { MemberVisit, Route } from "../request/Route.ts"
import type { ArchiveRow, StateNow } from "../request/ServerState.ts"
import { idempotencyField, refusal } from "../view/Forms.ts"
import { type Content, type Html, html } from "../view/Html.ts"
import { properties, table } from "../view/Lists.ts"
import { alert } from "../view/Page.ts"
import { bytes, count, duration, rough, time } from "../view/Quantities.ts"
import type { Reply } from "../view/Replies.ts"

const unknown = "unknown"
const size = (value: number | undefined): string => (value === undefined ? unknown : bytes(value))
const age = (ms: number | undefined): string =>
  ms === undefined ? "none yet" : `${duration(ms)} old`

const within = (ms: number | undefined): string => {
  if (ms === undefined) return "no events"
  return Number.isFinite(ms) ? `${rough(ms)} ms` : "over 10 s"
}

const loadSection = ({ recent, ...state }: StateNow): Html => html`<h2>Load</h2>
${state.isOverloaded && alert("The server is overloaded: it refuses a part of the requests.")}
${state.isDiskFull && alert("The disk is full: writes are refused until there is space, reads continue.")}
${state.isDatabaseAway && alert("PostgreSQL does not answer, or the disk is full: writes are refused until PostgreSQL answers and disk space is free.")}
<p class="hint">Events of the last ${duration(1_000 * Math.round(recent.seconds))}. Latency is that of accepted single events, from the request's head to the reply, estimated from the buckets of <code>laurel_http_request_duration_seconds</code>.</p>
${properties([
  ["Events a second", rough(recent.eventsPerSecond)],
  ["Event latency, p50", within(recent.p50Ms)],
  ["Event latency, p99", within(recent.p99Ms)],
  ["Users", count(state.users)],
  ["Memory of their states", bytes(state.stateBytes)],
  ["Memory", bytes(state.memoryBytes)],
])}`

/** Names the partition of the data, if there are several. */
const ofPlace = ({ place }: StateNow): string =>
  place === undefined ? "" : ` of partition ${place.partition}`

const dataSection = (state: StateNow): Html => html`<h2>Data${ofPlace(state)}</h2>
${state.place !== undefined && html`<p class="hint">Sizes are of this partition. Ages are of the oldest snapshot and archive among this server's partitions.</p>`}
${properties([
  ["Newest snapshot", age(state.snapshotAgeMs)],
  ["Records after it", count(state.recordsAfterSnapshot)],
  ["Newest good archive", age(state.archiveAgeMs)],
  ...(state.shippedArchiveAgeMs === undefined
    ? []
    : [["Newest archive in the bucket", age(state.shippedArchiveAgeMs)] as const]),
  ["Journal", size(state.journalBytes)],
  ["Database", size(state.databaseBytes)],
  ["Free for data", size(state.dataFreeBytes)],
  ["Free for archives", size(state.archivesFreeBytes)],
])}`

const serverRows = ({ followers, partitions, runners }: ClusterStatus) =>
  runners.map(({ address, answered, forwarded, silentSeconds, version }) => {
    const owned = partitions.filter(({ owner }) => owner === address)
    const followed = followers.filter((follower) => follower.address === address)
    return [
      html`<code>${address}</code>`,
      `${duration(1_000 * silentSeconds)} ago`,
      owned.map(({ partition }) => partition).join(", "),
      followed.map(({ partition }) => partition).join(", "),
      version ?? unknown,
      answered === undefined ? unknown : count(answered),
      forwarded === undefined ? unknown : count(forwarded),
    ]
  })

const followersOf = (
  { followers }: ClusterStatus,
  { partition }: PartitionStatus,
): ReadonlyArray<string> =>
  followers
    .filter((follower) => follower.partition === partition)
    .map(
      ({ address, behindRecords, lagSeconds }) =>
        `${address}: ${count(behindRecords)} records, ${duration(1_000 * lagSeconds)}`,
    )

const shareText = ({ forwardedShare: share }: ClusterStatus): string =>
  share === undefined
    ? "No requests in the last 60 s."
    : `${(100 * share).toFixed(1)}% of the requests of the last 60 s were forwarded.`

/** Links to the page on the partition's owner, which alone has its archives. */
const partitionLink = (
  prefix: string,
  { partition }: PartitionStatus,
  { place }: StateNow,
): Content => {
  if (place === undefined) return String(partition)
  return place.partition === partition
    ? `${partition} (shown here)`
    : html`<a href="${operationsPath(prefix, partition)}">${partition}</a>`
}

const operationsPath = (prefix: string, partition: number | undefined, below = ""): string =>
  `${prefix}/operations${below}${partition === undefined ? "" : `?partition=${partition}`}`

const clusterSection = (
  prefix: string,
  state: StateNow,
  cluster: NonNullable<StateNow["cluster"]>,
): Html => html`<h2>Cluster</h2>
${
  "failure" in cluster
    ? alert(`The state of the cluster cannot be read. ${cluster.failure}`)
    : html`<p class="hint">As recorded in PostgreSQL. <code>laurel cluster status</code> also shows the names of projects.</p>
${table(
  "Servers",
  [
    "Server",
    "Last heartbeat",
    "Owns partition",
    "Follows partition",
    "Version",
    "Answered in 60 s",
    "Forwarded in 60 s",
  ],
  serverRows(cluster),
)}
<p>${shareText(cluster)}</p>
${table(
  "Partitions",
  ["Partition", "Owner", "Epoch", "Since", "Records", "Follower lag", "Projects"],
  cluster.partitions.map((partition) => [
    partitionLink(prefix, partition, state),
    partition.owner === "" ? "none" : html`<code>${partition.owner}</code>`,
    count(partition.epoch),
    time(Date.parse(partition.since)),
    count(partition.records),
    followersOf(cluster, partition).join("; ") || "no follower",
    partition.projects === undefined ? unknown : count(partition.projects.length),
  ]),
)}`
}`

const archiveRow = (archive: ArchiveRow): ReadonlyArray<Content> => [
  html`<code>${archive.id}</code>`,
  time(archive.at),
  count(archive.sequence),
  archive.reason === "request" ? "by hand" : archive.reason,
  archive.users !== undefined && count(archive.users),
  archive.bytes !== undefined && bytes(archive.bytes),
  archive.isGood ? "good" : "damaged: do not restore it",
]

/**
 * Restores replace partitions other than the first beside running servers, from a directory that no
 * server uses.
 */
const restoreSteps = ({ cluster, place }: StateNow, archive: string): Html => {
  const partition = place?.partition
  if (partition !== undefined && partition !== firstPartition) {
    return html`<p>A restore replaces the data of every project in the partition; the servers keep running. In a shell, set <code>LAUREL_CLUSTER</code> and the archive settings to the servers' values, and use a data directory that no server uses:</p>
${commands(
  "export LAUREL_DATA_DIR=/var/tmp/back",
  `npx laurel snapshots restore ${archive} --partition ${partition}`,
  `npx laurel cluster install --partition ${partition}`,
  "rm -rf /var/tmp/back",
)}`
  }
  const option = partition === undefined ? "" : ` --partition ${partition}`
  return html`<p>A restore replaces the data of every project${partition !== undefined && " in the partition"}, so run it in a shell on the server's machine, while ${cluster === undefined ? "the server is" : "all servers are"} stopped:</p>
${commands(
  `npx laurel snapshots restore ${archive}`,
  ...(cluster === undefined ? [] : [`npx laurel cluster install${option}`]),
)}`
}

const commands = (...lines: ReadonlyArray<string>): Html =>
  html`<pre tabindex="0" role="region" aria-label="Commands to restore">${lines.join("\n")}</pre>`

const archivesSection = (
  { prefix }: MemberVisit,
  state: StateNow,
  archives: ReadonlyArray<ArchiveRow> | LaurelError,
): Html => {
  const shown = Array.isArray(archives) ? archives.slice(0, limits.pageMax) : []
  const partition = state.place?.partition
  return html`<h2>Archives${ofPlace(state)}</h2>
<p>An archive is a complete copy of the data as of one record, checked when it was made.</p>
${state.archiveFailure !== undefined && alert(`The last archive could not be made: ${state.archiveFailure}`)}
${"detail" in archives && alert(archives.detail)}
${
  shown.length > 0 &&
  table(
    "Archives",
    ["Archive", "Created", "Last record", "Reason", "Users", "Size", "Check"],
    shown.map(archiveRow),
  )
}
${
  Array.isArray(archives) &&
  shown.length < archives.length &&
  html`<p class="hint">The newest ${shown.length} of ${archives.length} are shown.</p>`
}
${
  state.isMakingArchive
    ? html`<p role="status">An archive is being made. Reload to see it when it is done.</p>`
    : html`<form method="post" action="${operationsPath(prefix, partition, "/archives")}">${idempotencyField()}<p><button class="main">Create archive</button></p></form>`
}
<h3>Restore</h3>
${restoreSteps(state, shown.find(({ isGood }) => isGood)?.id ?? "ARCHIVE")}
<p>The runbook has the steps, also for one project and for a moment between archives: <a href="${prefix}/runbook">read <code>snapshots/README.md</code></a>.</p>`
}

const operationsPage = Effect.fnUntraced(function* (
  visit: MemberVisit,
  error?: LaurelError,
): Effect.fn.Return<Reply> {
  const { prefix, server, show } = visit
  const state = yield* server.read
  const archives = yield* Effect.catch(server.archives, (failed) => Effect.succeed(failed))
  return show(
    "Operations",
    html`${noticeOf(visit)}${refusal(error, [])}
${properties([
  ["Version", state.version],
  ["Started", time(state.startedAt)],
  ...(state.place === undefined ? [] : [["Server", state.place.address] as const]),
])}
${loadSection(state)}
${state.cluster !== undefined && clusterSection(prefix, state, state.cluster)}
${dataSection(state)}
${archivesSection(visit, state, archives)}
<h2>Settings and limits in force</h2>
${properties(state.limits)}`,
    error,
  )
})

/**
 * The runner has sent the request to the owner of this partition (`cluster/PartitionRouter.ts`).
 */
const partitionAsked = ({ request }: MemberVisit): number | undefined =>
  Number(request.query.get("partition")) || undefined

export const operationRoutes: ReadonlyArray<Route> = [
  {
    method: "GET",
    path: "/operations",
    access: "owner",
    answer: (visit) => operationsPage(visit),
  },
  {
    method: "POST",
    action: "archive.create",
    path: "/operations/archives",
    access: "owner",
    answer: (visit) =>
      visit.server.createArchive.pipe(
        Effect.map(() =>
          redirectWithNotice(
            visit,
            operationsPath(visit.prefix, partitionAsked(visit)),
            "An archive is being made. It is listed below once it is checked.",
          ),
        ),
        Effect.catch((error) => operationsPage(visit, error)),
      ),
  },
  {
    method: "GET",
    path: "/runbook",
    access: "owner",
    answer: ({ server, show }) =>
      Effect.map(server.runbook, (text) =>
        show(
          "Runbook",
          text === undefined
            ? html`<p>This installation has no file <code>snapshots/README.md</code>: read the one of the same version of Laurel.</p>`
            : html`<pre tabindex="0" role="region" aria-label="Runbook">${text}</pre>`,
        ),
      ),
  },
]
