/**
 * The formats of ids. Callers' ids are compared code point by code point, without Unicode
 * normalisation or case folding. Laurel's own ids have a prefix for their kind (`evt_`, `qst_`…).
 */
import { limits } from "../../Limits.ts"

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/

/** The number of characters (code points) in a text; an emoji counts as one. */
export const characterCount = (text: string): number => {
  let count = 0
  for (const _ of text) count++
  return count
}

/**
 * The fault of `text` as an id that a caller chose, or `undefined`: a name that can be a segment of
 * a URL's path. Parsers of URLs resolve the segments `.` and `..`, also with their dots
 * percent-encoded, and change no other one.
 */
export const callerIdFault = (text: string): string | undefined =>
  text === "." || text === ".."
    ? "must not be . or .., which URLs cannot hold"
    : nameFault(text, limits.idCharactersMax)

/**
 * The fault of `text` as a name, or `undefined`: 1 to `charactersMax` characters, no control
 * characters, well-formed Unicode.
 */
export const nameFault = (text: string, charactersMax: number): string | undefined => {
  if (text.length === 0) return "must not be empty"
  if (
    text.length > charactersMax &&
    (text.length > 2 * charactersMax || characterCount(text) > charactersMax)
  ) {
    return `must have at most ${charactersMax} characters`
  }
  if (controlCharacter.test(text)) return "must not contain control characters"
  if (!text.isWellFormed()) return "must be well-formed Unicode"
  return undefined
}

/** Orders texts by code points, as their UTF-8 sorts byte by byte; below 0: `one` comes first. */
export const compareCodePoints = (one: string, other: string): number => {
  const length = Math.min(one.length, other.length)
  for (let index = 0; index < length; index++) {
    const unit = one.charCodeAt(index)
    const otherUnit = other.charCodeAt(index)
    if (unit !== otherUnit) return rankOfUnit(unit) - rankOfUnit(otherUnit)
  }
  return one.length - other.length
}

/** Surrogates encode code points above U+FFFF. */
const rankOfUnit = (unit: number): number =>
  unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit

export const actionPattern = /^[A-Z][A-Z0-9_]{0,63}$/

/** The action that claims a quest's reward; rules match every other action. */
export const questCompleteAction = "QUEST_COMPLETE"

/** The prefixes of Laurel's own ids. No key of a definition begins with one (`DefinitionKey.ts`). */
export const idPrefixes = [
  "evt",
  "rwd",
  "spd",
  "msg",
  "dlv",
  "qst",
  "rul",
  "bdg",
  "bst",
  "cur",
  "seg",
  "mtr",
  "stk",
  "ldb",
  "exp",
  "lga",
  "itm",
  "gol",
  "src",
  "pur",
  "whk",
  "prj",
  "key",
  "acc",
  "ses",
  "inv",
] as const
export type IdPrefix = (typeof idPrefixes)[number]

/** The part of a record that its id names. */
export interface RecordName {
  readonly sequence: number
  /** Epoch milliseconds. */
  readonly at: number
}

const timeDigits = 9

/** Kinds of ids derived from a record. */
type RecordPrefix = "evt" | "rwd" | "spd" | "pur" | "msg" | "dlv"

/**
 * Laurel's id of the event, reward, spend or purchase of a record, such as `evt_0mi8k3f2a4c92`: time and
 * sequence of the record in base 36, so no index is needed to find it. The time distinguishes
 * records whose sequence was used twice, before and after a restore to an earlier point.
 */
export const recordId = (prefix: RecordPrefix, record: RecordName): string =>
  [prefix, recordDigits(record)].join("_")

/**
 * The common part of a record's ids. Joined, not concatenated: `JSON.stringify` leaves its fast
 * path for a value that contains a V8 rope or sliced string.
 */
export const recordDigits = ({ at, sequence }: RecordName): string => {
  if (at !== latestAt) {
    latestAt = at
    latestAtDigits = at.toString(36).padStart(timeDigits, "0")
  } else if (sequence === latestSequence) return latestDigits
  latestSequence = sequence
  latestDigits = [latestAtDigits, sequence.toString(36)].join("")
  return latestDigits
}

// A cache of the last answer: records of one batch have nearly the same time.
let latestAt = 0
let latestAtDigits = "0".repeat(timeDigits)
let latestSequence = 0
let latestDigits = `${latestAtDigits}0`

/** The prefix of Laurel's ids of what can be revoked. */
export const revocablePrefix = {
  event: "evt",
  reward: "rwd",
  spend: "spd",
  purchase: "pur",
} as const

/** The record that an id made by `recordId` names; `undefined` for any other text. */
export const recordNameOf = (prefix: RecordPrefix, id: string): RecordName | undefined => {
  const digits = id.slice(prefix.length + 1)
  if (!id.startsWith(`${prefix}_`) || !/^[0-9a-z]{10,20}$/.test(digits)) return undefined
  const name = {
    at: Number.parseInt(digits.slice(0, timeDigits), 36),
    sequence: Number.parseInt(digits.slice(timeDigits), 36),
  }
  return Number.isSafeInteger(name.sequence) && recordId(prefix, name) === id ? name : undefined
}
