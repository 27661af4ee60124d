/** The shells that run a server's jobs, for all of its partitions; started before it has any state: see `WorkerHost`. */
import { Effect, type Scope } from "effect"
import { bucketOf } from "../../config/BucketSettings.ts"
import type { Config } from "../../config/Config.ts"
import { makeWorkerHost, type WorkerHost } from "../../engine/archive/WorkerHost.ts"

export interface Hosts {
  /** For archives and checks. */
  readonly data: WorkerHost
  /** For the bucket, where there is one: no archive waits for an upload. */
  readonly shipments: WorkerHost | undefined
}

/** They end with the scope. `directories`: the open data directories. */
export const openHosts = Effect.fnUntraced(function* (
  config: Config,
  directories: ReadonlyArray<string>,
): Effect.fn.Return<Hosts, never, Scope.Scope> {
  return {
    data: yield* makeWorkerHost({ background: true, directories }),
    shipments:
      bucketOf(config) === undefined ? undefined : yield* makeWorkerHost({ background: true }),
  }
})
