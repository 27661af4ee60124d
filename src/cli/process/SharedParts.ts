/** What the engines of the partitions of a process share. */
import { Effect, type Scope } from "effect"
import type { Config } from "../../config/Config.ts"
import { ofPartition } from "../../config/Config.ts"
import type { PartitionPlace } from "../../domain/decide/decideProjects.ts"
import type { Engine } from "../../engine/Engine.ts"
import { SharedBounds } from "../../engine/state/EngineState.ts"
import { limits } from "../../Limits.ts"
import { openSessions, type PgSessions } from "../../storage/postgres/PgPool.ts"
import { makeSharedDelivery, type SharedDelivery } from "../../webhooks/SharedDelivery.ts"
import { type Hosts, openHosts } from "./OpenHosts.ts"

export interface SharedParts {
  readonly bounds: SharedBounds
  readonly delivery: SharedDelivery
  readonly sessions: PgSessions
  readonly hosts: Hosts
}

/** The directory of accounts, keys and projects that the partitions of a cluster share. */
export interface SharedDirectory {
  /** The partition. */
  readonly own: number
  /** Where all partitions are now, in order. */
  readonly places: () => ReadonlyArray<PartitionPlace>
  /** The engine with the shared directory in place of its own; the first partition's begins to publish, until the scope closes. */
  readonly join: (engine: Engine["Service"]) => Effect.Effect<Engine["Service"], never, Scope.Scope>
}

/** For the engines of all partitions of a process, until the scope closes. `url`: of PostgreSQL. */
export const makeSharedParts = Effect.fnUntraced(function* (
  config: Config,
  url: string,
): Effect.fn.Return<SharedParts, never, Scope.Scope> {
  const numbers = Array.from({ length: limits.clusterPartitions }, (_, index) => index + 1)
  const directories = numbers.map((number) => ofPartition(config, number).dataDirectory)
  return {
    hosts: yield* openHosts(config, directories),
    bounds: new SharedBounds({ residentUsersMax: config.residentUsersMax }),
    delivery: yield* makeSharedDelivery({ allowed: config.webhookAllowedRanges }),
    sessions: yield* openSessions({ url }),
  }
})
