/**
 * The stored form of a board, in the table `boards`. Each key begins with a letter, the
 * environment, the id of the definition, the kind of window and its index:
 *
 *     w              the window (JSON); written last: a board without it does not count
 *     r, position    a page of rows from this position on: the position of the first row with the
 *                    same score as the page's first row (uint32), then for each row its score
 *                    (float64), the length of the user id (uint16) and the id (UTF-8); an empty id
 *                    is a gap
 *     u, bucket, n   part n of a bucket of the index: pairs of the hash of an id and the position of
 *                    a page (uint32 each)
 *     g, position    a gap; the value is empty, or the id of its group and its position there (uint32
 *                    each)
 *
 * On a board with groups a row has the id of its group (uint32, 0 is none) behind the score, and there are two
 * more forms of keys (`StoredGroups.ts`):
 *
 *     n, group       the name of a group, and how many rows it has (JSON)
 *     h, group, n    page n of a group: the positions of its rows in order (uint32 each)
 *
 * Rows of another form are in the table too: `t`, the environment, the id of a definition and the id
 * of a team lead to the team's scores in windows that are not closed (`TeamScores.ts`). `a`, the environment, the id of
 * a definition, the kind of an open window and its index lead to the ranks that messages announced (`AnnouncedRanks.ts`).
 *
 * Numbers are little-endian.
 *
 * Invariants: the pages have `size` rows in order, including gaps. Each user in a row has a pair in
 * the bucket of its hash. Values stay below `boardPageBytesMax`, since LMDB deletes large values
 * badly.
 *
 * Cost: to find a user reads a bucket and a page. The index has hashes, not ids, which would take
 * as much space as the rows.
 */
import { Effect } from "effect"
import { Gaps } from "../../domain/board/Gaps.ts"
import { halfSipHash } from "../../domain/board/halfSipHash.ts"
import type { BoardWindow } from "../../domain/project/BoardDefinition.ts"
import type { WindowPrizes } from "../../domain/project/BoardPrize.ts"
import { compositeKey, keyParts, rangeOf } from "../../storage/Keys.ts"
import type { Entry, StoredEntry } from "../../storage/Storage.ts"
import { jsonOf } from "../../storage/Values.ts"
import {
  type BoardPlace,
  boardEntry,
  boardKey,
  bodyOf,
  readBody,
  readRange,
  type Store,
} from "./BoardKeys.ts"
import { type BoardRow, type BoardSource, ranksByFind } from "./BoardSource.ts"
import { openGroup, storedGroups } from "./StoredGroups.ts"

/**
 * A closed window. Times are epoch milliseconds, null of all time; `sequence` is that of the record
 * that closed it. `prizes`: those that it pays; absent: none.
 */
export interface ClosedWindow {
  readonly startsAt: number | null
  readonly endsAt: number | null
  readonly prizes?: WindowPrizes | undefined
  readonly sequence: number
}

/**
 * The value of `w`: `size` rows, including gaps, and the number of `buckets` of the index. `grouped`: rows
 * have groups.
 */
export interface StoredWindow extends ClosedWindow {
  readonly size: number
  readonly buckets: number
  readonly grouped?: true
}

export const windowEntry = (
  place: BoardPlace,
  { buckets, endsAt, grouped, prizes, sequence, size, startsAt }: StoredWindow,
): Entry =>
  boardEntry(
    boardKey("w", place),
    JSON.stringify({ startsAt, endsAt, sequence, size, buckets, grouped, prizes }),
  )

/** The position of a row in its group. */
export interface InGroup {
  /** The id of the group. */
  readonly group: number
  readonly position: number
}

export const gapEntry = (place: BoardPlace, position: number, of?: InGroup): Entry => {
  if (of === undefined) return boardEntry(boardKey("g", place, position), "")
  const value = Buffer.allocUnsafe(8)
  value.writeUInt32LE(of.position, value.writeUInt32LE(of.group))
  return boardEntry(boardKey("g", place, position), value)
}

/** Adds a gap to those of its group. */
export const addGap = (gaps: Map<number, Gaps>, { group, position }: InGroup): void => {
  const known = gaps.get(group)
  if (known === undefined) gaps.set(group, new Gaps([position]))
  else known.add(position)
}

/** All stored boards, each with its gaps. */
export const readWindows = Effect.fnUntraced(function* (storage: Store) {
  const windows: Array<{
    place: BoardPlace
    window: StoredWindow
    gaps: Gaps
    groupGaps: Map<number, Gaps>
  }> = []
  for (const found of yield* readRange(storage, rangeOf(compositeKey("w")))) {
    const [, environment, board, kind, index] = keyParts(found[0]) as [
      string,
      string,
      string,
      BoardWindow,
      number,
    ]
    const place = { environment, board, kind, index }
    const window: StoredWindow = jsonOf(yield* bodyOf(found))
    const gaps: Array<number> = []
    const groupGaps = new Map<number, Gaps>()
    for (const gap of yield* readRange(storage, rangeOf(boardKey("g", place)))) {
      gaps.push(keyParts(gap[0])[5] as number)
      const of = yield* bodyOf(gap)
      if (of.length === 0) continue
      addGap(groupGaps, { group: of.readUInt32LE(), position: of.readUInt32LE(4) })
    }
    windows.push({ place, window, gaps: new Gaps(gaps), groupGaps })
  }
  return windows
})

/** The bytes of a row before the id. */
export const rowHeadBytes = ({ grouped }: Pick<StoredWindow, "grouped">): number =>
  grouped === true ? 14 : 10

/** The entry of a page of rows in stored form; its first row is at `position`. */
export const pageEntry = (place: BoardPlace, position: number, page: Uint8Array): Entry =>
  boardEntry(boardKey("r", place, position), page)

/** A row with the place of the user's id in its page: from `idAt` to `end`. */
interface PageRow extends Omit<BoardRow, "userId"> {
  readonly idAt: number
  readonly end: number
}

/** The rows of the page that begins at `position`. */
function* rowsOf(
  page: Buffer,
  position: number,
  window: Pick<StoredWindow, "grouped">,
): Generator<PageRow> {
  const headBytes = rowHeadBytes(window)
  let first = page.readUInt32LE()
  let scoreBefore = 0
  for (let next = position, at = 4; at < page.length; next++) {
    const score = page.readDoubleLE(at)
    const idAt = at + headBytes
    const of = window.grouped === true ? { group: page.readUInt32LE(at + 8) } : undefined
    at = idAt + page.readUInt16LE(idAt - 2)
    if (next > position && score !== scoreBefore) first = next
    scoreBefore = score
    yield { position: next, first, score, idAt, end: at, ...of }
  }
}

export const pairBytes = 8

/** The entry of a part of a bucket: pairs of a hash and the position of a page. */
export const bucketEntry = (
  place: BoardPlace,
  bucket: number,
  part: number,
  pairs: Uint8Array,
): Entry => boardEntry(boardKey("u", place, bucket, part), pairs)

/** The hash of a user id, which is in `bytes` (UTF-8) from `start` to `end`. */
export const userHash = (bytes: Uint8Array, start: number, end: number): number =>
  halfSipHash(bytes, start, end, 0, 0)

export const bucketOf = (hash: number, buckets: number): number =>
  Math.floor((hash / 2 ** 32) * buckets)

const findRow = Effect.fnUntraced(function* (
  storage: Store,
  place: BoardPlace,
  window: StoredWindow,
  userId: string,
) {
  const id = Buffer.from(userId)
  const hash = userHash(id, 0, id.length)
  const bucket = bucketOf(hash, window.buckets)
  for (let part = 0; ; part++) {
    const bucketKey = boardKey("u", place, bucket, part)
    const pairs = yield* readBody(storage, bucketKey)
    if (pairs === undefined) return undefined
    for (let pairAt = 0; pairAt < pairs.length; pairAt += pairBytes) {
      if (pairs.readUInt32LE(pairAt) !== hash) continue
      const pageAt = pairs.readUInt32LE(pairAt + 4)
      const page = yield* readBody(storage, boardKey("r", place, pageAt))
      if (page === undefined) continue
      for (const row of rowsOf(page, pageAt, window)) {
        if (page.subarray(row.idAt, row.end).equals(id)) {
          return { row, page, pageAt, bucketKey, pairs, pairAt }
        }
      }
    }
  }
})

/**
 * The position of a user's row on a stored board, and the entries that make it a gap and delete the
 * id from page and index; `undefined`: the board does not list the user.
 */
export const removalOf = Effect.fnUntraced(function* (
  storage: Store,
  place: BoardPlace,
  window: StoredWindow,
  userId: string,
) {
  const found = yield* findRow(storage, place, window, userId)
  if (found === undefined) return undefined
  const { bucketKey, page, pageAt, pairAt, pairs, row } = found
  const others = Buffer.concat([pairs.subarray(0, pairAt), pairs.subarray(pairAt + pairBytes)])
  const rest = Buffer.concat([page.subarray(0, row.idAt), page.subarray(row.end)])
  rest.writeUInt16LE(0, row.idAt - 2)
  const of = yield* placeInGroup(storage, place, row)
  const entries = [
    pageEntry(place, pageAt, rest),
    boardEntry(bucketKey, others),
    gapEntry(place, row.position, of),
  ]
  return { position: row.position, of, entries }
})

/** The row's position in its group; `undefined`: it has none. */
const placeInGroup = Effect.fnUntraced(function* (
  storage: Store,
  place: BoardPlace,
  { group = 0, position }: Pick<BoardRow, "group" | "position">,
) {
  if (group === 0) return undefined
  const found = yield* openGroup(storage, place, group)
  return found && { group, position: yield* found.before(position) }
})

type OpenedWindow = StoredWindow & {
  readonly gaps: Gaps
  readonly groupGaps: ReadonlyMap<number, Gaps>
  readonly removed: ReadonlySet<string>
}

/** The gaps of a window with those of users whose rows may still be on disk. */
const allGaps = Effect.fnUntraced(function* (
  storage: Store,
  place: BoardPlace,
  window: OpenedWindow,
) {
  if (window.removed.size === 0) return window
  const onDisk: Array<{ readonly position: number; readonly of: InGroup | undefined }> = []
  for (const userId of window.removed) {
    const found = yield* findRow(storage, place, window, userId)
    if (found === undefined) continue
    const { row } = found
    onDisk.push({ position: row.position, of: yield* placeInGroup(storage, place, row) })
  }
  // Copied last: a snapshot may have removed a row before it was looked for. Then its gap is known.
  const gaps = new Gaps([...window.gaps])
  const groupGaps = new Map(
    [...window.groupGaps].map(([group, of]) => [group, new Gaps([...of])] as const),
  )
  for (const { of, position } of onDisk) {
    gaps.add(position)
    if (of !== undefined) addGap(groupGaps, of)
  }
  return { gaps, groupGaps }
})

/** The page that has the row at `position`; `undefined`: there is none. */
const pageWith = Effect.fnUntraced(function* (storage: Store, place: BoardPlace, position: number) {
  const [begin] = yield* readRange(storage, {
    from: boardKey("r", place),
    until: boardKey("r", place, position + 1),
    reverse: true,
    limit: 1,
  })
  return begin
})

/**
 * Opens a stored board for reading. `gaps` are the gaps on disk; the rows of users in `removed` are
 * gaps too, but not on disk yet.
 */
export const openStoredBoard = Effect.fnUntraced(function* (
  storage: Store,
  place: BoardPlace,
  window: OpenedWindow,
) {
  const { gaps, groupGaps } = yield* allGaps(storage, place, window)
  const find: BoardSource["find"] = (userId) =>
    Effect.map(findRow(storage, place, window, userId), (found) => {
      if (found === undefined || gaps.has(found.row.position)) return undefined
      const { end: _, idAt: __, ...row } = found.row
      return { ...row, userId }
    })
  const rowsIn = function* ([key]: StoredEntry, page: Buffer): Generator<BoardRow> {
    for (const { end, idAt, ...row } of rowsOf(page, keyParts(key)[5] as number, window)) {
      if (!gaps.has(row.position)) yield { ...row, userId: page.toString("utf8", idAt, end) }
    }
  }
  const source: BoardSource = {
    size: window.size,
    gaps,
    find,
    ranks: ranksByFind(gaps, find),
    rows: Effect.fnUntraced(function* (position, end) {
      const begin = yield* pageWith(storage, place, position)
      if (begin === undefined) return []
      const range = { from: begin[0], until: boardKey("r", place, end) }
      const rows: Array<BoardRow> = []
      for (const found of yield* readRange(storage, range)) {
        for (const row of rowsIn(found, yield* bodyOf(found))) {
          if (row.position >= position && row.position < end) rows.push(row)
        }
      }
      return rows
    }),
  }
  if (window.grouped !== true) return source
  const rowAt = Effect.fnUntraced(function* (position: number) {
    const found = yield* pageWith(storage, place, position)
    if (found === undefined) return undefined
    for (const row of rowsIn(found, yield* bodyOf(found))) if (row.position === position) return row
    return undefined
  })
  return { ...source, groups: storedGroups(storage, place, { find, groupGaps, rowAt }) }
})
