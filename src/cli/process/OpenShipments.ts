/** The shipping of a server's archives to its bucket; loaded where the settings have one. */
import { Effect } from "effect"
import { archivesIn, type Config, retentionOf } from "../../config/Config.ts"
import { ShipmentMetrics, Shipments } from "../../engine/archive/Shipments.ts"
import type { WorkerHost } from "../../engine/archive/WorkerHost.ts"
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
    /** Ships until the scope ends; the result is to be called after each archive. */
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
