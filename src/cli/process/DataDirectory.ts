/**
 * The data directory from outside an engine: beside the running server, or locked by this command. A `server.json` left by
 * a dead or another server is ignored; then the lock decides.
 */
import path from "node:path"
import { Effect, type Scope } from "effect"
import type { Config } from "../../config/Config.ts"
import { settleSwap } from "../../storage/archive/ArchiveSwap.ts"
import { isInUse, lockDirectory } from "../../storage/disk/DirectoryLock.ts"
import { isMissing } from "../../storage/disk/Disk.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import {
  type CommandFailed,
  commandFailed,
  exitCodes,
  noData,
  refused,
} from "../output/ExitCode.ts"
import { diskFailure } from "../output/JobWords.ts"
import { type Asked, askPosition } from "./AdminRequest.ts"
import { serverFileFolder } from "./LoadConfig.ts"
import { readServerFile, type ServerFile } from "./ServerFile.ts"

/** Asks the running server of the data directory or, where none answers, runs `alone`. */
export const besideOr = <A, R>(
  config: Config,
  beside: (server: ServerFile) => Asked<A>,
  alone: Effect.Effect<A, CommandFailed, R>,
): Effect.Effect<A, CommandFailed, R> =>
  Effect.flatMap(readServerFile(serverFileFolder(config)), (server) =>
    server === undefined
      ? alone
      : Effect.catchTags(beside(server), {
          LaurelError: (error) => Effect.fail(refused(error)),
          AdminUnavailable: ({ detail, reached }) =>
            reached
              ? Effect.fail(
                  commandFailed(
                    exitCodes.unavailable,
                    `The running server's reply is unusable (${detail}). Whether it executed the command is unknown.`,
                  ),
                )
              : alone,
        }),
  )

/** `besideOr` with the directory locked while `alone` runs. */
export const besideOrAlone = <A>(
  config: Config,
  beside: (server: ServerFile) => Asked<A>,
  alone: Effect.Effect<A, CommandFailed, Scope.Scope>,
): Effect.Effect<A, CommandFailed> =>
  besideOr(
    config,
    beside,
    Effect.scoped(
      Effect.andThen(
        Effect.andThen(requireData(config.dataDirectory), holdDirectory(config.dataDirectory)),
        alone,
      ),
    ),
  )

/**
 * Ends a command that changes the data of a partition beside a server of the cluster: the server has the directories of its
 * partitions locked, and may open any other one at any time.
 */
export const requireNoServer = (config: Config): Effect.Effect<void, CommandFailed> => {
  const folder = serverFileFolder(config)
  const inUse = commandFailed(exitCodes.inUse, `A server runs on ${folder}. Stop it first.`)
  return config.cluster === undefined
    ? Effect.void
    : Effect.flatMap(readServerFile(folder), (server) =>
        server === undefined
          ? Effect.void
          : Effect.matchEffect(askPosition(server, config), {
              onSuccess: () => Effect.fail(inUse),
              // Another process has the id of a server that is gone.
              onFailure: (error) =>
                error._tag === "AdminUnavailable" && !error.reached
                  ? Effect.void
                  : Effect.fail(inUse),
            }),
      )
}

/** Holds the lock of an existing directory while the scope is open, and settles a restore that was interrupted. */
export const holdDirectory = Effect.fnUntraced(function* (
  directory: string,
): Effect.fn.Return<void, CommandFailed, Scope.Scope> {
  yield* Effect.mapError(lockDirectory(directory), (error) => {
    const words = error.cause instanceof Error ? error.cause.message : String(error.cause)
    return commandFailed(isInUse(error) ? exitCodes.inUse : exitCodes.cannotWrite, words)
  })
  yield* Effect.mapError(settleSwap(nodeDisk, directory), diskFailure)
})

/** Ends the command where there is no data. */
export const requireData = (directory: string): Effect.Effect<void, CommandFailed> =>
  nodeDisk.list(path.join(directory, "journal")).pipe(
    Effect.asVoid,
    Effect.mapError((error) =>
      isMissing(error) || error.code === "ENOTDIR" ? noData(directory) : diskFailure(error),
    ),
  )
