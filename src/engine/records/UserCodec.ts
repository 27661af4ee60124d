/**
 * A user's value in the snapshot. It begins with the numbers that a start needs, so that a million
 * users are ranked and listed on the agenda without the parse of a JSON text:
 *
 *     offset 0  sequence       float64, little-endian
 *            8  xp             float64
 *           16  scoreSequence  float64
 *           24  due            uint32, a second as in `Agenda.ts`
 *           28  flags          uint8; bit 0: hidden; bits 1 to 6: which windows follow
 *           29  windows        for each bit that is set, index (int32), xp and sequence (float64)
 *               the rest of the state as JSON, without parts that are empty, maps as arrays
 *
 * Bits 1 and 2 stand for the user's latest day and the day before that, 3 and 4 for weeks, 5 and 6
 * for months.
 */

import {
  emptyProfile,
  noWindows,
  type UserState,
  type WindowScores,
} from "../../domain/user/User.ts"
import { type WindowKind, windowKinds } from "../../domain/values/Calendar.ts"
import { asBuffer, dataViewOf } from "../../storage/Keys.ts"

const windowBytes = 20
const fixedBytes = 29
const hiddenFlag = 1

/** `due` is the user's due second (`Agenda.ts`). */
export const encodeUser = (user: UserState, due: number): Uint8Array => {
  const { profile, windows } = user
  const text = JSON.stringify(restOf(user))
  let flags = profile.hidden ? hiddenFlag : 0
  let headBytes = fixedBytes
  windowKinds.forEach((kind, index) => {
    const { sequence, sequenceBefore } = windows[kind]
    if (sequence > 0) flags |= 2 << (2 * index)
    if (sequenceBefore > 0) flags |= 4 << (2 * index)
    headBytes += windowBytes * (Number(sequence > 0) + Number(sequenceBefore > 0))
  })
  const bytes = Buffer.allocUnsafe(headBytes + Buffer.byteLength(text))
  bytes.writeDoubleLE(user.sequence, 0)
  bytes.writeDoubleLE(user.xp, 8)
  bytes.writeDoubleLE(user.scoreSequence, 16)
  bytes.writeUInt32LE(due, 24)
  let at = bytes.writeUInt8(flags, 28)
  const writeWindow = (index: number, xp: number, sequence: number) => {
    if (sequence === 0) return
    at = bytes.writeInt32LE(index, at)
    at = bytes.writeDoubleLE(xp, at)
    at = bytes.writeDoubleLE(sequence, at)
  }
  for (const kind of windowKinds) {
    const { index, indexBefore, sequence, sequenceBefore, xp, xpBefore } = windows[kind]
    writeWindow(index, xp, sequence)
    writeWindow(indexBefore, xpBefore, sequenceBefore)
  }
  bytes.write(text, at, "utf8")
  return bytes
}

const maps = ["badges", "badgeCounts", "badgeRecounts", "quests", "streaks", "ruleUses"] as const

/** The members that the head lacks, without empty ones. */
const restOf = (user: UserState): object => {
  const { createdAt, id, points, pointsSpent, profile, questsCompleted, updatedAt } = user
  const { attributes, displayName, timezone } = profile
  const rest: Record<string, unknown> = { id, points, questsCompleted, createdAt, updatedAt }
  if (pointsSpent > 0) rest.pointsSpent = pointsSpent
  if (profile !== emptyProfile) rest.profile = { displayName, timezone, attributes }
  if (user.pastZones.length > 0) rest.pastZones = user.pastZones
  for (const name of maps) if (user[name].size > 0) rest[name] = [...user[name]]
  return rest
}

export interface UserHead {
  readonly sequence: number
  readonly xp: number
  readonly scoreSequence: number
  readonly due: number
  readonly hidden: boolean
}

/** The numbers at the head of a user's body, which begins at `at`. */
export const decodeUserHead = (view: DataView, at = 0): UserHead => ({
  sequence: view.getFloat64(at, true),
  xp: view.getFloat64(at + 8, true),
  scoreSequence: view.getFloat64(at + 16, true),
  due: view.getUint32(at + 24, true),
  hidden: (view.getUint8(at + 28) & hiddenFlag) !== 0,
})

/** Whether there are windows at the head of a user's body, which begins at `at`. */
export const hasWindows = (view: DataView, at: number): boolean =>
  view.getUint8(at + 28) > hiddenFlag

/**
 * Calls `visit` with each window at the head of a user's body, which begins at `at`. The kind of a
 * window is `windowKinds[slot >>> 1]`; odd slots are the windows before the latest. Returns where
 * the JSON begins.
 */
export const visitWindows = (
  view: DataView,
  at: number,
  visit: (slot: number, index: number, xp: number, sequence: number) => void,
): number => {
  let next = at + fixedBytes
  for (let bits = view.getUint8(at + 28) >>> 1, slot = 0; bits > 0; bits >>>= 1, slot++) {
    if ((bits & 1) === 0) continue
    const index = view.getInt32(next, true)
    visit(slot, index, view.getFloat64(next + 4, true), view.getFloat64(next + 12, true))
    next += windowBytes
  }
  return next
}

/** The begin of the profile of a user with a display name; occurs nowhere else in a value. */
const nameMark = Buffer.from('"profile":{"displayName":"')
const quote = 0x22
const backslash = 0x5c

/** Reads the display names in consecutive values by one search, without a parse of the values. */
export class StoredNames {
  readonly #values: Buffer
  /** Where the next mark is; -1: there is none. */
  #next: number

  constructor(values: Buffer) {
    this.#values = values
    this.#next = values.indexOf(nameMark)
  }

  /** The name in the next value, which ends at `end`; null: it has none. */
  next(end: number): string | null {
    if (this.#next < 0 || this.#next >= end) return null
    const start = this.#next + nameMark.length
    this.#next = this.#values.indexOf(nameMark, end)
    return this.#textAt(start)
  }

  #textAt(start: number): string {
    const values = this.#values
    let escapes = false
    let end = start
    for (; values[end] !== quote; end++) {
      if (values[end] !== backslash) continue
      escapes = true
      end++
    }
    const text = values.toString("utf8", start, end)
    return escapes ? JSON.parse(`"${text}"`) : text
  }
}

export const decodeUser = (value: Uint8Array): UserState => {
  const view = dataViewOf(value)
  const { hidden, scoreSequence, sequence, xp } = decodeUserHead(view)
  const windows: Record<WindowKind, WindowScores> = { ...noWindows }
  const restAt = visitWindows(view, 0, (slot, index, xp, sequence) => {
    const kind = windowKinds[slot >>> 1]!
    windows[kind] =
      (slot & 1) === 0
        ? { ...windows[kind], index, xp, sequence }
        : { ...windows[kind], indexBefore: index, xpBefore: xp, sequenceBefore: sequence }
  })
  const rest = JSON.parse(asBuffer(value).toString("utf8", restAt))
  // With the members in the order of `applyUser`, so that all states have one hidden class in V8.
  return {
    id: rest.id,
    sequence,
    xp,
    scoreSequence,
    points: rest.points,
    pointsSpent: rest.pointsSpent ?? 0,
    windows: restAt === fixedBytes ? noWindows : windows,
    profile: rest.profile === undefined ? emptyProfile : { ...rest.profile, hidden },
    badges: mapOf(rest.badges),
    badgeCounts: mapOf(rest.badgeCounts),
    badgeRecounts: mapOf(rest.badgeRecounts),
    quests: mapOf(rest.quests),
    questsCompleted: rest.questsCompleted,
    pastZones: rest.pastZones ?? noZones,
    streaks: mapOf(rest.streaks),
    ruleUses: mapOf(rest.ruleUses),
    createdAt: rest.createdAt,
    updatedAt: rest.updatedAt,
  }
}

// biome-ignore lint/suspicious/noExplicitAny: it is empty, so it holds values of any kind
const none: ReadonlyMap<string, any> = new Map()

const noZones: UserState["pastZones"] = []

const mapOf = <A>(
  entries: ReadonlyArray<readonly [string, A]> | undefined,
): ReadonlyMap<string, A> => (entries === undefined ? none : new Map(entries))
