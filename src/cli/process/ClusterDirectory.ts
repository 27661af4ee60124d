/**
 * The directory of a cluster of several partitions, on one runner: a copy for all engines here, commands to partition 1's owner,
 * and, while this runner is that, the publisher.
 */
import { Effect, type Scope } from "effect"
import { DirectoryCommands, directoryHandler } from "../../cluster/DirectoryCommands.ts"
import { DirectoryCopy } from "../../cluster/DirectoryCopy.ts"
import { askPublished, copying, publishing } from "../../cluster/DirectoryEngine.ts"
import { DirectoryPublisher } from "../../cluster/DirectoryPublisher.ts"
import { adoptForgotten } from "../../cluster/ForgottenProjects.ts"
import type { OwnerConnections } from "../../cluster/OwnerConnections.ts"
import type { Owners } from "../../cluster/Owners.ts"
import type { PartitionPlace } from "../../domain/decide/decideProjects.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import type { RequestHandler } from "../../http/request/Exchange.ts"
import { limits } from "../../Limits.ts"
import type { Sessions } from "../../storage/postgres/PgConnection.ts"
import type { SharedDirectory } from "./SharedParts.ts"

export interface ClusterDirectoryOptions {
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
  /** For the engine of a partition; `epoch` is that of its claim, once there is one. */
  readonly of: (partition: number, epoch: () => number) => SharedDirectory
}

/** Open until the scope closes. */
export const openClusterDirectory = Effect.fnUntraced(function* (
  options: ClusterDirectoryOptions,
): Effect.fn.Return<ClusterDirectory, never, Scope.Scope> {
  const { lockExpirationMs, sessions, url } = options
  // The bound that owners have.
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

  /** A partition that nobody has opened yet counts as the first one's server's, which may open it. */
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
