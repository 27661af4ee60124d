/** `laurel snapshots import` */
import path from "node:path"
import { Clock, Console, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { installDraft } from "../../storage/archive/ArchiveSwap.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { amountOf, countText } from "../output/Amounts.ts"
import { commandFailed, exitCodes } from "../output/ExitCode.ts"
import { diskFailure } from "../output/JobWords.ts"
import { runJob } from "../process/CommandJob.ts"
import { holdDirectory, requireNoServer, tellDirectory } from "../process/DataDirectory.ts"
import { loadConfig } from "../process/LoadConfig.ts"
import { loggingLayer } from "../process/Logging.ts"
import { onePartition, partitionFlag } from "./partitionFlag.ts"
import { json } from "./SnapshotFlags.ts"

const file = Argument.String("FILE").pipe(
  Argument.withDescription("File written by `laurel snapshots export`"),
)

const importInto = Effect.fnUntraced(function* (directory: string, file: string) {
  yield* Effect.mapError(nodeDisk.makeFolder(directory), diskFailure)
  yield* holdDirectory(directory)
  const names = yield* Effect.mapError(nodeDisk.list(directory), diskFailure)
  if (names.includes("journal") || names.includes("live")) {
    return yield* commandFailed(
      exitCodes.refused,
      `${directory} already has data. An import creates a new data directory: set LAUREL_DATA_DIR to an empty or new folder.`,
    )
  }
  const findings = yield* runJob("import", { directory, file })
  const at = yield* Clock.currentTimeMillis
  yield* Effect.mapError(installDraft(nodeDisk, directory, at), diskFailure)
  return findings
})

export const importSnapshot = Command.make(
  "import",
  {
    file,
    json,
    partition: partitionFlag("create the data directory of this partition"),
  },
  Effect.fnUntraced(
    function* ({ file, json, partition }) {
      const config = yield* onePartition(yield* loadConfig, partition)
      yield* requireNoServer(config)
      yield* tellDirectory(config.dataDirectory)
      const imported = yield* Effect.scoped(importInto(config.dataDirectory, path.resolve(file)))
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
