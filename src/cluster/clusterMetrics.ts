/** The metrics of a runner (`laurel_cluster_…`). */
import { limits } from "../Limits.ts"
import type { Metrics } from "../metrics/Metrics.ts"
import type { ForwardOutcome } from "./Forward.ts"
import type { Forwarder } from "./Forwarder.ts"
import type { Owners } from "./Owners.ts"
import type { Partition } from "./Partition.ts"
import type { RequestCounts } from "./RunnerRow.ts"

export const observeCluster = (
  metrics: Metrics,
  owners: Owners,
  forwarder: Forwarder,
  partitionOf: (number: number) => Pick<Partition, "handler" | "following">,
): void => {
  for (let number = 1; number <= limits.clusterPartitions; number++) {
    const labels = { partition: String(number) }
    const isServing = () => (partitionOf(number).handler === undefined ? 0 : 1)
    metrics.gauge("laurel_cluster_serving", isServing, labels)
    const following = () => partitionOf(number).following
    const isReady = () => (following()?.isCaughtUp === true ? 1 : 0)
    metrics.gauge("laurel_cluster_following", isReady, labels)
    const lagRecords = () => following()?.behindRecords ?? 0
    metrics.gauge("laurel_cluster_follower_lag_records", lagRecords, labels)
    const lagSeconds = () => following()?.behindSeconds ?? 0
    metrics.gauge("laurel_cluster_follower_lag_seconds", lagSeconds, labels)
    metrics.gauge("laurel_cluster_epoch", () => owners.of(number)?.epoch ?? 0, labels)
  }
  const { outcomes } = forwarder
  for (const outcome of Object.keys(outcomes) as Array<ForwardOutcome>) {
    const read = () => outcomes[outcome]
    metrics.readCounter("laurel_cluster_forwarded_requests_total", read, { outcome })
  }
  metrics.gauge("laurel_cluster_waiting_requests", () => forwarder.waiting)
}

/** Counts of requests since the start, without `/healthz` and `/readyz`. */
export const requestCounts = (metrics: Metrics): RequestCounts => {
  const of = (operation: string) => metrics.value("laurel_http_requests_total", { operation })
  const forwarded = of("forwarded")
  const others = forwarded + of("/healthz") + of("/readyz")
  return { answered: metrics.value("laurel_http_requests_total") - others, forwarded }
}
