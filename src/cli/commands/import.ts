/** `laurel import csv`: users or events of another system, from a CSV file. */
import { readFile } from "node:fs/promises"
import { Console, Effect, Redacted, Result } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { createLaurel } from "../../client/index.ts"
import { LaurelError } from "../../client/LaurelError.ts"
import type { BadRow } from "../import/CsvImport.ts"
import { CommandFailed, commandFailed, exitCodes } from "../output/ExitCode.ts"
import { amountOf } from "../output/Table.ts"
import { serverFlags } from "../process/ApiClient.ts"

const file = Argument.String("file").pipe(
  Argument.withDescription("The CSV file; its first line names the columns"),
)

const map = Flag.String("map").pipe(
  Flag.withMetavar("FILE"),
  Flag.withDescription("JSON file that says which column is what"),
)

const dryRun = Flag.Boolean("dry-run").pipe(
  Flag.withDescription("Only check the map and the file, and send nothing"),
  Flag.withDefault(false),
)

const from = Flag.Int("from").pipe(
  Flag.withMetavar("LINE"),
  Flag.withDescription("Send only the rows from this line on. Default: all"),
  Flag.withDefault(1),
)

interface Options {
  readonly file: string
  readonly map: string
  readonly dryRun: boolean
  readonly from: number
  readonly url: string
  readonly key: string
}

const printRows = (rows: ReadonlyArray<BadRow>): void => {
  for (const { faults, line } of rows) {
    for (const { detail, pointer } of faults) {
      console.error(`line ${line}: ${pointer === "" ? "" : `${pointer} `}${detail}`)
    }
  }
}

// The library of CSV and the schemas of the API are loaded by this command alone.
const load = async () => {
  const [imports, maps] = await Promise.all([
    import("../import/CsvImport.ts"),
    import("../import/CsvMap.ts"),
  ])
  return { ...imports, ...maps }
}

const failureOf = ({ message, status }: LaurelError, hint?: string): CommandFailed => {
  const code = status === 0 || status >= 500 ? "unavailable" : "refused"
  return hint === undefined
    ? commandFailed(exitCodes[code], message)
    : commandFailed(exitCodes[code], message, hint)
}

const run = async ({ dryRun, file, from, key, map, url }: Options): Promise<void> => {
  const { CsvImport, definedAt, mapOf, unknownIn } = await load()
  const decoded = mapOf(await readFile(map, "utf8"))
  if (Result.isFailure(decoded)) {
    throw commandFailed(exitCodes.refused, `The map ${map} is faulty.`, decoded.failure)
  }
  const laurel = createLaurel({ url, key, retries: 10, timeoutMs: 120_000 })
  const csv = new CsvImport(file, decoded.success)
  const unknown = unknownIn(decoded.success, await definedAt(laurel))
  if (unknown.length > 0) {
    throw commandFailed(exitCodes.refused, `The map ${map} is faulty.`, unknown.join("\n"))
  }
  const { bad, rows } = await csv.check()
  printRows(bad)
  if (bad.length > 0) {
    const words = `${amountOf(bad.length, "faulty row")} of ${rows}: nothing was sent.`
    throw commandFailed(exitCodes.refused, words)
  }
  if (dryRun) {
    console.log(`${amountOf(rows, "row")} without a fault. Nothing was sent.`)
    return
  }
  let done = from - 1
  try {
    const { accepted, duplicates, refused } = await csv.send(laurel, from, (line) => {
      done = line
      console.error(`Sent up to line ${line}.`)
    })
    printRows(refused)
    console.log(
      `${accepted} imported, ${duplicates} there before, ${refused.length} refused by the server.`,
    )
    if (refused.length > 0) throw commandFailed(exitCodes.refused, "Not all rows were imported.")
  } catch (error) {
    if (!(error instanceof LaurelError)) throw error
    const again = `Rows up to line ${done} were sent. The same command goes on, and sends nothing twice; --from ${done + 1} skips them.`
    throw failureOf(error, again)
  }
}

const csv = Command.make(
  "csv",
  { file, map, dryRun, from, ...serverFlags },
  Effect.fnUntraced(function* ({ key, ...given }) {
    yield* Console.error(`Server: ${given.url}`)
    yield* Effect.tryPromise({
      try: () => run({ ...given, key: Redacted.value(key) }),
      catch: (error) => {
        if (error instanceof CommandFailed) return error
        if (error instanceof LaurelError) return failureOf(error)
        const { code, message } = error as NodeJS.ErrnoException
        const isRefusal =
          (error as Error).name === "BadFile" || code === "ENOENT" || code === "EACCES"
        return commandFailed(isRefusal ? exitCodes.refused : exitCodes.defect, message)
      },
    })
  }),
).pipe(
  Command.withShortDescription("Import opening balances or events from a CSV file"),
  Command.withDescription(
    "Import opening balances or past events from a CSV file into the environment of the key. A map, a JSON file, says which column is what. The whole file is checked first: if a row is faulty, every fault is printed with its line, and nothing is sent. The command can be repeated after a failure: nothing is imported twice.",
  ),
  Command.withExamples([
    {
      command: "laurel import csv users.csv --map users.json --dry-run",
      description: "Check a file",
    },
  ]),
)

export const importData = Command.make("import").pipe(
  Command.withShortDescription("Bring users and events from another system"),
  Command.withDescription("Bring users and events from another system."),
  Command.withSubcommands([csv]),
)
