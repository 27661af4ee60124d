/**
 * Estimates in a thread of its own how many guesses a password withstands, by dictionaries of
 * passwords and words, keyboard patterns, dates, repetitions and sequences. The time grows with the
 * square of the length, so only the first characters are estimated. The whole password withstands
 * at least as many guesses.
 */
import { ZxcvbnFactory } from "@zxcvbn-ts/core"
import { adjacencyGraphs, dictionary } from "@zxcvbn-ts/language-common"
import { limits } from "../../Limits.ts"
import { answerQuestions } from "../../storage/Channel.ts"
import type { PasswordEstimate } from "./Passwords.ts"

const estimator = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs })

answerQuestions<PasswordEstimate, number>(({ about, password }) => {
  const start = [...password].slice(0, limits.passwordEstimatedCharactersMax).join("")
  return estimator.check(start, [...about]).guessesLog10
})
