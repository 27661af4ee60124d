/** The shipping of a server's archives to its bucket; loaded where the settings have one. */
import { Effect } from "effect"
import { archivesIn, type Config, retentionOf } from "../../config/Config.ts"
import { ShipmentMetrics, Shipments } from "../../engine/archive/Shipments.ts"
import { makeWorkerHost } from "../../engine/archive/WorkerHost.ts"
import type { Metrics } from "../../metrics/Metrics.ts"
import type { BucketPlace } from "../../storage/bucket/bucketErrors.ts"
import type { ArchiveSource } from "./OpenEngine.ts"

/** Prepares it, before the server has any state: see `WorkerHost`. */
export const openShipments = Effect.fnUntraced(function* (
  config: Config,
  place: BucketPlace,
  metrics: Metrics,
) {
  const host = yield* makeWorkerHost({ background: true })
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
})

export type Shipping = Effect.Success<ReturnType<typeof openShipments>>
