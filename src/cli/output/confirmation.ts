import { Effect } from "effect"
import { Prompt } from "effect/cli"
import { commandFailed, exitCodes } from "./ExitCode.ts"

/** Asks at the terminal for a confirmation; fails without a terminal, and if the answer is no. */
export const confirmation = Effect.gen(function* () {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    return yield* commandFailed(
      exitCodes.usage,
      "No terminal for the confirmation: use --yes. Nothing was changed.",
    )
  }
  const sure = yield* Prompt.Confirm({ message: "Continue?", initial: false }).pipe(
    Effect.catch(() => Effect.succeed(false)),
  )
  if (!sure) return yield* commandFailed(exitCodes.refused, "Nothing was changed.")
})
