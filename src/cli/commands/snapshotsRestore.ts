/**
 * `laurel snapshots restore`. It holds the directory's lock throughout. The restored data is built and verified beside the
 * current data; then the two are swapped (`ArchiveSwap`). If the process dies, the next opener of the directory completes or
 * discards the swap.
 */
import path from "node:path"
import { Clock, Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Config } from "../../config/Config.ts"
import { isoTime, parseIsoTime } from "../../domain/values/isoTime.ts"
import {
  planRestore,
  type RestorePlan,
  type RestoreTarget,
} from "../../engine/archive/RestorePlan.ts"
import { makeWorkerHost } from "../../engine/archive/WorkerHost.ts"
import { bytesOf } from "../../storage/archive/ArchiveCatalog.ts"
import { installDraft, replacedIn } from "../../storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { amountOf, bytesText, countText } from "../output/Amounts.ts"
import { confirmation } from "../output/confirmation.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure, jobFailure, withProgressBar } from "../output/JobWords.ts"
import { archiveSettings } from "../process/ArchiveSettings.ts"
import { holdDirectory, requireData } from "../process/DataDirectory.ts"
import { compareKeys, comparisonWords, type KeyComparison } from "../process/KeyComparison.ts"
import { loadConfig } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"
import { RestoreSources } from "../process/RestoreSources.ts"
import { json } from "./SnapshotFlags.ts"

const id = Argument.String("ID").pipe(
  Argument.withDescription(
    "Archive to start from, as `laurel snapshots list` shows it, or `newest`; one that is in the bucket alone is fetched. Default with --to-sequence or --to-time: the newest one before that point. Or the name `replaced-…` of data that a restore replaced",
  ),
  Argument.optional,
)

const toSequence = Flag.String("to-sequence").pipe(
  Flag.withMetavar("N|last"),
  Flag.withDescription(
    "Replay the journal after the archive up to record N, or up to its last record",
  ),
  Flag.filterMap(
    (text): Option.Option<RestoreTarget> => {
      if (text === "last") return Option.some({ kind: "last" })
      const sequence = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
      return Number.isSafeInteger(sequence)
        ? Option.some({ kind: "sequence", sequence })
        : Option.none()
    },
    () => "a record is a whole number, or last",
  ),
  Flag.optional,
)

const toTime = Flag.String("to-time").pipe(
  Flag.withMetavar("TIME"),
  Flag.withDescription(
    "Replay the journal after the archive up to this time, such as 2026-11-21T10:00:00Z",
  ),
  Flag.filterMap(
    (text): Option.Option<RestoreTarget> =>
      Option.map(Option.fromUndefinedOr(parseIsoTime(text)), (at) => ({ kind: "time", at })),
    () => "a time has a date and a zone, such as 2026-11-21T10:00:00Z or 2026-11-21T11:00:00+01:00",
  ),
  Flag.optional,
)

const yes = Flag.Boolean("yes").pipe(
  Flag.withAlias("y"),
  Flag.withDescription("Do not ask for confirmation"),
  Flag.withDefault(false),
)

const project = Flag.String("project").pipe(
  Flag.withMetavar("NAME"),
  Flag.withDescription(
    "Restore only this project, both environments; its keys and everything else stay unchanged",
  ),
  Flag.optional,
)

/** The restore that the options describe; fails when they exclude each other. */
const targetOf = (given: {
  readonly id: Option.Option<string>
  readonly project: Option.Option<string>
  readonly toSequence: Option.Option<RestoreTarget>
  readonly toTime: Option.Option<RestoreTarget>
}) =>
  Effect.suspend(() => {
    const faults: Array<string> = []
    if (Option.isSome(given.toSequence) && Option.isSome(given.toTime)) {
      faults.push("--to-sequence and --to-time exclude each other.")
    }
    const isReplaced = Option.exists(given.id, (id) => id.startsWith("replaced-"))
    const target = Option.orElse(given.toSequence, () => given.toTime)
    if (isReplaced && (Option.isSome(target) || Option.isSome(given.project))) {
      faults.push(
        "Replaced data is restored as it is: do not use --to-sequence, --to-time or --project.",
      )
    }
    const toLast = Option.exists(target, ({ kind }) => kind === "last")
    if (Option.isSome(given.project) && toLast) {
      faults.push("--project needs a record before the last one.")
    }
    if (Option.isNone(given.id) && Option.isNone(target)) {
      faults.push("Name an archive, or set --to-sequence or --to-time.")
    }
    return faults.length > 0
      ? Effect.fail(commandFailed(exitCodes.usage, ...faults))
      : Effect.succeed(Option.getOrElse(target, (): RestoreTarget => ({ kind: "archive" })))
  })

const restore = Effect.fnUntraced(function* (
  config: Config,
  wish: string | undefined,
  target: RestoreTarget,
  projectName: string | undefined,
  yes: boolean,
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
  const project = projectName === undefined ? undefined : yield* findProject(directory, projectName)
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
  for (const line of planWords(plan)) yield* Console.error(line)
  if (remote !== undefined) {
    const size = bytesText(bytesOf(plan.archive))
    yield* Console.error(`The archive (${size}) will be fetched from ${remote.from}.`)
  }
  if (!yes) yield* confirmation
  if (remote !== undefined) yield* remote.fetch
  const findings = yield* withProgressBar((progress) =>
    Effect.scoped(
      Effect.gen(function* () {
        const host = yield* makeWorkerHost({ background: false })
        const back = plan.project
        const wish = {
          directory,
          archive: plan.folder,
          until: plan.sequence,
          project: back === undefined ? null : { id: back.id, name: back.name, after: back.after },
        }
        return yield* host.run("restore", wish, { progress })
      }),
    ),
  ).pipe(Effect.mapError(jobFailure))
  const at = yield* Clock.currentTimeMillis
  const replaced = yield* Effect.mapError(installDraft(nodeDisk, directory, at), diskFailure)
  // One project alone keeps its keys as they are.
  const keys = project === undefined ? yield* compareKeys(directory, replaced) : undefined
  return { findings, keys, plan, replaced }
})

const tellCluster = ({ cluster }: Config): Effect.Effect<void> =>
  cluster === undefined
    ? Effect.void
    : Console.error("PostgreSQL still has what was replaced: run `laurel cluster install`.")

const findProject = Effect.fnUntraced(function* (directory: string, name: string) {
  yield* requireData(directory)
  const { id } = yield* withProgressBar((progress) =>
    Effect.scoped(
      Effect.gen(function* () {
        const host = yield* makeWorkerHost({ background: false })
        return yield* host.run("project", { directory, name }, { progress })
      }),
    ),
  ).pipe(Effect.mapError(jobFailure))
  return { id, name }
})

/** Swaps the data that an earlier restore replaced back in, after a check. */
const takeBack = Effect.fnUntraced(function* (directory: string, name: string, yes: boolean) {
  yield* holdDirectory(directory)
  const names = yield* Effect.mapError(replacedIn(nodeDisk, directory), diskFailure)
  if (!names.includes(name)) {
    return yield* commandFailed(exitCodes.refused, `${name} not found in ${directory}.`)
  }
  const findings = yield* withProgressBar((progress) =>
    Effect.scoped(
      Effect.gen(function* () {
        const host = yield* makeWorkerHost({ background: false })
        const wish = { directory: path.join(directory, name) }
        return yield* host.run("verifyLive", wish, { progress })
      }),
    ),
  ).pipe(Effect.mapError(jobFailure))
  const [fault] = findings.faults
  if (fault !== undefined) return yield* commandFailed(exitCodes.damagedData, `${fault}.`)
  yield* Console.error(
    `The replaced data ends at record ${countText(findings.sequence)} and passed its check.`,
  )
  yield* Console.error("The current data will be kept beside it.")
  if (!yes) yield* confirmation
  const at = yield* Clock.currentTimeMillis
  const replaced = yield* Effect.mapError(installDraft(nodeDisk, directory, at, name), diskFailure)
  return { findings, keys: yield* compareKeys(directory, replaced), replaced }
})

/** The steps of the restore and the data that it loses, a line each. */
const planWords = ({
  archive,
  at,
  lost,
  project,
  sequence,
  unknown,
}: RestorePlan): ReadonlyArray<string> => {
  const added = sequence - archive.sequence
  const record = (number: number, when: number | undefined) =>
    `${countText(number)}${when === undefined ? "" : ` of ${isoTime(when)}`}`
  const lines = [
    `Archive ${archive.id} ends at record ${countText(archive.sequence)}; the journal adds ${amountOf(added, "record")}.`,
    project === undefined
      ? `The last record will be ${record(sequence, at)}.`
      : `Project ${project.name} is restored to record ${record(project.after, project.at)}; its keys and everything else stay, up to record ${record(sequence, at)}.`,
  ]
  if (lost !== undefined) {
    const { count, erasureCount, first, firstAt, last, lastAt, revokedKeyCount } = lost
    const range = `${countText(first)} to ${countText(last)}`
    lines.push(
      `${amountOf(count, "record")}${project === undefined ? "" : " of the project"} will be lost: ${range}, from ${isoTime(firstAt)} to ${isoTime(lastAt)}.`,
    )
    if (erasureCount > 0) {
      lines.push(
        `${amountOf(erasureCount, "erasure")} of users will be undone: erase these users again (--json names them).`,
      )
    }
    if (revokedKeyCount > 0) {
      lines.push(
        `${amountOf(revokedKeyCount, "revocation")} of keys will be undone: revoke these keys again (--json names them).`,
      )
    }
  } else if (unknown === undefined) lines.push("No record of the journal will be lost.")
  if (unknown !== undefined) lines.push(unknown)
  lines.push("The current snapshot and journal will be kept beside the restored ones.")
  return lines
}

const restoredWords = (
  users: number,
  sequence: number,
  replaced: string | undefined,
  project?: RestorePlan["project"],
): string =>
  [
    project === undefined
      ? `Restored: ${amountOf(users, "user")}, up to record ${countText(sequence)}.`
      : `Restored: ${project.name} as of record ${countText(project.after)}. In total: ${amountOf(users, "user")}, up to record ${countText(sequence)}.`,
    replaced === undefined ? "No data was replaced." : `The replaced data is in ${replaced}.`,
  ].join("\n")

const tellKeys = (keys: KeyComparison): Effect.Effect<void> =>
  Console.error(comparisonWords(keys).join("\n"))

export const restoreSnapshot = Command.make(
  "restore",
  { id, toSequence, toTime, project, yes, json },
  Effect.fnUntraced(
    function* ({ json, yes, ...given }) {
      const target = yield* targetOf(given)
      const config = yield* loadConfig
      const id = Option.getOrUndefined(given.id)
      if (id?.startsWith("replaced-")) {
        const back = yield* Effect.scoped(takeBack(config.dataDirectory, id, yes))
        yield* tellCluster(config)
        const { counts, sequence, sums } = back.findings
        const replaced = back.replaced ?? null
        const returnedKeys = back.keys
        if (json) {
          const all = { sequence, replaced, returnedKeys, counts, sums }
          return yield* Console.log(JSON.stringify(all))
        }
        yield* Console.log(restoredWords(counts.users ?? 0, sequence, back.replaced))
        return yield* tellKeys(returnedKeys)
      }
      const name = Option.getOrUndefined(given.project)
      const restored = yield* Effect.scoped(restore(config, id, target, name, yes))
      const { findings, keys, plan, replaced } = restored
      yield* tellCluster(config)
      if (json) {
        const { archive, at, lost, project, sequence, unknown } = plan
        return yield* Console.log(
          JSON.stringify({
            archive: archive.id,
            sequence,
            recordedAt: at === undefined ? null : isoTime(at),
            project: project === undefined ? null : { name: project.name, sequence: project.after },
            replaced: replaced ?? null,
            lost:
              lost === undefined
                ? null
                : { ...lost, firstAt: isoTime(lost.firstAt), lastAt: isoTime(lost.lastAt) },
            unknown: unknown ?? null,
            returnedKeys: keys ?? null,
            counts: findings.counts,
            sums: findings.sums,
          }),
        )
      }
      const { project, sequence } = plan
      yield* Console.log(restoredWords(findings.counts.users ?? 0, sequence, replaced, project))
      if (keys !== undefined) yield* tellKeys(keys)
    },
    (effect) => Effect.provide(effect, loggingLayer()),
  ),
).pipe(
  Command.withDescription(
    "Restore an archive, or any later moment that the journal covers, while no server runs. The replaced data is kept, and its name printed",
  ),
  Command.withExamples([
    {
      command: "laurel snapshots restore --to-time 2026-11-21T10:00:00Z",
      description: "Everything as of 10:00 UTC",
    },
    {
      command: "laurel snapshots restore --project shop --to-time 2026-11-21T10:00:00Z",
      description: "One project as of 10:00 UTC; other projects stay unchanged",
    },
    {
      command: "laurel snapshots restore --to-sequence last",
      description: "Rebuild the snapshot from an archive and the journal, without loss",
    },
  ]),
)
