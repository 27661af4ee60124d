/**
 * The archive settings of a command. Variables of the shell come first, then the settings of the
 * running or last server of the data directory, then the defaults. So a command without variables
 * reads the folder that the server uses, and does not remove archives that the server keeps.
 *
 * The server writes its settings to `archives.json`, with the path of the data directory. In a copy
 * of the directory, the file belongs to another server and is ignored.
 */
import path from "node:path"
import { Console, Effect, Option, Schema } from "effect"
import { archivesIn, type Config, isGiven } from "../../config/Config.ts"
import { type ListedArchive, listArchives } from "../../storage/archive/ArchiveCatalog.ts"
import { byAge } from "../../storage/archive/ArchiveManifest.ts"
import type { Retention } from "../../storage/archive/ArchiveRetention.ts"
import { isMissing, readSmallFile, replaceFile } from "../../storage/disk/Disk.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { type CommandFailed, commandFailed, exitCodes, noData } from "../output/ExitCode.ts"
import { diskFailure, unreadable } from "../output/JobWords.ts"
import { realPath } from "./AdminRequest.ts"

export interface ArchiveSettings {
  /** The folder of archives, absolute. */
  readonly folder: string
  readonly retention: Retention
}

const Content = Schema.fromJsonString(
  Schema.Struct({
    format: Schema.Literal(1),
    /** The real path of the data directory. */
    directory: Schema.String,
    folder: Schema.String,
    hourly: Schema.Int,
    daily: Schema.Int,
  }),
)
type Content = typeof Content.Type
const encode = Schema.encodeSync(Content)
const decode = Schema.decodeUnknownOption(Content)
const decodeFormat = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ format: Schema.Int })),
)

const isOfOther = (text: string): boolean =>
  Option.exists(decodeFormat(text), ({ format }) => format !== 1)

const fileName = "archives.json"
const fileBytesMax = 65_536

/** Writes the settings of a server to its data directory, for commands. */
export const leaveArchiveSettings = Effect.fnUntraced(function* (
  config: Config,
): Effect.fn.Return<void, CommandFailed> {
  const { archivesDaily: daily, archivesHourly: hourly, dataDirectory } = config
  const directory = yield* Effect.promise(() => realPath(dataDirectory))
  const folder = path.resolve(archivesIn(config))
  const text = encode({ format: 1, directory, folder, hourly, daily })
  yield* Effect.mapError(replaceFile(nodeDisk, dataDirectory, fileName, text), diskFailure)
})

/** The archive settings that the running or last server of `directory` stored there. */
const leftBehind = Effect.fnUntraced(function* (
  directory: string,
): Effect.fn.Return<Content | undefined, CommandFailed> {
  const file = path.join(directory, fileName)
  const text = yield* Effect.option(readSmallFile(nodeDisk, file, fileBytesMax))
  // With the defaults in place of unknown settings, a command would remove archives.
  if (Option.exists(text, isOfOther)) return yield* unreadable(file)
  const content = Option.getOrUndefined(Option.flatMap(text, (found) => decode(found)))
  const where = yield* Effect.promise(() => realPath(directory))
  return content?.directory === where ? content : undefined
})

/** The settings of a command. Warns if the shell names another folder than the server. */
export const archiveSettings = Effect.fnUntraced(function* (
  config: Config,
): Effect.fn.Return<ArchiveSettings, CommandFailed> {
  const server = yield* leftBehind(config.dataDirectory)
  const own = {
    folder: path.resolve(archivesIn(config)),
    hourly: config.archivesHourly,
    daily: config.archivesDaily,
  }
  const counts = server ?? own
  const folder = isGiven("archiveDirectory") ? own.folder : counts.folder
  if (folder !== counts.folder) {
    yield* Console.error(
      `laurel: warning: LAUREL_ARCHIVE_DIR is ${folder} here, but the server of this data directory archives in ${counts.folder}.`,
    )
  }
  const hourly = isGiven("archivesHourly") ? own.hourly : counts.hourly
  const daily = isGiven("archivesDaily") ? own.daily : counts.daily
  return { folder, retention: { hourly, daily } }
})

/**
 * The archives of a command, oldest first; fails if neither their folder nor the data directory
 * exists.
 */
export const archivesOf = Effect.fnUntraced(function* (
  config: Config,
  { folder }: ArchiveSettings,
): Effect.fn.Return<ReadonlyArray<ListedArchive>, CommandFailed> {
  yield* Effect.catchIf(nodeDisk.list(folder), isMissing, () =>
    nodeDisk.list(config.dataDirectory),
  ).pipe(
    Effect.mapError((error) => {
      if (isMissing(error)) return noData(config.dataDirectory)
      return error.code === "ENOTDIR"
        ? commandFailed(exitCodes.noData, `${error.path} is not a folder.`)
        : diskFailure(error)
    }),
  )
  return yield* Effect.mapError(listArchives(nodeDisk, folder), diskFailure)
})

/** As `archivesOf`. With a bucket, a machine without data has no archives instead of a failure. */
export const archivesHere = (
  config: Config,
  settings: ArchiveSettings,
): Effect.Effect<ReadonlyArray<ListedArchive>, CommandFailed> =>
  Effect.catchIf(
    archivesOf(config, settings),
    ({ exitCode }) => exitCode === exitCodes.noData && config.archiveBucket !== undefined,
    () => Effect.succeed([]),
  )

/** The archives of this machine and those that only the bucket has, oldest first. */
export const archivesOfBoth = (
  here: ReadonlyArray<ListedArchive>,
  inBucket: ReadonlyArray<ListedArchive>,
): ReadonlyArray<ListedArchive> => {
  const known = new Set(here.map(({ id }) => id))
  return [...here, ...inBucket.filter(({ id }) => !known.has(id))].sort(byAge)
}
