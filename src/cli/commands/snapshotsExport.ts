/** `laurel snapshots export` */
import path from "node:path"
import { Clock, Console, Effect, Option, type Scope } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { version } from "../../Build.ts"
import type { Config } from "../../config/Config.ts"
import {
  type EnvironmentName,
  environmentNames,
  type Project,
} from "../../domain/project/Directory.ts"
import {
  type ExportScope,
  JobFailed,
  type JobProgress,
  type PositionAnswer,
} from "../../engine/archive/jobs/Jobs.ts"
import { makeWorkerHost } from "../../engine/archive/jobs/WorkerHost.ts"
import { installDraft } from "../../storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure, jobFailure, withProgressBar } from "../output/JobWords.ts"
import { amountOf, countText } from "../output/Table.ts"
import { type Asked, askPosition, type ServerFile } from "../process/AdminRequest.ts"
import { archiveSettings, archivesOf } from "../process/ArchiveSettings.ts"
import { projectInCluster } from "../process/ClusterAdmin.ts"
import { runJob } from "../process/CommandJob.ts"
import {
  holdDirectory,
  loadConfig,
  printDirectory,
  requireNoServer,
  viaServerOrLocked,
} from "../process/DataDirectory.ts"
import { loggingLayer } from "../process/Logging.ts"
import { archiveElsewhere, hereOrElsewhere } from "../process/OwnerArchives.ts"
import {
  agreeOnPartition,
  type GivenPartition,
  isSpread,
  json,
  onePartition,
  partitionFlag,
  partitionOfArchive,
  partitionsOf,
} from "./flags.ts"

const file = Argument.String("FILE").pipe(
  Argument.withDescription("File to write; it must not exist"),
)

const archive = Flag.String("archive").pipe(
  Flag.withMetavar("ID"),
  Flag.withDescription("Archive to export. Default: the current data"),
  Flag.optional,
)

const project = Flag.String("project").pipe(
  Flag.withMetavar("NAME"),
  Flag.withDescription("Export one environment of this project, without keys. Default: everything"),
  Flag.optional,
)

const environment = Flag.Literals("environment", environmentNames).pipe(
  Flag.withDescription("Environment; requires --project"),
  Flag.optional,
)

/** The project to export, and the partition that has its data. */
const sourceOf = Effect.fnUntraced(function* (
  config: Config,
  archive: string | undefined,
  project: string | undefined,
  partition: GivenPartition,
): Effect.fn.Return<{ readonly config: Config; readonly known?: Project }, CommandFailed> {
  if (isSpread(config) && project !== undefined) {
    const found = yield* projectInCluster(config, config.cluster!, project)
    yield* agreeOnPartition(found.config, partition, project)
    return { config: found.config, known: found.project }
  }
  if (archive === undefined) return { config: yield* onePartition(config, partition) }
  return { config: yield* partitionOfArchive(yield* partitionsOf(config, partition), archive) }
})

/** The options that choose what to export. */
export const exportFlags = { archive, project, environment }

export interface Exporting {
  readonly archive: Option.Option<string>
  readonly project: Option.Option<string>
  readonly environment: Option.Option<EnvironmentName>
  readonly partition: GivenPartition
}

/** A job on `folder`; in the `background` of a server, whose durable end `position` is. */
type ExportRun<A> = (
  folder: string,
  background: boolean,
  position: Effect.Effect<PositionAnswer>,
) => Effect.Effect<A, JobFailed, Scope.Scope>

/** Runs an export on the data directory, also beside its server, or on an archive. */
export const exportFrom = Effect.fnUntraced(function* <A>(
  given: Exporting,
  runWith: (scope: ExportScope | null, progress: (progress: JobProgress) => void) => ExportRun<A>,
) {
  if (Option.isSome(given.project) !== Option.isSome(given.environment)) {
    return yield* commandFailed(exitCodes.usage, "--project and --environment require each other.")
  }
  const { config, known } = yield* sourceOf(
    yield* loadConfig,
    Option.getOrUndefined(given.archive),
    Option.getOrUndefined(given.project),
    given.partition,
  )
  const scope =
    Option.isSome(given.project) && Option.isSome(given.environment)
      ? {
          project: given.project.value,
          environment: given.environment.value,
          ...(known !== undefined && { known }),
        }
      : null
  const exported = yield* withProgressBar((progress) => {
    const run = runWith(scope, progress)
    if (Option.isSome(given.archive)) {
      const id = given.archive.value
      return Effect.gen(function* () {
        yield* printDirectory(config.dataDirectory)
        const settings = yield* archiveSettings(config)
        const archives = yield* hereOrElsewhere([config], id, archivesOf(config, settings))
        const found = archives.find((listed) => listed.id === id)
        if (found === undefined) {
          return yield* archiveElsewhere([config], id)
        }
        const ran = Effect.scoped(run(found.folder, true, Effect.undefined))
        return yield* Effect.mapError(ran, jobFailure)
      })
    }
    const folder = config.dataDirectory
    const beside = (server: ServerFile): Asked<A | JobFailed> => {
      const position = askPosition(server, config)
      const done = Effect.scoped(run(folder, true, Effect.orDie(position)))
      return Effect.andThen(position, Effect.catch(done, Effect.succeed))
    }
    const alone = Effect.mapError(run(folder, false, Effect.undefined), jobFailure)
    return viaServerOrLocked<A | JobFailed>(config, beside, alone)
  })
  return exported instanceof JobFailed ? yield* jobFailure(exported) : exported
})

/** Fails if there is a file or folder of this name; returns its path. */
export const newPath = Effect.fnUntraced(function* (given: string) {
  const file = path.resolve(given)
  const names = yield* Effect.mapError(nodeDisk.list(path.dirname(file)), diskFailure)
  if (names.includes(path.basename(file))) {
    return yield* commandFailed(exitCodes.refused, `${file} already exists.`)
  }
  return file
})

export const exportSnapshot = Command.make(
  "export",
  {
    file,
    ...exportFlags,
    json,
    partition: partitionFlag(
      "export this partition. Default: that of the project, or of the archive",
    ),
  },
  Effect.fnUntraced(
    function* ({ json, ...given }) {
      const file = yield* newPath(given.file)
      const at = yield* Clock.currentTimeMillis
      const exported = yield* exportFrom(
        given,
        (scope, progress) => (folder, background, position) =>
          Effect.gen(function* () {
            const host = yield* makeWorkerHost({ background })
            const input = { file, laurel: version, at, scope, folder }
            return yield* host.run("export", input, { progress, asked: () => position })
          }),
      )
      if (json) return yield* Console.log(JSON.stringify({ file, ...exported }))
      const { entries, records, sequence } = exported
      yield* Console.log(
        `${file}: ${amountOf(entries, "value")} and ${amountOf(records, "record")}, up to record ${countText(sequence)}.`,
      )
    },
    (effect) => Effect.provide(effect, loggingLayer()),
  ),
).pipe(
  Command.withDescription(
    "Export everything, or one environment, as lines of JSON, for other machines and versions. The file contains user data and secrets",
  ),
)

/* `laurel snapshots import` */

const exportFile = Argument.String("FILE").pipe(
  Argument.withDescription("File written by `laurel snapshots export`"),
)

const importInto = Effect.fnUntraced(function* (directory: string, exportFile: string) {
  yield* Effect.mapError(nodeDisk.makeFolder(directory), diskFailure)
  yield* holdDirectory(directory)
  const names = yield* Effect.mapError(nodeDisk.list(directory), diskFailure)
  if (names.includes("journal") || names.includes("live")) {
    return yield* commandFailed(
      exitCodes.refused,
      `${directory} already has data. An import creates a new data directory: set LAUREL_DATA_DIR to an empty or new folder.`,
    )
  }
  const findings = yield* runJob("import", { directory, file: exportFile })
  const at = yield* Clock.currentTimeMillis
  yield* Effect.mapError(installDraft(nodeDisk, directory, at), diskFailure)
  return findings
})

export const importSnapshot = Command.make(
  "import",
  {
    file: exportFile,
    json,
    partition: partitionFlag("create the data directory of this partition"),
  },
  Effect.fnUntraced(
    function* ({ file: exportFile, json, partition }) {
      const config = yield* onePartition(yield* loadConfig, partition)
      yield* requireNoServer(config)
      yield* printDirectory(config.dataDirectory)
      const imported = yield* Effect.scoped(
        importInto(config.dataDirectory, path.resolve(exportFile)),
      )
      const { counts, sequence, sums } = imported
      if (json) return yield* Console.log(JSON.stringify({ sequence, counts, sums }))
      yield* Console.log(
        `Imported and verified: ${amountOf(counts.users ?? 0, "user")}, up to record ${countText(sequence)}.`,
      )
    },
    (effect) => Effect.provide(effect, loggingLayer()),
  ),
).pipe(
  Command.withDescription(
    "Create a data directory from an export. If a line is invalid, nothing is created and each invalid line is listed by number",
  ),
)
