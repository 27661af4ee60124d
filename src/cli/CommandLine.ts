/** The command line: its commands, and how each of them ends the process. */
import { NodeServices } from "@effect/platform-node"
import { Cause, Effect, Exit, Runtime } from "effect"
import { CliConfig, type CliError, Command, GlobalFlag } from "effect/cli"
import manifest from "../../package.json" with { type: "json" }
import { demo } from "./demo.ts"
import { CommandFailed, exitCodes } from "./ExitCode.ts"
import { keys } from "./keys.ts"
import { serve } from "./serve.ts"

const laurel = Command.make("laurel").pipe(
  Command.withDescription("A gamification back end that people run themselves"),
  Command.withSubcommands([serve, keys, demo]),
)

const program = (args: ReadonlyArray<string>) =>
  Command.runWith(laurel, { version: manifest.version })(args).pipe(
    Effect.provide([
      NodeServices.layer,
      CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] }),
    ]),
  )

type Failure = CommandFailed | CliError.CliError

/** The exit code; what a person has to know of it goes to the standard error stream. */
const report = (exit: Exit.Exit<void, Failure>): number => {
  if (Exit.isSuccess(exit)) return exitCodes.done
  const error = Cause.squash(exit.cause)
  if (error instanceof CommandFailed) {
    for (const line of error.lines) console.error(`laurel: ${line}`)
    return error.exitCode
  }
  const tag = (error as { readonly _tag?: unknown } | null)?._tag
  if (tag === "ShowHelp") {
    // The help was asked for, or it came with what is wrong; either is printed already.
    return (error as CliError.ShowHelp).errors.length === 0 ? exitCodes.done : exitCodes.usage
  }
  console.error(`laurel: a defect, please report it:\n${Cause.pretty(exit.cause)}`)
  return exitCodes.defect
}

const runMain = Runtime.makeRunMain(({ fiber, teardown }) => {
  fiber.addObserver((exit) => teardown(exit, (code) => process.exit(code)))
})

/** Runs a command and ends the process. */
export const runCommandLine = (args: ReadonlyArray<string>): void =>
  runMain(program(args), {
    disableErrorReporting: true,
    teardown: (exit, onExit) => onExit(report(exit as Exit.Exit<void, Failure>)),
  })
