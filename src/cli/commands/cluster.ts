/** `laurel cluster` */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type {
  ClusterStatus,
  FollowerStatus,
  PartitionStatus,
  RunnerStatus,
} from "../../cluster/status.ts"
import { limits } from "../../Limits.ts"
import { countText, rangesText } from "../output/Amounts.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"
import { type Column, formatTable } from "../output/Table.ts"
import { loadConfig } from "../process/LoadConfig.ts"
import { gatherCluster } from "./clusterGather.ts"
import { installCluster } from "./clusterInstall.ts"

const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print a JSON object"),
  Flag.withDefault(false),
)

const countOrUnknown = (count: number | undefined): string =>
  count === undefined ? "unknown" : countText(count)

/** "3" where there is one, "16: 1-4, 6" where there are several. */
const partitionsText = (numbers: ReadonlyArray<number>): string =>
  numbers.length < 2 ? numbers.join() : `${numbers.length}: ${rangesText(numbers)}`

const runnerColumns = ({
  followers,
  partitions,
}: ClusterStatus): ReadonlyArray<Column<RunnerStatus>> => [
  { title: "SERVER", align: "left", text: ({ address }) => address },
  {
    title: "LAST HEARTBEAT",
    align: "right",
    text: ({ silentSeconds }) => `${silentSeconds.toFixed(1)} s ago`,
  },
  {
    title: "OWNS",
    align: "left",
    text: ({ address }) =>
      partitionsText(
        partitions.filter(({ owner }) => owner === address).map(({ partition }) => partition),
      ),
  },
  {
    title: "LOAD",
    align: "right",
    text: ({ address }) => {
      const own = partitions.filter(({ owner }) => owner === address)
      return loadText(own.reduce((sum, { load }) => sum + load, 0))
    },
  },
  {
    title: "FOLLOWS",
    align: "left",
    text: ({ address }) =>
      partitionsText(
        followers.filter((each) => each.address === address).map(({ partition }) => partition),
      ),
  },
  { title: "VERSION", align: "left", text: ({ version }) => version ?? "unknown" },
  { title: "MAX FORMAT", align: "right", text: ({ format }) => countOrUnknown(format) },
  { title: "ANSWERED IN 60 S", align: "right", text: ({ answered }) => countOrUnknown(answered) },
  {
    title: "FORWARDED IN 60 S",
    align: "right",
    text: ({ forwarded }) => countOrUnknown(forwarded),
  },
]

const partitionColumns = ({ followers }: ClusterStatus): ReadonlyArray<Column<PartitionStatus>> => [
  { title: "PARTITION", align: "right", text: ({ partition }) => String(partition) },
  { title: "OWNER", align: "left", text: ({ owner }) => (owner === "" ? "none" : owner) },
  { title: "EPOCH", align: "right", text: ({ epoch }) => countText(epoch) },
  { title: "SINCE", align: "left", text: ({ since }) => since },
  { title: "FORMAT", align: "right", text: ({ format }) => String(format) },
  { title: "LOAD", align: "right", text: ({ load }) => loadText(load) },
  { title: "RECORDS", align: "right", text: ({ records }) => countText(records) },
  {
    title: "FOLLOWERS (RECORDS BEHIND, LAG)",
    align: "left",
    text: ({ partition }) =>
      followers
        .filter((each) => each.partition === partition)
        .map(followerText)
        .join(", ") || "none",
  },
  { title: "PROJECTS", align: "left", text: ({ projects }) => namesText(projects) },
]

/** Requests and records in a second. */
const loadText = (load: number): string => `${load.toFixed(1)}/s`

const followerText = ({ address, behindRecords, lagSeconds }: FollowerStatus): string =>
  `${address} (${countText(behindRecords)}, ${lagSeconds.toFixed(1)} s)`

const namesMax = 4

const namesText = (names: ReadonlyArray<string> | undefined): string => {
  if (names === undefined) return "unknown"
  const more = names.length - namesMax
  return `${names.slice(0, namesMax).join(", ")}${more > 0 ? ` and ${countText(more)} more` : ""}`
}

/** Those that no server has opened yet have no row. */
const unopenedText = ({ partitions, runners }: ClusterStatus): ReadonlyArray<string> => {
  const opened = new Set(partitions.map(({ partition }) => partition))
  const all = Array.from({ length: limits.clusterPartitions }, (_, index) => index + 1)
  const unopened = all.filter((number) => !opened.has(number))
  return runners.length === 0 || unopened.length === 0
    ? []
    : [`Partitions that no server has opened yet: ${rangesText(unopened)}.`]
}

export const statusText = (status: ClusterStatus): string => {
  const { forwardedShare: share, partitions, runners } = status
  return [
    formatTable(runnerColumns(status), runners),
    `Forwarded in 60 s: ${share === undefined ? "no requests" : `${(100 * share).toFixed(1)} % of the requests`}`,
    formatTable(partitionColumns(status), partitions),
    ...unopenedText(status),
  ].join("\n\n")
}

const status = Command.make(
  "status",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const { cluster: url } = yield* loadConfig
    if (url === undefined) {
      return yield* commandFailed(exitCodes.configuration, "LAUREL_CLUSTER is not set.")
    }
    // Other commands start sooner without them.
    const { clusterStatusAt } = yield* Effect.promise(() => import("../../cluster/status.ts"))
    const read = yield* clusterStatusAt(url).pipe(
      Effect.mapError(({ words }) => commandFailed(exitCodes.unavailable, words)),
    )
    yield* Console.log(json ? JSON.stringify(read) : statusText(read))
  }),
).pipe(
  Command.withDescription(
    "List the servers of the cluster, and the owner, followers and projects of each partition, as recorded in PostgreSQL",
  ),
)

export const cluster = Command.make("cluster").pipe(
  Command.withDescription(
    "Inspect a cluster, replace its data, or export it to a server without PostgreSQL",
  ),
  Command.withSubcommands([status, installCluster, gatherCluster]),
)
