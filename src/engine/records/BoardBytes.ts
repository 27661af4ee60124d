/** The bytes of the scores on leaderboards in a user's state (`UserCodec.ts`). */
import { boardWindows } from "../../domain/project/BoardDefinition.ts"
import { type BoardScores, type KeptShare, noWindows } from "../../domain/user/User.ts"
import { type TimedWindow, timedWindows } from "../../domain/values/Calendar.ts"
import { bad, type Reader, writeByte, writeNumber } from "./StateBytes.ts"

/**
 * What was counted and missed, the latest record, the number of windows that have scores, plus flags,
 * and each of these windows; with `shareFlag`, the team and its windows in the same form; with `keptFlag`, the
 * number of kept shares, and each of these: team, window, index.
 */
export const writeBoard = ({
  counted,
  disqualified,
  kept = [],
  missed,
  sequence,
  share,
  windows,
}: BoardScores): void => {
  writeNumber(counted)
  writeNumber(missed)
  writeNumber(sequence)
  const flags = (disqualified === true ? disqualifiedFlag : 0) | (share ? shareFlag : 0)
  writeWindows(windows, flags | (kept.length > 0 ? keptFlag : 0))
  if (share !== undefined) {
    writeNumber(share.team)
    writeNumber(share.total)
    writeWindows(share.windows, 0)
  }
  if (kept.length === 0) return
  writeNumber(kept.length)
  for (const { index, team, window } of kept) {
    writeNumber(team)
    writeByte(boardWindows.indexOf(window))
    writeNumber(index)
  }
}

const writeWindows = (windows: BoardScores["windows"], flags: number): void => {
  const count = timedWindows.reduce((sum, kind) => sum + slotsOf(windows[kind]), 0)
  writeByte(count | flags)
  for (let kind = 0; kind < timedWindows.length; kind++) {
    const { index, indexBefore, sequence, sequenceBefore, xp, xpBefore } =
      windows[timedWindows[kind]!]
    if (sequence > 0) writeScore(2 * kind, index, xp, sequence)
    if (sequenceBefore > 0) writeScore(2 * kind + 1, indexBefore, xpBefore, sequenceBefore)
  }
}

const disqualifiedFlag = 0x80
const shareFlag = 0x40
const keptFlag = 0x20

const slotsOf = ({ sequence, sequenceBefore }: BoardScores["windows"][TimedWindow]): number =>
  Number(sequence > 0) + Number(sequenceBefore > 0)

const writeScore = (slot: number, index: number, score: number, sequence: number): void => {
  writeByte(slot)
  writeNumber(index)
  writeNumber(score)
  writeNumber(sequence)
}

export const readBoard = (reader: Reader): BoardScores => {
  const counted = reader.number()
  const missed = reader.number()
  const sequence = reader.number()
  const byte = reader.byte()
  const windows = readWindows(reader, byte & ~(disqualifiedFlag | shareFlag | keptFlag))
  const flag = byte & disqualifiedFlag ? ({ disqualified: true } as const) : undefined
  const share = byte & shareFlag ? { share: readShare(reader) } : undefined
  const kept = byte & keptFlag ? { kept: readKept(reader) } : undefined
  return { counted, missed, sequence, windows, ...share, ...kept, ...flag }
}

const readKept = (reader: Reader): ReadonlyArray<KeptShare> =>
  Array.from({ length: reader.number() }, () => {
    const team = reader.number()
    const window = boardWindows[reader.byte()]
    if (window === undefined) throw bad("a share has no window")
    return { team, window, index: reader.number() }
  })

const readShare = (reader: Reader): NonNullable<BoardScores["share"]> => {
  const team = reader.number()
  const total = reader.number()
  return { team, total, windows: readWindows(reader, reader.byte()) }
}

const readWindows = (reader: Reader, count: number): BoardScores["windows"] => {
  if (count === 0) return noWindows
  const windows = { ...noWindows }
  let last = -1
  for (let left = count; left > 0; left--) {
    const slot = reader.byte()
    if (slot <= last || slot >= 2 * timedWindows.length) throw bad("a score has no place")
    last = slot
    const index = reader.number()
    const xp = reader.number()
    const sequence = reader.number()
    if (sequence <= 0) throw bad("a score has no record")
    const kind = timedWindows[slot >>> 1]!
    windows[kind] =
      (slot & 1) === 0
        ? { ...windows[kind], index, xp, sequence }
        : { ...windows[kind], indexBefore: index, xpBefore: xp, sequenceBefore: sequence }
  }
  return windows
}
