/**
 * Estimates in a thread of its own how many guesses a password withstands, by dictionaries of
 * passwords and words, keyboard patterns, dates, repetitions and sequences. The time grows with the
 * square of the length, so only the first characters are estimated. The whole password withstands
 * at least as many guesses.
 */
import { parentPort } from "node:worker_threads"
import { ZxcvbnFactory } from "@zxcvbn-ts/core"
import { adjacencyGraphs, dictionary } from "@zxcvbn-ts/language-common"
import { limits } from "../../Limits.ts"
import type { NumberedCheck, NumberedOutcome } from "../CheckThread.ts"
import type { PasswordEstimate } from "./Passwords.ts"

const estimator = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs })

parentPort!.on("message", ({ check, number }: NumberedCheck<PasswordEstimate>) => {
  const start = [...check.password].slice(0, limits.passwordEstimatedCharactersMax).join("")
  const outcome = estimator.check(start, [...check.about]).guessesLog10
  parentPort!.postMessage({ number, outcome } satisfies NumberedOutcome<number>)
})
