/** The command line: its commands, and how a command ends the process. */

import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, ConfigProvider, Effect, Exit, Runtime } from "effect"
import { CliConfig, type CliError, CliOutput, Command, GlobalFlag } from "effect/cli"
import { version } from "../Build.ts"
import { describeSettings } from "../config/Config.ts"
import { accounts } from "./commands/accounts.ts"
import { cluster } from "./commands/cluster.ts"
import { definitions } from "./commands/definitions.ts"
import { demo } from "./commands/demo.ts"
import { importData } from "./commands/import.ts"
import { init } from "./commands/init.ts"
import { keys } from "./commands/keys.ts"
import { limits } from "./commands/limits.ts"
import { listen } from "./commands/listen.ts"
import { mcp } from "./commands/mcp.ts"
import { projects } from "./commands/projects.ts"
import { snapshots } from "./commands/snapshots.ts"
import { sync } from "./commands/sync.ts"
import { exportTables } from "./commands/warehouse.ts"
import { CommandFailed, exitCodes } from "./output/ExitCode.ts"

/* `laurel serve` */

// The other commands start sooner without it.
const runServer = Effect.flatMap(
  Effect.promise(() => import("./process/Server.ts")),
  (server) => server.runServer,
)

export const serve = Command.make("serve", {}, () => runServer).pipe(
  Command.withShortDescription("Run the server until SIGTERM or SIGINT"),
  Command.withDescription(
    `Run the server until SIGTERM or SIGINT. Settings are environment variables, here with their defaults:\n\n${describeSettings()}`,
  ),
)

const laurel = Command.make("laurel", {}, () => runServer).pipe(
  Command.withDescription(
    "A gamification back end that you run yourself. Without a command: serve",
  ),
  Command.withSubcommands([
    serve,
    importData,
    init,
    accounts,
    projects,
    keys,
    definitions,
    listen,
    mcp,
    snapshots,
    exportTables,
    sync,
    cluster,
    limits,
    demo,
  ]),
)

/** Prints help unchanged, and usage errors without the help. */
const presenter: CliOutput.Presenter = {
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Effect.sync(() => {
          for (const { message } of event.errors) console.error(`laurel: ${message}`)
          console.error(`laurel: see ${event.commandPath.join(" ")} --help`)
        })
      : CliOutput.defaultPresenter.present(event),
}

const program = (args: ReadonlyArray<string>) =>
  Command.runWith(laurel, { version })(args).pipe(
    Effect.provide([
      NodeServices.layer,
      // Reads the present environment: tests run several commands in one process.
      ConfigProvider.layer(Effect.sync(() => ConfigProvider.fromEnv())),
      CliOutput.layerPresenter(presenter),
      CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] }),
    ]),
  )

type Failure = CommandFailed | CliError.CliError

/** The exit code; prints errors to standard error. */
const report = (exit: Exit.Exit<void, Failure>): number => {
  if (Exit.isSuccess(exit)) return exitCodes.done
  const error = Cause.squash(exit.cause)
  if (error instanceof CommandFailed) {
    for (const line of error.lines) console.error(`laurel: ${line}`)
    return error.exitCode
  }
  const tag = (error as { readonly _tag?: unknown } | null)?._tag
  if (tag === "ShowHelp") {
    // Requested help, or wrong arguments. The presenter has printed it.
    return (error as CliError.ShowHelp).errors.length === 0 ? exitCodes.done : exitCodes.usage
  }
  console.error(`laurel: a defect, please report it:\n${Cause.pretty(exit.cause)}`)
  return exitCodes.defect
}

/** Runs a command within this process; ends with its exit code. */
export const exitCodeOf = (args: ReadonlyArray<string>): Effect.Effect<number> =>
  Effect.map(Effect.exit(program(args)), report)

const runMain = Runtime.makeRunMain(({ fiber, teardown }) => {
  fiber.addObserver((exit) => teardown(exit, (code) => process.exit(code)))
})

const ownerOnly = 0o077

/**
 * Runs a command and ends the process. Only their owner can read the files that a command creates.
 * If the reader of the output ends, as `head` does, neither a server nor a command that changes
 * data ends: the rest of the output is lost.
 */
export const runCommandLine = (args: ReadonlyArray<string>): void => {
  process.umask(ownerOnly)
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
  runMain(program(args), {
    disableErrorReporting: true,
    teardown: (exit, onExit) => onExit(report(exit as Exit.Exit<void, Failure>)),
  })
}
