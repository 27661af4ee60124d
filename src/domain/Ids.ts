/**
 * The shapes of the ids that callers choose. Ids are compared character by character: no Unicode
 * normalisation, no case folding. Ids that Laurel makes carry a prefix that tells their kind (`evt_`, `qst_`…).
 */
import { limits } from "../Limits.ts"

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/

/** The number of characters (code points) in a text; an emoji counts as one. */
export const characterCount = (text: string): number => {
  let count = 0
  for (const _ of text) count++
  return count
}

/** What is wrong with `text` as an id of a caller's (1–128 characters, no control characters, well-formed), or `undefined`. */
export const callerIdFault = (text: string): string | undefined => {
  if (text.length === 0) return "must not be empty"
  if (
    text.length > limits.idCharactersMax &&
    (text.length > 2 * limits.idCharactersMax || characterCount(text) > limits.idCharactersMax)
  ) {
    return `must have at most ${limits.idCharactersMax} characters`
  }
  if (controlCharacter.test(text)) return "must not contain control characters"
  if (!text.isWellFormed()) return "must be well-formed Unicode"
  return undefined
}

export const actionPattern = /^[A-Z][A-Z0-9_]{0,63}$/

/** The action that asks for a quest's reward; every other action is left to the rules. */
export const questCompleteAction = "QUEST_COMPLETE"

export type IdPrefix = "evt" | "rwd" | "qst" | "rul" | "whk" | "prj" | "key" | "req"
