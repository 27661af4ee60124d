/** Reads parts of the bytes of a user's state (`UserCodec.ts`) without a decode of the whole. */
import { type DaysRead, skipActivity } from "./ActivityBytes.ts"
import { inlineName } from "./Names.ts"
import { Reader } from "./StateBytes.ts"
import {
  activityFlag,
  allTimeSlot,
  hiddenFlag,
  parts,
  remindedFlag,
  stateFlags,
  tags,
  unlistedFlag,
} from "./UserCodec.ts"

const reader = new Reader()

/** The numbers of a state that a start needs. */
export class UserHead {
  sequence = 0
  xp = 0
  scoreSequence = 0
  due = 0
  /** Epoch milliseconds; `lastEventAt` 0: the user had no event. */
  createdAt = 0
  lastEventAt = 0
  hidden = false
  /** Disqualified on the board xp. */
  unlisted = false
  displayName: string | null = null
  /** How many windows there are, and of each its place (`slot`), index, xp and sequence. */
  windows = 0
  readonly slots: Array<number> = []
  readonly indexes: Array<number> = []
  readonly scores: Array<number> = []
  readonly sequences: Array<number> = []

  /**
   * Reads the state in `bytes` from `at` to `end`, up to the display name, or only to the profile that
   * has it.
   */
  read(bytes: Buffer, at: number, end: number, withName = true): void {
    reader.begin(bytes, at, end)
    const set = reader.flags(stateFlags)
    this.hidden = (set & hiddenFlag) !== 0
    this.unlisted = (set & unlistedFlag) !== 0
    this.sequence = reader.number()
    this.due = reader.number()
    this.createdAt = reader.number()
    const updatedAt = this.createdAt + reader.number()
    const sinceEvent = reader.number()
    this.lastEventAt = sinceEvent === 0 ? 0 : updatedAt + 1 - sinceEvent
    if ((set & activityFlag) !== 0) skipActivity(reader)
    if ((set & remindedFlag) !== 0) reader.number()
    this.xp = 0
    this.scoreSequence = 0
    this.windows = 0
    this.displayName = null
    if (reader.at < end && bytes[reader.at] === tags.scores) this.#readScores()
    if (withName && reader.at < end && bytes[reader.at] === tags.profile) {
      reader.at++
      if (reader.count() > 0 && reader.byte() === parts.displayName) {
        this.displayName = reader.text()
      }
    }
  }

  #readScores(): void {
    reader.at++
    for (let left = reader.count(); left > 0; left--) {
      const slot = reader.byte()
      const index = reader.number()
      const score = reader.number()
      const sequence = reader.number()
      if (slot === allTimeSlot) {
        this.xp = score
        this.scoreSequence = sequence
        continue
      }
      const n = this.windows++
      this.slots[n] = slot - 1
      this.indexes[n] = index
      this.scores[n] = score
      this.sequences[n] = sequence
    }
  }
}

const skipName = (reader: Reader): void => {
  if (reader.number() === inlineName) reader.text()
}

/** The sequence of the last record in the state in `bytes` from `at` to `end`. */
export const sequenceOf = (bytes: Buffer, at: number, end: number): number => {
  reader.begin(bytes, at, end)
  reader.byte()
  return reader.number()
}

/** Reads the active days in the state in `bytes` from `at` to `end`; returns whether it has any. */
export const readDays = (days: DaysRead, bytes: Buffer, at: number, end: number): boolean => {
  reader.begin(bytes, at, end)
  if ((reader.flags(stateFlags) & activityFlag) === 0) return false
  for (let left = 5; left > 0; left--) reader.number()
  days.read(reader)
  return true
}

/**
 * The value of an attribute in the state in `bytes` from `at` to `end`, as text; `undefined`: it has
 * none.
 */
export const attributeOf = (
  bytes: Buffer,
  at: number,
  end: number,
  name: string,
): string | undefined => {
  named.read(bytes, at, end, false)
  if (reader.at >= end || bytes[reader.at] !== tags.profile) return undefined
  reader.at++
  for (let left = reader.count(); left > 0; left--) {
    const part = reader.byte()
    if (part === parts.timezone) {
      skipName(reader)
      continue
    }
    const text = reader.text()
    if (part === parts.displayName) continue
    const value =
      part === parts.text ? reader.text() : part === parts.number ? String(reader.number()) : part
    if (text === name) return typeof value === "string" ? value : String(part === parts.yes)
  }
  return undefined
}

const named = new UserHead()
