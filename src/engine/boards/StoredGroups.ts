/**
 * The groups of a stored board. `StoredBoard.ts` has the form of the keys.
 *
 * The id of a group is the hash of its name, or the next id that is free among the groups of the board: so it is
 * found by the name without an index. A page of a group has `boardGroupPageRows` rows, so the n-th row of the group is
 * found at once, and the position of a row by a search through pages.
 *
 * Cost: a page of a group reads one or two pages of positions, and a page of the board for each row. A list of groups
 * reads the names of all groups of the board.
 */
import { Effect, Stream } from "effect"
import { Gaps } from "../../domain/board/Gaps.ts"
import { halfSipHash } from "../../domain/board/halfSipHash.ts"
import { limits } from "../../Limits.ts"
import { keyParts, rangeOf } from "../../storage/Keys.ts"
import type { Broken, Entry } from "../../storage/Storage.ts"
import { jsonOf } from "../../storage/Values.ts"
import { type BoardPlace, boardEntry, boardKey, bodyOf, readBody, type Store } from "./BoardKeys.ts"
import {
  type BoardRow,
  type BoardSource,
  type GroupSource,
  rankOf,
  ranksByFind,
} from "./BoardSource.ts"

/** The value of `n`. */
interface StoredGroup {
  readonly name: string
  readonly size: number
}

/** The ids from 1 on, in the order in which they are tried for a name. */
function* idsFor(name: string): Generator<number> {
  const bytes = Buffer.from(name)
  for (let id = halfSipHash(bytes, 0, bytes.length, 0, 0); ; id = (id + 1) % 2 ** 32) {
    if (id !== 0) yield id
  }
}

const readGroup = (
  storage: Store,
  place: BoardPlace,
  id: number,
): Effect.Effect<StoredGroup | undefined, Broken> =>
  Effect.map(readBody(storage, boardKey("n", place, id)), (body) =>
    body === undefined ? undefined : JSON.parse(body.toString()),
  )

/** The id of the group with this name; `undefined`: the board lists nobody of it. */
const idOf = Effect.fnUntraced(function* (storage: Store, place: BoardPlace, name: string) {
  for (const id of idsFor(name)) {
    const group = yield* readGroup(storage, place, id)
    if (group === undefined) return undefined
    if (group.name === name) return id
  }
  return undefined
})

interface OpenGroup extends StoredGroup {
  /** The position on the board of the n-th row of the group. */
  readonly at: (n: number) => Effect.Effect<number, Broken>
  /** How many rows of the group are before a position of the board. */
  readonly before: (position: number) => Effect.Effect<number, Broken>
}

/** Opens a group; it keeps the pages that it has read. */
export const openGroup = Effect.fnUntraced(function* (
  storage: Store,
  place: BoardPlace,
  id: number,
) {
  const group = yield* readGroup(storage, place, id)
  if (group === undefined) return undefined
  const pages = new Map<number, Buffer>()
  const at = Effect.fnUntraced(function* (n: number) {
    const number = Math.floor(n / limits.boardGroupPageRows)
    let page = pages.get(number)
    if (page === undefined) {
      page = (yield* readBody(storage, boardKey("h", place, id, number)))!
      pages.set(number, page)
    }
    return page.readUInt32LE(4 * (n % limits.boardGroupPageRows))
  })
  const before = Effect.fnUntraced(function* (position: number) {
    let low = 0
    let high = group.size
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((yield* at(middle)) < position) low = middle + 1
      else high = middle
    }
    return low
  })
  return { ...group, at, before } satisfies OpenGroup
})

interface BoardOfGroups {
  readonly find: BoardSource["find"]
  /** The row at a position; `undefined`: a gap. */
  readonly rowAt: (position: number) => Effect.Effect<BoardRow | undefined, Broken>
  readonly groupGaps: ReadonlyMap<number, Gaps>
}

export const storedGroups = (
  storage: Store,
  place: BoardPlace,
  { find, groupGaps, rowAt }: BoardOfGroups,
): GroupSource => {
  const opened = new Map<number, OpenGroup>()
  const open = Effect.fnUntraced(function* (id: number) {
    const known = opened.get(id) ?? (yield* openGroup(storage, place, id))
    if (known !== undefined) opened.set(id, known)
    return known
  })
  const gapsOf = (id: number): Gaps => groupGaps.get(id) ?? noGaps
  /** The row of the board as a row of its group. */
  const inGroup = ({ before }: OpenGroup, { first, position, ...row }: BoardRow) =>
    Effect.all({
      position: before(position),
      first: before(first),
    }).pipe(Effect.map((places): BoardRow => ({ ...row, ...places })))
  return {
    of: Effect.fnUntraced(function* (name) {
      const id = yield* idOf(storage, place, name)
      const group = id === undefined ? undefined : yield* open(id)
      if (id === undefined || group === undefined) return undefined
      const gaps = gapsOf(id)
      const findIn: BoardSource["find"] = (userId) =>
        Effect.flatMap(find(userId), (row) =>
          row?.group === id ? inGroup(group, row) : Effect.succeed(undefined),
        )
      return {
        size: group.size,
        gaps,
        find: findIn,
        ranks: ranksByFind(gaps, findIn),
        rows: Effect.fnUntraced(function* (position, end) {
          const rows: Array<BoardRow> = []
          for (let n = position; n < Math.min(end, group.size); n++) {
            const row = gaps.has(n) ? undefined : yield* rowAt(yield* group.at(n))
            if (row !== undefined) rows.push(yield* inGroup(group, row))
          }
          return rows
        }),
      }
    }),
    names: Effect.fnUntraced(function* (after, limit) {
      const first = new FirstNames(after, limit)
      const range = { table: "boards", ...rangeOf(boardKey("n", place)) } as const
      yield* Stream.runForEach(
        storage.readEntries(range),
        Effect.fnUntraced(function* (entries) {
          for (const found of entries) {
            const { name, size }: StoredGroup = jsonOf(yield* bodyOf(found))
            if (gapsOf(keyParts(found[0])[5] as number).size < size) first.add(name)
          }
        }),
      )
      return first.all()
    }),
    places: (rows, shared) =>
      Effect.forEach(
        rows,
        Effect.fnUntraced(function* (row) {
          const group = row.group ? yield* open(row.group) : undefined
          if (group === undefined) return null
          const own = yield* inGroup(group, row)
          return { group: group.name, rank: rankOf(gapsOf(row.group!), own, shared) }
        }),
      ),
  }
}

const noGaps = new Gaps()

/** Of many names, the first `limit` after `after`, by code units as in memory (`GroupOrder`). */
class FirstNames {
  readonly #after: string | undefined
  readonly #limit: number
  #names: Array<string> = []

  constructor(after: string | undefined, limit: number) {
    this.#after = after
    this.#limit = limit
  }

  add(name: string): void {
    if (this.#after !== undefined && name <= this.#after) return
    this.#names.push(name)
    if (this.#names.length >= 2 * this.#limit + sortedTogether) this.#names = this.all()
  }

  all(): Array<string> {
    return this.#names.sort().slice(0, this.#limit)
  }
}

const sortedTogether = 1_000

/** Collects the groups of a board while its rows are written. */
export class GroupPages {
  readonly #place: BoardPlace
  /** By name. */
  readonly #groups = new Map<string, { readonly id: number; size: number; page: Array<number> }>()
  readonly #taken = new Set<number>()
  readonly #full: Array<Entry> = []

  constructor(place: BoardPlace) {
    this.#place = place
  }

  /** Adds the next row of the board. Returns the id of the group and the position there. */
  add(name: string, position: number): { readonly group: number; readonly position: number } {
    const group = this.#groups.get(name) ?? this.#begin(name)
    group.page.push(position)
    const at = group.size++
    if (group.page.length === limits.boardGroupPageRows) this.#full.push(this.#page(group))
    return { group: group.id, position: at }
  }

  #begin(name: string) {
    for (const id of idsFor(name)) {
      if (this.#taken.has(id)) continue
      this.#taken.add(id)
      const group = { id, size: 0, page: [] }
      this.#groups.set(name, group)
      return group
    }
    throw new Error("A board has too many groups")
  }

  #page(group: { readonly id: number; readonly size: number; page: Array<number> }): Entry {
    const { id, page, size } = group
    const bytes = Buffer.allocUnsafe(4 * page.length)
    for (let n = 0; n < page.length; n++) bytes.writeUInt32LE(page[n]!, 4 * n)
    const number = Math.floor((size - 1) / limits.boardGroupPageRows)
    group.page = []
    return boardEntry(boardKey("h", this.#place, id, number), bytes)
  }

  /** The pages that have become full. */
  takeFull(): ReadonlyArray<Entry> {
    return this.#full.splice(0)
  }

  /** The other entries. */
  *rest(): Generator<Entry> {
    for (const [name, group] of this.#groups) {
      const { id, size } = group
      if (group.page.length > 0) yield this.#page(group)
      const body = JSON.stringify({ name, size } satisfies StoredGroup)
      yield boardEntry(boardKey("n", this.#place, id), body)
    }
  }
}
