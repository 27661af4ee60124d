/** What the engines of the partitions of a process share. */
import { Effect, type Scope } from "effect"
import type { Config } from "../../config/Config.ts"
import { SharedBounds } from "../../engine/state/SharedBounds.ts"
import { makeSharedDelivery, type SharedDelivery } from "../../webhooks/SharedDelivery.ts"

export interface SharedParts {
  readonly bounds: SharedBounds
  readonly delivery: SharedDelivery
}

/** For the engines of all partitions of a process, until the scope closes. */
export const makeSharedParts = (config: Config): Effect.Effect<SharedParts, never, Scope.Scope> =>
  Effect.map(makeSharedDelivery({ allowed: config.webhookAllowedRanges }), (delivery) => ({
    bounds: new SharedBounds({ residentUsersMax: config.residentUsersMax }),
    delivery,
  }))
