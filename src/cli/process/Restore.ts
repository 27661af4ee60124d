/** The restore of one data directory: planned with its lock, then carried out. */
import path from "node:path"
import { Clock, Console, Effect } from "effect"
import type { Config } from "../../config/Config.ts"
import { partitionNumber } from "../../config/PartitionConfig.ts"
import { firstPartition } from "../../domain/project/Directory.ts"
import type { Findings } from "../../engine/archive/Findings.ts"
import {
  planRestore,
  type RestorePlan,
  type RestoreTarget,
} from "../../engine/archive/RestorePlan.ts"
import { bytesOf } from "../../storage/archive/ArchiveCatalog.ts"
import { installDraft, replacedIn } from "../../storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { bytesText, countText } from "../output/Amounts.ts"
import { confirmation } from "../output/confirmation.ts"
import { type CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure, jobFailure, withProgressBar } from "../output/JobWords.ts"
import { planWords } from "../output/RestoreWords.ts"
import { archiveSettings } from "./ArchiveSettings.ts"
import { runJob } from "./CommandJob.ts"
import { holdDirectory, requireData } from "./DataDirectory.ts"
import { compareKeys, type KeyComparison } from "./KeyComparison.ts"
import { projectsIn } from "./ProjectsIn.ts"
import { RestoreSources } from "./RestoreSources.ts"

/** A restore that has its archive, and waits for the confirmation. The directory is locked. */
export interface Planned {
  readonly config: Config
  readonly plan: RestorePlan
  readonly words: ReadonlyArray<string>
  readonly run: Effect.Effect<Restored, CommandFailed>
}

export interface Restored {
  readonly config: Config
  readonly plan: RestorePlan
  readonly findings: Findings
  readonly replaced: string | undefined
  /** One project alone keeps its keys as they are, and other partitions than the first have none. */
  readonly keys: KeyComparison | undefined
}

export interface RestoreWish {
  /** An archive, or `newest`. */
  readonly id: string | undefined
  readonly target: RestoreTarget
  /** The name, and the id where it is known already. */
  readonly project: { readonly name: string; readonly id?: string } | undefined
}

/** The plan for a data directory, which stays locked for the scope. */
export const planFor = Effect.fnUntraced(function* (
  config: Config,
  { id: wish, project: named, target }: RestoreWish,
) {
  const directory = config.dataDirectory
  const settings = yield* archiveSettings(config)
  const sources = yield* RestoreSources.make(config, settings)
  // Before the folder is made: a wrong LAUREL_DATA_DIR leaves nothing behind.
  yield* sources.find(wish)
  yield* Effect.mapError(nodeDisk.makeFolder(directory), diskFailure)
  yield* holdDirectory(directory)
  const id = yield* sources.find(wish)
  const journal = path.join(directory, "journal")
  const project =
    named === undefined
      ? undefined
      : { name: named.name, id: named.id ?? (yield* findProject(directory, named.name)) }
  const plan = yield* sources.plan(id, (archives) =>
    withProgressBar((progress) =>
      planRestore({
        disk: nodeDisk,
        journal,
        archives,
        id,
        target,
        ...(project !== undefined && { project }),
        progress,
      }),
    ).pipe(
      Effect.mapError((error) =>
        error._tag === "JobFailed" ? jobFailure(error) : diskFailure(error),
      ),
    ),
  )
  const remote = yield* sources.toFetch(plan.archive.id)
  const words = [...planWords(plan)]
  if (remote !== undefined) {
    const size = bytesText(bytesOf(plan.archive))
    words.push(`The archive (${size}) will be fetched from ${remote.from}.`)
  }
  const run = Effect.andThen(remote?.fetch ?? Effect.void, restorePlan(config, plan))
  const planned: Planned = { config, plan, words, run }
  return planned
})

/** Builds what the plan says and puts it in the place of the data. */
const restorePlan = Effect.fnUntraced(function* (
  config: Config,
  plan: RestorePlan,
): Effect.fn.Return<Restored, CommandFailed> {
  const directory = config.dataDirectory
  const back = plan.project
  const findings = yield* runJob("restore", {
    directory,
    archive: plan.folder,
    until: plan.sequence,
    project: back === undefined ? null : { id: back.id, name: back.name, after: back.after },
  })
  const at = yield* Clock.currentTimeMillis
  const replaced = yield* Effect.mapError(installDraft(nodeDisk, directory, at), diskFailure)
  const hasKeys = plan.project === undefined && partitionNumber(config) === firstPartition
  const keys = hasKeys ? yield* compareKeys(directory, replaced) : undefined
  return { config, plan, findings, replaced, keys }
})

const findProject = Effect.fnUntraced(function* (directory: string, name: string) {
  yield* requireData(directory)
  const found = (yield* projectsIn(directory)).find((project) => project.name === name)
  return found === undefined
    ? yield* commandFailed(exitCodes.refused, `There is no project ${name}.`)
    : found.id
})

/** Swaps the data that an earlier restore replaced back in, after a check. */
export const takeBack = Effect.fnUntraced(function* (
  directory: string,
  name: string,
  yes: boolean,
) {
  yield* holdDirectory(directory)
  const names = yield* Effect.mapError(replacedIn(nodeDisk, directory), diskFailure)
  if (!names.includes(name)) {
    return yield* commandFailed(exitCodes.refused, `${name} not found in ${directory}.`)
  }
  const findings = yield* runJob("verifyLive", { directory: path.join(directory, name) })
  const [fault] = findings.faults
  if (fault !== undefined) return yield* commandFailed(exitCodes.damagedData, `${fault}.`)
  yield* Console.error(
    `The replaced data ends at record ${countText(findings.sequence)} and passed its check.`,
  )
  yield* Console.error("The current data will be kept beside it.")
  if (!yes) yield* confirmation
  const at = yield* Clock.currentTimeMillis
  const replaced = yield* Effect.mapError(
    installDraft(nodeDisk, directory, at, { from: name }),
    diskFailure,
  )
  return { findings, keys: yield* compareKeys(directory, replaced), replaced }
})
