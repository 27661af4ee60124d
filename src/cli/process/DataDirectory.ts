/**
 * The data directory for commands without an engine: a command asks the running server, or locks
 * the directory itself. A `server.json` of a dead server or of another directory is ignored: then
 * the lock decides.
 */

import path from "node:path"
import { Console, Context, Effect, Result, type Scope } from "effect"
import { type Config, clusterDirectory, ofPartition, readConfig } from "../../config/Config.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
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
import { cannotUse, diskFailure } from "../output/JobWords.ts"
import { type Asked, askPosition, readServerFile, type ServerFile } from "./AdminRequest.ts"
import { runJob } from "./CommandJob.ts"

/* The configuration of this process. */

/** Reads the environment. Warnings go to standard error, and faults end the command. */
export const loadConfig: Effect.Effect<Config, CommandFailed> = Effect.suspend(() => {
  const { config, warnings } = readConfig()
  for (const warning of warnings) console.error(`laurel: warning: ${warning}`)
  return Result.isSuccess(config)
    ? Effect.succeed(inPartition(config.success))
    : Effect.fail(commandFailed(exitCodes.configuration, ...config.failure))
})

/** In a cluster, the data directory of a command is that of partition 1. */
const inPartition = (config: Config): Config =>
  config.cluster === undefined ? config : ofPartition(config, firstPartition)

/** Where the running server of a data directory keeps its file. */
export const serverFileFolder = (config: Config): string =>
  config.cluster === undefined ? config.dataDirectory : clusterDirectory(config)

/**
 * Prints on standard error which data directory a command uses, and through which server. The
 * environment of the command may differ from that of the server.
 */
export const printDirectory = (directory: string, how?: string): Effect.Effect<void> =>
  Console.error(`Data directory: ${path.resolve(directory)}${how === undefined ? "" : ` (${how})`}`)

/** The same for a command that opens the data itself. */
export const printAlone = ({ dataDirectory }: Config): Effect.Effect<void> =>
  printDirectory(dataDirectory, "no server runs on it")

/**
 * Asks the running server of the data directory, or runs `alone` if no server answers. Prints
 * nothing.
 */
export const viaServerOr = <A, R>(
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

/** As `viaServerOr`, and prints whether a server is asked. */
export const viaServerOrAlone = <A, R>(
  config: Config,
  beside: (server: ServerFile) => Asked<A>,
  alone: Effect.Effect<A, CommandFailed, R>,
): Effect.Effect<A, CommandFailed, R> =>
  viaServerOr(
    config,
    (server) =>
      Effect.andThen(
        printDirectory(config.dataDirectory, `through its server at ${server.url}`),
        beside(server),
      ),
    alone,
  )

/** As `viaServerOrAlone`, with the directory locked while `alone` runs. */
export const viaServerOrLocked = <A>(
  config: Config,
  beside: (server: ServerFile) => Asked<A>,
  alone: Effect.Effect<A, CommandFailed, Scope.Scope>,
): Effect.Effect<A, CommandFailed> =>
  viaServerOrAlone(
    config,
    beside,
    Effect.scoped(
      Effect.gen(function* () {
        yield* requireData(config.dataDirectory)
        yield* holdDirectory(config.dataDirectory)
        yield* printAlone(config)
        return yield* alone
      }),
    ),
  )

/**
 * Fails if a server of the cluster runs on this machine: the server may open the directory of any
 * partition at any time.
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
              // Another process has the process id of a former server.
              onFailure: (error) =>
                error._tag === "AdminUnavailable" && !error.reached
                  ? Effect.void
                  : Effect.fail(inUse),
            }),
      )
}

/**
 * Holds the lock of an existing directory until the scope closes, and settles an interrupted
 * restore.
 */
export const holdDirectory = Effect.fnUntraced(function* (
  directory: string,
): Effect.fn.Return<void, CommandFailed, Scope.Scope> {
  yield* Effect.mapError(lockDirectory(directory), (error) => {
    if (!isInUse(error)) return cannotUse(directory, error.cause)
    const words = error.cause instanceof Error ? error.cause.message : String(error.cause)
    return commandFailed(exitCodes.inUse, words)
  })
  yield* Effect.mapError(settleSwap(nodeDisk, directory), diskFailure)
})

/** Fails if the directory has no data. */
export const requireData = (directory: string): Effect.Effect<void, CommandFailed> =>
  nodeDisk.list(path.join(directory, "journal")).pipe(
    Effect.asVoid,
    Effect.mapError((error) =>
      isMissing(error) || error.code === "ENOTDIR" ? noData(directory) : diskFailure(error),
    ),
  )

/* The projects of a data directory that no server has open. */

export const projectsIn = (directory: string) =>
  Effect.map(runJob("projects", { directory }), ({ projects }) => projects)

/*
 * The last record of the data directory if a restore has replaced the data since the last opening;
 * else `undefined`.
 */

export const RestoredTo = Context.Reference<number | undefined>("cli/process/RestoredTo", {
  defaultValue: () => undefined,
})
