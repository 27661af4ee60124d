/** `laurel cluster` */
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type {
  ClusterStatus,
  FollowerStatus,
  PartitionStatus,
  RunnerStatus,
} from "../../cluster/status.ts"
import { countText } from "../output/Amounts.ts"
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

const runnerColumns: ReadonlyArray<Column<RunnerStatus>> = [
  { title: "SERVER", align: "left", text: ({ address }) => address },
  {
    title: "LAST SIGN OF LIFE",
    align: "right",
    text: ({ silentSeconds }) => `${silentSeconds.toFixed(1)} s ago`,
  },
  { title: "VERSION", align: "left", text: ({ version }) => version ?? "unknown" },
  { title: "KNOWS FORMAT", align: "right", text: ({ format }) => countOrUnknown(format) },
  { title: "ANSWERED IN 60 S", align: "right", text: ({ answered }) => countOrUnknown(answered) },
  {
    title: "FORWARDED IN 60 S",
    align: "right",
    text: ({ forwarded }) => countOrUnknown(forwarded),
  },
]

const partitionColumns: ReadonlyArray<Column<PartitionStatus>> = [
  { title: "PARTITION", align: "right", text: ({ partition }) => String(partition) },
  { title: "OWNER", align: "left", text: ({ owner }) => (owner === "" ? "none" : owner) },
  { title: "EPOCH", align: "right", text: ({ epoch }) => countText(epoch) },
  { title: "SINCE", align: "left", text: ({ since }) => since },
  { title: "FORMAT", align: "right", text: ({ format }) => String(format) },
  { title: "RECORDS", align: "right", text: ({ records }) => countText(records) },
]

const followerColumns: ReadonlyArray<Column<FollowerStatus>> = [
  { title: "PARTITION", align: "right", text: ({ partition }) => String(partition) },
  { title: "FOLLOWER", align: "left", text: ({ address }) => address },
  { title: "BEHIND", align: "right", text: ({ behindRecords }) => countText(behindRecords) },
  { title: "LAG", align: "right", text: ({ lagSeconds }) => `${lagSeconds.toFixed(1)} s` },
]

const textOf = ({ followers, forwardedShare: share, partitions, runners }: ClusterStatus): string =>
  [
    formatTable(runnerColumns, runners),
    `Forwarded in 60 s: ${share === undefined ? "no requests" : `${(100 * share).toFixed(1)} % of the requests`}`,
    formatTable(partitionColumns, partitions),
    formatTable(followerColumns, followers),
  ].join("\n\n")

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
    yield* Console.log(json ? JSON.stringify(read) : textOf(read))
  }),
).pipe(
  Command.withDescription(
    "List the servers of the cluster, and the owner and the followers of each partition, as PostgreSQL has them",
  ),
)

export const cluster = Command.make("cluster").pipe(
  Command.withDescription("Look at a cluster, replace its data, or leave it with all of them"),
  Command.withSubcommands([status, installCluster, gatherCluster]),
)
