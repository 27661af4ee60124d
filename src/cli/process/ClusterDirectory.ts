/**
 * The directory of projects, keys and accounts in a cluster, on one runner. All engines here share
 * one copy of the directory. Commands go to the owner of partition 1. While this runner is that
 * owner, it publishes changes and carries out the commands of other runners.
 */
import { Effect, type Scope } from "effect"
import {
  askPublished,
  copying,
  DirectoryCommands,
  directoryHandler,
  publishing,
} from "../../cluster/DirectoryCommands.ts"
import { DirectoryCopy } from "../../cluster/DirectoryCopy.ts"
import { DirectoryPublisher } from "../../cluster/DirectoryTable.ts"
import { adoptForgotten } from "../../cluster/ForgottenProjects.ts"
import type { OwnerConnections } from "../../cluster/Forward.ts"
import type { Owners } from "../../cluster/Owners.ts"
import type { PartitionPlace } from "../../domain/decide/decideProjects.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import type { RequestHandler } from "../../http/request/Exchange.ts"
import { limits } from "../../Limits.ts"
import type { Sessions } from "../../storage/postgres/PgConnection.ts"
import type { SharedDirectory } from "./OpenEngine.ts"

interface ClusterDirectoryOptions {
  readonly url: string
  readonly secret: string
  readonly owners: Pick<Owners, "of" | "renew" | "changed" | "loads">
  readonly connections: OwnerConnections
  readonly sessions: Sessions
  readonly lockExpirationMs: number
}

export interface ClusterDirectory {
  readonly copy: DirectoryCopy
  /** Carries out the commands of other runners; `undefined` unless partition 1 is open here. */
  readonly handler: () => RequestHandler | undefined
  /** For the engine of a partition; `epoch` returns the epoch of its claim, after the claim. */
  readonly of: (partition: number, epoch: () => number) => SharedDirectory
}

/** Open until the scope closes. */
export const openClusterDirectory = Effect.fnUntraced(function* (
  options: ClusterDirectoryOptions,
): Effect.fn.Return<ClusterDirectory, never, Scope.Scope> {
  const { lockExpirationMs, sessions, url } = options
  // The same share as for owners.
  const copy = yield* DirectoryCopy.open({ url, staleMs: lockExpirationMs / 3 })
  const commands = new DirectoryCommands({ ...options, copy })
  let handler: RequestHandler | undefined

  const publish = (epoch: number): SharedDirectory["join"] =>
    Effect.fnUntraced(function* (engine) {
      const publisher = new DirectoryPublisher({
        connection: sessions,
        epoch,
        read: engine.readDirectory,
      })
      const adopted = adoptForgotten({ connection: sessions, epoch, engine })
      yield* Effect.forkScoped(Effect.andThen(adopted, publisher.run))
      const own = yield* directoryHandler(askPublished(engine, publisher))
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          handler = own
        }),
        () =>
          Effect.sync(() => {
            if (handler === own) handler = undefined
          }),
      )
      return publishing(engine, publisher)
    })

  /** A partition that no server has opened yet counts as opened by the owner of partition 1. */
  const places = (): ReadonlyArray<PartitionPlace> => {
    const { owners } = options
    const first = owners.of(firstPartition)?.address ?? ""
    return Array.from({ length: limits.clusterPartitions }, (_, index) => ({
      server: owners.of(index + 1)?.address || first,
      load: owners.loads.of(index + 1),
    }))
  }

  return {
    copy,
    handler: () => handler,
    of: (number, epoch) =>
      number === firstPartition
        ? {
            own: number,
            places,
            join: (engine) => Effect.suspend(() => publish(epoch())(engine)),
          }
        : {
            own: number,
            places,
            join: (engine) => Effect.succeed(copying(engine, copy, commands)),
          },
  }
})
