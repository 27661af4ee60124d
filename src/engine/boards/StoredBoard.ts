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
 *     g, position    a gap; the value is empty
 *
 * Rows of another form are in the table too: `t`, the environment, the id of a definition and the id
 * of a team lead to the team's scores in windows that are not closed (`TeamScores.ts`).
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
import { asBuffer, compositeKey, keyParts, rangeOf } from "../../storage/Keys.ts"
import type { Broken, Entry, Range, Storage, StoredEntry } from "../../storage/Storage.ts"
import { collectEntries, decodeValue, encodeValue, jsonOf } from "../../storage/Values.ts"
import { type BoardRow, type BoardSource, ranksByFind } from "./BoardSource.ts"

type Store = Storage["Service"]

/** The place of a board in the table. */
export interface BoardPlace {
  readonly environment: string
  /** The id of the definition. */
  readonly board: string
  readonly kind: BoardWindow
  readonly index: number
}

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

/** The value of `w`: `size` rows, including gaps, and the number of `buckets` of the index. */
export interface StoredWindow extends ClosedWindow {
  readonly size: number
  readonly buckets: number
}

export type Section = "w" | "r" | "u" | "g"

export const boardKey = (
  section: Section,
  { board, environment, index, kind }: BoardPlace,
  ...rest: ReadonlyArray<number>
): Uint8Array => compositeKey(section, environment, board, kind, index, ...rest)

/** The keys of a section of all windows of a definition. */
export const boardRange = (section: Section | "t", environment: string, board: string) =>
  rangeOf(compositeKey(section, environment, board))

const entry = (key: Uint8Array, body: Uint8Array | string): Entry => ({
  table: "boards",
  key,
  value: encodeValue(body),
})

const readRange = (storage: Store, range: Omit<Range, "table">) =>
  collectEntries(storage, { table: "boards", ...range })

const bodyOf = ([key, value]: StoredEntry): Effect.Effect<Buffer, Broken> =>
  Effect.map(decodeValue(value, { table: "boards", key }), asBuffer)

const readBody = (storage: Store, key: Uint8Array): Effect.Effect<Buffer | undefined, Broken> =>
  Effect.flatMap(
    Effect.suspend(() => storage.readEntry("boards", key)),
    (value) => (value === undefined ? Effect.succeed(undefined) : bodyOf([key, value])),
  )

export const windowEntry = (
  place: BoardPlace,
  { buckets, endsAt, prizes, sequence, size, startsAt }: StoredWindow,
): Entry =>
  entry(boardKey("w", place), JSON.stringify({ startsAt, endsAt, sequence, size, buckets, prizes }))

export const gapEntry = (place: BoardPlace, position: number): Entry =>
  entry(boardKey("g", place, position), "")

/** All stored boards, each with its gaps. */
export const readWindows = Effect.fnUntraced(function* (storage: Store) {
  const windows: Array<{ place: BoardPlace; window: StoredWindow; gaps: Gaps }> = []
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
    const gaps = yield* readRange(storage, rangeOf(boardKey("g", place)))
    windows.push({ place, window, gaps: new Gaps(gaps.map(([key]) => keyParts(key)[5] as number)) })
  }
  return windows
})

export const rowHeadBytes = 10

/** The entry of a page of rows in stored form; its first row is at `position`. */
export const pageEntry = (place: BoardPlace, position: number, page: Uint8Array): Entry =>
  entry(boardKey("r", place, position), page)

/** A row with the place of the user's id in its page: from `idAt` to `end`. */
interface PageRow extends Omit<BoardRow, "userId"> {
  readonly idAt: number
  readonly end: number
}

/** The rows of the page that begins at `position`. */
function* rowsOf(page: Buffer, position: number): Generator<PageRow> {
  let first = page.readUInt32LE()
  let scoreBefore = 0
  for (let next = position, at = 4; at < page.length; next++) {
    const score = page.readDoubleLE(at)
    const idAt = at + rowHeadBytes
    at = idAt + page.readUInt16LE(idAt - 2)
    if (next > position && score !== scoreBefore) first = next
    scoreBefore = score
    yield { position: next, first, score, idAt, end: at }
  }
}

export const pairBytes = 8

/** The entry of a part of a bucket: pairs of a hash and the position of a page. */
export const bucketEntry = (
  place: BoardPlace,
  bucket: number,
  part: number,
  pairs: Uint8Array,
): Entry => entry(boardKey("u", place, bucket, part), pairs)

/** The hash of a user id, which is in `bytes` (UTF-8) from `start` to `end`. */
export const userHash = (bytes: Uint8Array, start: number, end: number): number =>
  halfSipHash(bytes, start, end, 0, 0)

export const bucketOf = (hash: number, buckets: number): number =>
  Math.floor((hash / 2 ** 32) * buckets)

const findRow = Effect.fnUntraced(function* (
  storage: Store,
  place: BoardPlace,
  { buckets }: StoredWindow,
  userId: string,
) {
  const id = Buffer.from(userId)
  const hash = userHash(id, 0, id.length)
  const bucket = bucketOf(hash, buckets)
  for (let part = 0; ; part++) {
    const bucketKey = boardKey("u", place, bucket, part)
    const pairs = yield* readBody(storage, bucketKey)
    if (pairs === undefined) return undefined
    for (let pairAt = 0; pairAt < pairs.length; pairAt += pairBytes) {
      if (pairs.readUInt32LE(pairAt) !== hash) continue
      const pageAt = pairs.readUInt32LE(pairAt + 4)
      const page = yield* readBody(storage, boardKey("r", place, pageAt))
      if (page === undefined) continue
      for (const row of rowsOf(page, pageAt)) {
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
  const entries = [
    pageEntry(place, pageAt, rest),
    entry(bucketKey, others),
    gapEntry(place, row.position),
  ]
  return { position: row.position, entries }
})

/**
 * Opens a stored board for reading. `gaps` are the gaps on disk; the rows of users in `removed` are
 * gaps too, but not on disk yet.
 */
export const openStoredBoard = Effect.fnUntraced(function* (
  storage: Store,
  place: BoardPlace,
  window: StoredWindow & { readonly gaps: Gaps; readonly removed: ReadonlySet<string> },
) {
  const { removed } = window
  const gaps = removed.size === 0 ? window.gaps : new Gaps([...window.gaps])
  for (const userId of removed) {
    const found = yield* findRow(storage, place, window, userId)
    if (found !== undefined) gaps.add(found.row.position)
  }
  const find: BoardSource["find"] = (userId) =>
    Effect.map(findRow(storage, place, window, userId), (found) => {
      if (found === undefined || gaps.has(found.row.position)) return undefined
      const { first, position, score } = found.row
      return { position, first, score, userId }
    })
  const source: BoardSource = {
    size: window.size,
    gaps,
    find,
    ranks: ranksByFind(gaps, find),
    rows: Effect.fnUntraced(function* (position, end) {
      const [begin] = yield* readRange(storage, {
        from: boardKey("r", place),
        until: boardKey("r", place, position + 1),
        reverse: true,
        limit: 1,
      })
      if (begin === undefined) return []
      const range = { from: begin[0], until: boardKey("r", place, end) }
      const rows: Array<BoardRow> = []
      for (const found of yield* readRange(storage, range)) {
        const page = yield* bodyOf(found)
        for (const { end: idEnd, idAt, ...row } of rowsOf(page, keyParts(found[0])[5] as number)) {
          if (row.position < position || row.position >= end || gaps.has(row.position)) continue
          rows.push({ ...row, userId: page.toString("utf8", idAt, idEnd) })
        }
      }
      return rows
    }),
  }
  return source
})
