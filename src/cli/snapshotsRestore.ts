/**
 * `laurel snapshots restore`. It holds the directory's lock from before it looks until it is done. What is to be
 * there is made and checked beside what is there; only then the two are swapped (`ArchiveSwap`), so that an end
 * at any moment leaves either, and whoever opens the directory next settles which.
 */
import path from "node:path"
import { Clock, Console, Effect, Option } from "effect"
import { Argument, Command, Flag, Prompt } from "effect/cli"
import type { Config } from "../Config.ts"
import { planRestore, type RestorePlan, type RestoreTarget } from "../engine/archive/RestorePlan.ts"
import { makeWorkerHost } from "../engine/archive/WorkerHost.ts"
import { parseIsoTime } from "../http/api/IsoTime.ts"
import { installDraft, replacedIn } from "../storage/ArchiveSwap.ts"
import { nodeDisk } from "../storage/NodeDisk.ts"
import { amountOf, countText, timeText } from "./Amounts.ts"
import { archivesOf, holdDirectory } from "./DataDirectory.ts"
import { commandFailed, exitCodes } from "./ExitCode.ts"
import { diskFailure, jobFailure, withProgressBar } from "./JobWords.ts"
import { loadConfig } from "./LoadConfig.ts"
import { loggingLayer } from "./Logging.ts"
import { json } from "./SnapshotFlags.ts"

const id = Argument.String("ID").pipe(
  Argument.withDescription(
    "The archive to begin with, as `laurel snapshots list` shows it; with --to-sequence or --to-time by default the newest that leads there. Or what a restore has replaced, by its name `replaced-…`",
  ),
  Argument.optional,
)

const toSequence = Flag.String("to-sequence").pipe(
  Flag.withMetavar("N|last"),
  Flag.withDescription(
    "Add what the journal has after the archive, up to record N, or up to its last",
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
    "Add what the journal has after the archive, up to the last record of this time, such as 2026-11-21T10:00:00Z",
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
  Flag.withDescription("Do not ask"),
  Flag.withDefault(false),
)

const project = Flag.String("project").pipe(
  Flag.withMetavar("NAME"),
  Flag.withDescription("Not possible: all projects go back together"),
  Flag.optional,
)

/** What the options say; fails when they do not go together. */
const targetOf = (given: {
  readonly id: Option.Option<string>
  readonly project: Option.Option<string>
  readonly toSequence: Option.Option<RestoreTarget>
  readonly toTime: Option.Option<RestoreTarget>
}) =>
  Effect.suspend(() => {
    const faults: Array<string> = []
    if (Option.isSome(given.toSequence) && Option.isSome(given.toTime)) {
      faults.push("--to-sequence and --to-time do not go together.")
    }
    if (Option.isSome(given.project)) {
      faults.push(
        "--project is not possible: the records of all projects are one journal, and one project can not go back without the others.",
      )
    }
    const isReplaced = Option.exists(given.id, (id) => id.startsWith("replaced-"))
    if (isReplaced && (Option.isSome(given.toSequence) || Option.isSome(given.toTime))) {
      faults.push("What was replaced is put back as it is: without --to-sequence and --to-time.")
    }
    const target = Option.orElse(given.toSequence, () => given.toTime)
    if (Option.isNone(given.id) && Option.isNone(target)) {
      faults.push("Name an archive, or say how far to go back with --to-sequence or --to-time.")
    }
    return faults.length > 0
      ? Effect.fail(commandFailed(exitCodes.usage, ...faults))
      : Effect.succeed(Option.getOrElse(target, (): RestoreTarget => ({ kind: "archive" })))
  })

const restore = Effect.fnUntraced(function* (
  config: Config,
  id: string | undefined,
  target: RestoreTarget,
  yes: boolean,
) {
  const directory = config.dataDirectory
  yield* Effect.mapError(nodeDisk.makeFolder(directory), diskFailure)
  yield* holdDirectory(directory)
  const archives = yield* archivesOf(config)
  const journal = path.join(directory, "journal")
  const plan = yield* withProgressBar((progress) =>
    planRestore({ disk: nodeDisk, journal, archives, id, target, progress }),
  ).pipe(
    Effect.mapError((error) =>
      error._tag === "JobFailed" ? jobFailure(error) : diskFailure(error),
    ),
  )
  for (const line of planWords(plan)) yield* Console.error(line)
  if (!yes) yield* ask
  const findings = yield* withProgressBar((progress) =>
    Effect.scoped(
      Effect.gen(function* () {
        const host = yield* makeWorkerHost({ background: false })
        const wish = { directory, archive: plan.folder, until: plan.sequence }
        return yield* host.run("restore", wish, { progress })
      }),
    ),
  ).pipe(Effect.mapError(jobFailure))
  const at = yield* Clock.currentTimeMillis
  const replaced = yield* Effect.mapError(installDraft(nodeDisk, directory, at), diskFailure)
  return { findings, plan, replaced }
})

/** Puts back what an earlier restore has replaced, once it is checked. */
const takeBack = Effect.fnUntraced(function* (directory: string, name: string, yes: boolean) {
  yield* holdDirectory(directory)
  const names = yield* Effect.mapError(replacedIn(nodeDisk, directory), diskFailure)
  if (!names.includes(name)) {
    return yield* commandFailed(exitCodes.refused, `There is no ${name} in ${directory}.`)
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
    `What was replaced goes up to record ${countText(findings.sequence)}, and has passed its check.`,
  )
  yield* Console.error("What is there now will be kept beside it.")
  if (!yes) yield* ask
  const at = yield* Clock.currentTimeMillis
  const replaced = yield* Effect.mapError(installDraft(nodeDisk, directory, at, name), diskFailure)
  return { findings, replaced }
})

/** Asks at the terminal; fails where there is none, and where the answer is no. */
const ask = Effect.gen(function* () {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    return yield* commandFailed(
      exitCodes.usage,
      "Without a terminal to ask at, say --yes. Nothing was changed.",
    )
  }
  const sure = yield* Prompt.Confirm({ message: "Go on?", initial: false }).pipe(
    Effect.catch(() => Effect.succeed(false)),
  )
  if (!sure) return yield* commandFailed(exitCodes.refused, "Nothing was changed.")
})

/** What is about to happen, and what will be lost, a line each. */
const planWords = ({
  archive,
  at,
  lost,
  sequence,
  unknown,
}: RestorePlan): ReadonlyArray<string> => {
  const when = at === undefined ? "" : ` of ${timeText(at)}`
  const added = sequence - archive.sequence
  const lines = [
    `Archive ${archive.id} goes up to record ${countText(archive.sequence)}; the journal adds ${amountOf(added, "record")}.`,
    `The last record will be ${countText(sequence)}${when}.`,
  ]
  if (lost !== undefined) {
    const { erasureCount, first, firstAt, last, lastAt, revokedKeyCount } = lost
    const range = `${countText(first)} to ${countText(last)}`
    lines.push(
      `${amountOf(last - first + 1, "record")} will not be there any more: ${range}, from ${timeText(firstAt)} to ${timeText(lastAt)}.`,
    )
    if (erasureCount > 0) {
      lines.push(
        `${amountOf(erasureCount, "erasure")} of users in that time will be undone: the users will be there again: erase them anew (--json names them).`,
      )
    }
    if (revokedKeyCount > 0) {
      lines.push(
        `${amountOf(revokedKeyCount, "revocation")} of keys in that time will be undone: the keys will be in force again (--json names them).`,
      )
    }
  } else if (unknown === undefined) lines.push("No record of the journal will be lost.")
  if (unknown !== undefined) lines.push(unknown)
  lines.push("Snapshot and journal as they are now will be kept beside the restored ones.")
  return lines
}

const restoredWords = (users: number, sequence: number, replaced: string | undefined): string =>
  [
    `Restored: ${amountOf(users, "user")}, up to record ${countText(sequence)}.`,
    replaced === undefined
      ? "There was nothing to replace."
      : `What was there before is in ${replaced}.`,
  ].join("\n")

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
        const { counts, sequence, sums } = back.findings
        const replaced = back.replaced ?? null
        if (json) return yield* Console.log(JSON.stringify({ sequence, replaced, counts, sums }))
        return yield* Console.log(restoredWords(counts.users ?? 0, sequence, back.replaced))
      }
      const restored = yield* Effect.scoped(restore(config, id, target, yes))
      const { findings, plan, replaced } = restored
      if (json) {
        const { archive, at, lost, sequence, unknown } = plan
        return yield* Console.log(
          JSON.stringify({
            archive: archive.id,
            sequence,
            recordedAt: at === undefined ? null : timeText(at),
            replaced: replaced ?? null,
            lost:
              lost === undefined
                ? null
                : { ...lost, firstAt: timeText(lost.firstAt), lastAt: timeText(lost.lastAt) },
            unknown: unknown ?? null,
            counts: findings.counts,
            sums: findings.sums,
          }),
        )
      }
      yield* Console.log(restoredWords(findings.counts.users ?? 0, plan.sequence, replaced))
    },
    (effect) => Effect.provide(effect, loggingLayer()),
  ),
).pipe(
  Command.withDescription(
    "Go back to an archive, or to any moment after it that the journal knows, while no server runs. What is replaced is kept, and its name printed",
  ),
  Command.withExamples([
    {
      command: "laurel snapshots restore --to-time 2026-11-21T10:00:00Z",
      description: "Everything as it was at 10:00 UTC",
    },
    {
      command: "laurel snapshots restore --to-sequence last",
      description: "The snapshot anew from an archive and the journal; nothing is lost",
    },
  ]),
)
