/**
 * The first part of a snapshot: stores frozen boards in LMDB, removes users from stored boards, and
 * deletes boards past their retention and those of archived definitions.
 *
 * Invariants:
 * - A frozen board is stored before any user's value is written. Users' values hold only the latest
 *   two windows of each kind, and until a board is stored, a start builds it from the values on
 *   disk.
 * - A stored board counts only once its window `w` is written, which is the last entry. After a
 *   crash the next attempt deletes what was begun.
 * - A stored board has as many rows, including gaps, as the frozen board has members (asserted).
 *
 * Ownership: only the snapshot runs this, one at a time. Frozen boards do not change meanwhile;
 * rows that become gaps while a board is written are removed on disk afterwards.
 *
 * Cost: the work runs in small pieces with other work between them, so a board of a million delays
 * a request by a few milliseconds at most (`bench/rollover.ts`). Nothing is copied. Only a counter
 * for each bucket is allocated at once in proportion to the board.
 */
import { Effect, Stream } from "effect"
import type { Gaps } from "../../domain/board/Gaps.ts"
import { MemberTable } from "../../domain/board/Members.ts"
import { boardWindows } from "../../domain/project/BoardDefinition.ts"
import { payoutId } from "../../domain/project/Payout.ts"
import { limits } from "../../Limits.ts"
import { rangeOf } from "../../storage/Keys.ts"
import { Broken, type Entry, type Storage, type StorageError } from "../../storage/Storage.ts"
import { nextTurnOf } from "../../storage/yieldToEventLoop.ts"
import { type BoardPlace, boardKey, boardRange, type Section } from "./BoardKeys.ts"
import type { RankedEnvironment } from "./Boards.ts"
import { oldestKept } from "./Retention.ts"
import {
  addGap,
  bucketEntry,
  bucketOf,
  gapEntry,
  type InGroup,
  pageEntry,
  pairBytes,
  removalOf,
  rowHeadBytes,
  userHash,
  windowEntry,
} from "./StoredBoard.ts"
import { GroupPages } from "./StoredGroups.ts"
import { teamRowSection } from "./TeamScores.ts"
import type { FrozenBoard, Windows } from "./Windows.ts"

type Write = (entries: ReadonlyArray<Entry>) => Effect.Effect<void, StorageError>

interface BoardWriterOptions {
  readonly storage: Storage["Service"]
  readonly environments: Iterable<RankedEnvironment>
  readonly now: () => number
}

export class BoardWriter {
  readonly #options: BoardWriterOptions

  constructor(options: BoardWriterOptions) {
    this.#options = options
  }

  /** Brings all stored boards up to date through `write`. After a failure the next call resumes. */
  readonly write = Effect.fnUntraced(function* (this: BoardWriter, write: Write) {
    for (const environment of this.#options.environments) {
      const { boards } = environment
      for (const [board, set] of [...boards.sets()]) {
        for (const kind of kindsInOrder) {
          const windows = set.windowsOf(kind)
          if (windows === undefined) continue
          if (windows.frozen.length === 0 && windows.stored.size === 0) continue
          const place = { environment: environment.id, board, kind }
          for (const frozen of [...windows.frozen]) {
            yield* this.#store({ ...place, index: frozen.index }, windows, frozen, write)
          }
          yield* this.#remove(place, windows, write)
          yield* this.#prune(environment, place, windows, write)
        }
      }
      for (const board of [...boards.gone]) {
        for (const section of [...sections, teamRowSection] as const) {
          yield* this.#deleteRange(boardRange(section, environment.id, board), write)
        }
        boards.gone.delete(board)
      }
    }
  })

  readonly #store = Effect.fnUntraced(function* (
    this: BoardWriter,
    place: BoardPlace,
    windows: Windows,
    frozen: FrozenBoard,
    write: Write,
  ) {
    yield* this.#delete(place, write)
    const size = frozen.board.total
    const index = new UserIndex(place, size)
    const slices = new Slices(write)
    const pages = new Pages(place, frozen, index)
    for (const [position] of stepsOf(size, limits.boardTurnRowsMax)) {
      yield* slices.add(pages.next(position))
      yield* nextTurnOf("board")
    }
    yield* slices.add(pages.end())
    if (pages.rows !== size) {
      const cause = new Error(`A board of ${size} members has ${pages.rows} rows`)
      return yield* Effect.fail(new Broken({ operation: "store a board", cause }))
    }
    for (const [from, end] of stepsOf(index.buckets, limits.boardTurnBucketsMax)) {
      yield* slices.add(index.entries(from, end))
      yield* nextTurnOf("board")
    }
    for (const entry of pages.groupEntries()) yield* slices.add([entry])
    // A row that has become a gap since it was visited is removed from the disk afterwards.
    const gapGroups = pages.gapGroups
    for (const gap of [...frozen.gaps]) {
      yield* slices.add([gapEntry(place, gap, gapGroups.get(gap))])
    }
    const grouped = frozen.board.groups && ({ grouped: true } as const)
    const window = { ...frozen, size, buckets: index.buckets, ...grouped }
    yield* slices.add([windowEntry(place, window)])
    yield* slices.end()
    const groupGaps = new Map<number, Gaps>()
    for (const of of gapGroups.values()) addGap(groupGaps, of)
    windows.stores(frozen, window, groupGaps)
  })

  /** Removes hidden and erased users from the stored boards of one kind. */
  readonly #remove = Effect.fnUntraced(function* (
    this: BoardWriter,
    place: Omit<BoardPlace, "index">,
    windows: Windows,
    write: Write,
  ) {
    for (const [index, window] of windows.stored) {
      for (const userId of [...window.removed]) {
        const at = { ...place, index }
        const found = yield* removalOf(this.#options.storage, at, window, userId)
        if (found !== undefined) {
          // Before the write: a read that does not find the row any more must know its gap.
          window.gaps.add(found.position)
          if (found.of !== undefined) addGap(window.groupGaps, found.of)
          yield* write(found.entries)
        }
        window.removed.delete(userId)
        yield* nextTurnOf("board")
      }
    }
  })

  /**
   * Deletes boards past their retention, but not those that still pay prizes, nor the newest: it tells
   * a start which windows were stored.
   */
  readonly #prune = Effect.fnUntraced(function* (
    this: BoardWriter,
    environment: RankedEnvironment,
    place: Omit<BoardPlace, "index">,
    windows: Windows,
    write: Write,
  ) {
    if (place.kind === "all_time") return
    const { payouts } = environment.project.durable
    const oldest = oldestKept(environment, place.board, place.kind, this.#options.now())
    for (const index of [...windows.stored.keys()]) {
      if (index >= oldest || index === windows.storedThrough) continue
      const paying = { boardId: place.board, window: place.kind, index }
      if (payouts.size > 0 && payouts.has(payoutId(paying))) continue
      windows.stored.delete(index)
      windows.gone.add(index)
    }
    for (const index of windows.gone) {
      yield* this.#delete({ ...place, index }, write)
      windows.gone.delete(index)
    }
  })

  /**
   * Deletes a stored board, its window `w` last, so that the next call finds an interrupted
   * deletion.
   */
  readonly #delete = Effect.fnUntraced(function* (
    this: BoardWriter,
    place: BoardPlace,
    write: Write,
  ) {
    for (const section of sections) {
      yield* this.#deleteRange(rangeOf(boardKey(section, place)), write)
    }
  })

  readonly #deleteRange = Effect.fnUntraced(function* (
    this: BoardWriter,
    range: ReturnType<typeof rangeOf>,
    write: Write,
  ) {
    yield* nextTurnOf("board")
    yield* Stream.runForEach(
      this.#options.storage.readEntries({ table: "boards", ...range }),
      (entries) =>
        Effect.forEach(
          slicesOf(entries),
          (slice) => write(slice.map(([key]) => ({ table: "boards", key, value: null }))),
          { discard: true },
        ),
    )
  })
}

/** All time is last: once it is stored, a start places no user in any window of the leaderboard. */
const kindsInOrder = [...boardWindows.filter((kind) => kind !== "all_time"), "all_time"] as const

const sections: ReadonlyArray<Section> = ["r", "u", "g", "n", "h", "w"]

/** The begin and end of each step, of at most `most`, from 0 to `size`. */
function* stepsOf(size: number, most: number): Generator<readonly [from: number, end: number]> {
  for (let from = 0; from < size; from += most) yield [from, Math.min(size, from + most)]
}

const slicesOf = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from(stepsOf(all.length, limits.boardSliceEntriesMax), ([from, end]) =>
    all.slice(from, end),
  )

/** Collects entries into transactions of `boardSliceEntriesMax`. */
class Slices {
  readonly #write: Write
  readonly #entries: Array<Entry> = []

  constructor(write: Write) {
    this.#write = write
  }

  add(entries: ReadonlyArray<Entry>): Effect.Effect<void, StorageError> {
    this.#entries.push(...entries)
    return this.#entries.length < limits.boardSliceEntriesMax
      ? Effect.void
      : this.#drain(limits.boardSliceEntriesMax)
  }

  end(): Effect.Effect<void, StorageError> {
    return this.#drain(1)
  }

  /** Writes transactions, each in a turn of its own, while there are at least `least` entries. */
  readonly #drain = Effect.fnUntraced(function* (this: Slices, least: number) {
    while (this.#entries.length >= least) {
      yield* nextTurnOf("board")
      yield* this.#write(this.#entries.splice(0, limits.boardSliceEntriesMax))
    }
  })
}

/** Makes the pages of a frozen board in their stored form. */
class Pages {
  readonly #place: BoardPlace
  readonly #frozen: FrozenBoard
  readonly #index: UserIndex
  /** How many rows were visited. */
  rows = 0
  /**
   * The page that is filled now, with room for one row too many. Its first row is at `#position`.
   */
  readonly #page = Buffer.allocUnsafe(limits.boardPageBytesMax + longestRowBytes)
  #position = 0
  #end = 0
  readonly #headBytes: number
  /** Absent: the board has no groups. */
  readonly #groups: GroupPages | undefined
  /** The rows of groups that are gaps, by their positions. */
  readonly gapGroups = new Map<number, InGroup>()

  constructor(place: BoardPlace, frozen: FrozenBoard, index: UserIndex) {
    this.#place = place
    this.#frozen = frozen
    this.#index = index
    const grouped = frozen.board.groups && ({ grouped: true } as const)
    this.#headBytes = rowHeadBytes({ ...grouped })
    this.#groups = grouped && new GroupPages(place)
  }

  /** Adds the next rows, which begin at `position`; returns the pages that are full. */
  next(position: number): ReadonlyArray<Entry> {
    const { board, gaps } = this.#frozen
    const page = this.#page
    const pages: Array<Entry> = []
    let at = position
    board.visit(position, limits.boardTurnRowsMax, (member, score, rank) => {
      if (this.#end === 0) this.#begin(at, rank)
      let rowAt = this.#end
      const isGap = gaps.has(at)
      const group = this.#groups === undefined ? 0 : this.#groupOf(member, at, isGap)
      let rowEnd = this.#write(rowAt, isGap ? undefined : member, score, group)
      if (rowEnd > limits.boardPageBytesMax) {
        pages.push(...this.end())
        this.#begin(at, rank)
        page.copyWithin(this.#end, rowAt, rowEnd)
        rowEnd += this.#end - rowAt
        rowAt = this.#end
      }
      this.#end = rowEnd
      const idAt = rowAt + this.#headBytes
      if (rowEnd > idAt) this.#index.add(userHash(page, idAt, rowEnd), this.#position)
      at++
    })
    this.rows += at - position
    return this.#groups === undefined ? pages : [...pages, ...this.#groups.takeFull()]
  }

  /** The id of the group of the row at `position`; 0: none. */
  #groupOf(member: number, position: number, isGap: boolean): number {
    const { groups } = this.#frozen.board
    const name = groups!.nameOf(groups!.groupOf(member))
    if (name === null) return 0
    const of = this.#groups!.add(name, position)
    if (isGap) this.gapGroups.set(position, of)
    return of.group
  }

  /** The entries of groups, behind those of all pages. */
  groupEntries(): Iterable<Entry> {
    return this.#groups?.rest() ?? []
  }

  #begin(position: number, rank: number): void {
    this.#position = position
    this.#end = this.#page.writeUInt32LE(rank - 1)
  }

  /** Writes a row at `at`; returns where it ends. */
  #write(at: number, member: number | undefined, score: number, group: number): number {
    const page = this.#page
    if (this.#groups !== undefined) page.writeUInt32LE(group, at + 8)
    page.writeDoubleLE(score, at)
    const idAt = at + this.#headBytes
    const end = member === undefined ? idAt : this.#frozen.board.members.copyId(member, page, idAt)
    page.writeUInt16LE(end - idAt, idAt - 2)
    return end
  }

  /** The last page, which is not full; empty if there is none. */
  end(): ReadonlyArray<Entry> {
    if (this.#end === 0) return []
    const page = pageEntry(this.#place, this.#position, this.#page.subarray(0, this.#end))
    this.#end = 0
    return [page]
  }
}

/** A character takes at most four bytes of UTF-8. */
const longestRowBytes = rowHeadBytes({ grouped: true }) + 4 * limits.idCharactersMax

/**
 * Collects the index from users to pages. Each bucket is a chain through the rows that were added,
 * the latest first, so nothing is sorted.
 */
class UserIndex {
  readonly buckets: number
  readonly #place: BoardPlace
  readonly #hashes = new MemberTable()
  readonly #pages = new MemberTable()
  /** By row: 1 + the row that was added to its bucket before it; 0: none. */
  readonly #before = new MemberTable()
  /** By bucket: 1 + the row that was added last; 0: none. */
  readonly #latest: Uint32Array
  /** By bucket: how many rows there are. */
  readonly #counts: Uint32Array
  #size = 0

  constructor(place: BoardPlace, sizeMax: number) {
    this.#place = place
    this.buckets = Math.max(1, Math.ceil(sizeMax / limits.boardBucketUsers))
    this.#latest = new Uint32Array(this.buckets)
    this.#counts = new Uint32Array(this.buckets)
  }

  add(hash: number, page: number): void {
    const row = this.#size++
    const bucket = bucketOf(hash, this.buckets)
    this.#hashes.set(row, hash)
    this.#pages.set(row, page)
    this.#before.set(row, this.#latest[bucket]!)
    this.#latest[bucket] = row + 1
    this.#counts[bucket]!++
  }

  /**
   * The entries of the buckets from `from` to `end` (exclusive). A bucket has several parts only if
   * far more hashes than expected fall into it.
   */
  entries(from: number, end: number): ReadonlyArray<Entry> {
    const entries: Array<Entry> = []
    for (let bucket = from; bucket < end; bucket++) {
      let next = this.#latest[bucket]!
      let left = this.#counts[bucket]!
      for (let part = 0; left > 0; part++) {
        const pairs = Buffer.allocUnsafe(Math.min(left, partPairsMax) * pairBytes)
        for (let at = 0; at < pairs.length; next = this.#before.get(next - 1), left--) {
          at = pairs.writeUInt32LE(this.#hashes.get(next - 1), at)
          at = pairs.writeUInt32LE(this.#pages.get(next - 1), at)
        }
        entries.push(bucketEntry(this.#place, bucket, part, pairs))
      }
    }
    return entries
  }
}

const partPairsMax = Math.floor(limits.boardPageBytesMax / pairBytes)
