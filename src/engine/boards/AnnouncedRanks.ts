/**
 * The ranks that messages have announced in the open windows of the leaderboards of an environment.
 *
 * Invariants:
 * - They are the fold of durable records, each folded once, in the order of the sequences, also during recovery,
 *   from the watermark on: a fact `leaderboard.rank_changed` sets the rank of a user or removes it. The close of a window,
 *   the end of a leaderboard or of its announcements, and the erasure or the merge of a user remove ranks without
 *   a message. Besides, a look removes the ranks of a window that ended without a record, since it listed nobody.
 * - A snapshot has them as of its watermark, in the transaction that sets the watermark.
 *
 * Ownership: the commit pipeline folds; `actor/RankNews.ts` compares them with the boards, and removes what no
 * record does.
 *
 * Cost: an entry of a map for each rank that is announced, and a row of the snapshot for each window that
 * changed. Nothing without leaderboards that announce ranks.
 */
import { Effect } from "effect"
import { announces, xpBoard } from "../../domain/project/BoardDefinition.ts"
import { definitionIn } from "../../domain/project/Kinds.ts"
import type { RankChange } from "../../domain/record/BoardFact.ts"
import type { Fact, FactOf, JournalRecord } from "../../domain/record/Record.ts"
import { compositeKey, keyParts, rangeOf } from "../../storage/Keys.ts"
import type { Entry, Storage } from "../../storage/Storage.ts"
import { collectEntries, decodeValue, encodeValue, jsonOf } from "../../storage/Values.ts"
import { Changed } from "../records/Changed.ts"

/** A window of a leaderboard. All time has the index 0. */
export type RankedWindow = Pick<RankChange, "boardId" | "window" | "index">

interface Announced extends RankedWindow {
  /** By user. */
  readonly ranks: Map<string, number>
}

/** The value of a row. */
type RankRow = ReadonlyArray<readonly [userId: string, rank: number]>

const rankRowSection = "a"

const nameOf = ({ boardId, index, window }: RankedWindow): string => `${boardId} ${window} ${index}`

const nobody: ReadonlyMap<string, number> = new Map()

export class AnnouncedRanks {
  /** Those with ranks, by name. */
  readonly #windows = new Map<string, Announced>()
  /** The windows whose ranks changed. */
  readonly #changed = new Changed<RankedWindow>()

  /** The announced ranks of a window, by user. */
  of(window: RankedWindow): ReadonlyMap<string, number> {
    return this.#windows.get(nameOf(window))?.ranks ?? nobody
  }

  /** The windows of a leaderboard with announced ranks. */
  windowsOf(boardId: string): ReadonlyArray<RankedWindow> {
    return [...this.#windows.values()].filter((one) => one.boardId === boardId)
  }

  fold({ cause, facts, subject }: JournalRecord): void {
    if (subject.actor === "project") {
      if (this.#windows.size > 0) for (const fact of facts) this.#foldProject(fact)
    } else if (cause.kind === "ranks" && subject.actor === "user") {
      for (const fact of facts) {
        if (fact.kind === "leaderboard.rank_changed") this.#set(fact, subject.userId)
      }
    } else if (this.#windows.size > 0 && subject.actor === "user" && facts.some(isGone)) {
      this.forget(subject.userId)
    }
  }

  #set(fact: FactOf<"leaderboard.rank_changed">, userId: string): void {
    const { boardId, index, rank, window } = fact
    const name = nameOf(fact)
    let found = this.#windows.get(name)
    if (found === undefined) {
      if (rank === null) return
      found = { boardId, window, index, ranks: new Map() }
      this.#windows.set(name, found)
    }
    if (rank === null) this.#removeFrom(found, userId)
    else {
      found.ranks.set(userId, rank)
      this.#change(found)
    }
  }

  #foldProject(fact: Fact): void {
    if (fact.kind === "leaderboard.window_closed") {
      const boardId = fact.board?.boardId ?? xpBoard.id
      this.drop({ boardId, window: fact.window, index: fact.index })
    } else if (fact.kind === "leaderboard.closed") this.#dropBoard(fact.boardId)
    else if (fact.kind.startsWith("leaderboard.")) {
      const changed = definitionIn(fact)
      if (changed?.noun !== "leaderboard" || announces(changed.definition)) return
      this.#dropBoard(changed.definition.id)
    }
  }

  #dropBoard(boardId: string): void {
    for (const window of this.windowsOf(boardId)) this.drop(window)
  }

  /** Drops the ranks of a window that is over. */
  drop(window: RankedWindow): void {
    const found = this.#windows.get(nameOf(window))
    if (found === undefined) return
    this.#windows.delete(nameOf(window))
    this.#change(found)
  }

  /** Drops the ranks of a user who is gone. */
  forget(userId: string): void {
    for (const announced of this.#windows.values()) this.#removeFrom(announced, userId)
  }

  #removeFrom(announced: Announced, userId: string): void {
    if (!announced.ranks.delete(userId)) return
    if (announced.ranks.size === 0) this.#windows.delete(nameOf(announced))
    this.#change(announced)
  }

  #change({ boardId, index, window }: RankedWindow): void {
    this.#changed.note(nameOf({ boardId, index, window }), { boardId, index, window })
  }

  /** A snapshot begins. Returns its rows. */
  *begin(environment: string): Generator<Entry> {
    for (const window of this.#changed.begin().values()) {
      const { boardId, index, window: kind } = window
      const row: RankRow = [...this.of(window)]
      const value = row.length === 0 ? null : encodeValue(JSON.stringify(row))
      const key = compositeKey(rankRowSection, environment, boardId, kind, index)
      yield { table: "boards", key, value }
    }
  }

  /** The snapshot that began last has ended. */
  ended(): void {
    this.#changed.ended()
  }

  /** The snapshot has this row. */
  load(window: RankedWindow, row: RankRow): void {
    this.#windows.set(nameOf(window), { ...window, ranks: new Map(row) })
  }
}

const isGone = ({ kind }: Fact): boolean => kind === "user.deleted" || kind === "user.aliased"

/** Loads the rows of the snapshot. */
export const loadAnnouncedRanks = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  of: (environment: string) => AnnouncedRanks,
) {
  const range = { table: "boards", ...rangeOf(compositeKey(rankRowSection)) } as const
  for (const [key, value] of yield* collectEntries(storage, range)) {
    const [, environment, boardId, window, index] = keyParts(key) as [
      string,
      string,
      string,
      RankedWindow["window"],
      number,
    ]
    const row: RankRow = jsonOf(yield* decodeValue(value, { table: "boards", key }))
    of(environment).load({ boardId, window, index }, row)
  }
})
