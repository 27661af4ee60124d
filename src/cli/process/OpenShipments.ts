/** Ships a server's archives to its bucket; loaded only if the settings name a bucket. */
import { Effect } from "effect"
import { archivesIn, type Config, retentionOf } from "../../config/Config.ts"
import { ShipmentMetrics, Shipments } from "../../engine/archive/bucket/Shipments.ts"
import type { WorkerHost } from "../../engine/archive/jobs/WorkerHost.ts"
import type { Metrics } from "../../metrics/Metrics.ts"
import type { BucketPlace } from "../../storage/bucket/bucketErrors.ts"
import type { ArchiveSource } from "./OpenEngine.ts"

export const openShipments = (
  config: Config,
  place: BucketPlace,
  host: WorkerHost,
  metrics: Metrics,
) => {
  const shipped = new Set<string>()
  return {
    /** The ids of the archives that the bucket has, as far as is known. */
    shipped: shipped as ReadonlySet<string>,
    /** Ships until the scope ends. Call the result after each archive. */
    start: Effect.fnUntraced(function* ({ now }: ArchiveSource) {
      const shipments = new Shipments({
        ...{ place, host, retention: retentionOf(config), archives: archivesIn(config) },
        metrics: new ShipmentMetrics(metrics, now),
        onShipped: (ids) => {
          shipped.clear()
          for (const id of ids) shipped.add(id)
        },
      })
      yield* Effect.forkScoped(shipments.run)
      return shipments.wake
    }),
  }
}

export type Shipping = ReturnType<typeof openShipments>
