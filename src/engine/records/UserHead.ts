/** Reads parts of the bytes of a user's state (`UserCodec.ts`) without a decode of the whole. */
import { type DaysRead, skipActivity } from "./ActivityBytes.ts"
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

  /** Reads the state in `bytes` from `at` to `end`, up to the display name. */
  read(bytes: Buffer, at: number, end: number): void {
    reader.begin(bytes, at, end)
    const set = reader.flags(stateFlags)
    this.hidden = (set & hiddenFlag) !== 0
    this.unlisted = (set & unlistedFlag) !== 0
    this.sequence = reader.number()
    this.due = reader.number()
    for (let left = 3; left > 0; left--) reader.number()
    if ((set & activityFlag) !== 0) skipActivity(reader)
    if ((set & remindedFlag) !== 0) reader.number()
    this.xp = 0
    this.scoreSequence = 0
    this.windows = 0
    this.displayName = null
    if (reader.at < end && bytes[reader.at] === tags.scores) this.#readScores()
    if (reader.at < end && bytes[reader.at] === tags.profile) {
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

/** The display name in the state in `bytes` from `at` to `end`; null: it has none. */
export const displayNameOf = (bytes: Buffer, at: number, end: number): string | null => {
  named.read(bytes, at, end)
  return named.displayName
}

const named = new UserHead()
