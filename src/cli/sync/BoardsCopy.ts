/**
 * The leaderboards of an environment in the copy.
 *
 * A window is written in one transaction, which replaces what the copy had of it. A window whose ranks
 * are final, and whose prizes are paid, is written once. The others are written again in each round.
 *
 * Invariants:
 * - A row of `leaderboard_windows` with `closed` is final, and so are all earlier windows of its kind:
 *   past windows are written from the oldest to the newest.
 * - `leaderboard_entries` has each entrant of a window at most once.
 *
 * The pages of an open window are read one after another while ranks move, so an entrant may be missing
 * until the next round. Entries of closed windows do not move.
 *
 * Cost: for each window that is written, a request for 100 entries, up to `entries` of them.
 */
import type {
  BoardEntries,
  LeaderboardDefinition,
  TeamBoardEntries,
} from "../../client/generated/types.ts"
import type { Laurel } from "../../client/Laurel.ts"
import { limits } from "../../Limits.ts"
import { type Client, insertRows, inTransaction, isDue, type Place } from "./rows.ts"

type Kind = BoardEntries["window"]["kind"]
type Page = BoardEntries | TeamBoardEntries

export class BoardsCopy {
  readonly #client: Client
  readonly #laurel: Laurel
  readonly #place: Place
  readonly #values: readonly [project: string, environment: string]
  readonly #entries: number

  /** `entries`: the most of each window that are copied. */
  constructor(client: Client, laurel: Laurel, place: Place, entries: number) {
    this.#client = client
    this.#laurel = laurel
    this.#place = place
    this.#values = [place.project, place.environment]
    this.#entries = entries
  }

  /**
   * Writes the windows that are not final, if none was written for `everyMs`. Returns how many were
   * written; `undefined`: the last round is not that long ago.
   */
  async round(everyMs: number): Promise<number | undefined> {
    if (!(await isDue(this.#client, this.#place, "boards_at", everyMs))) return undefined
    let written = 0
    const keys: Array<string> = []
    for await (const board of this.#laurel.leaderboards.list({ limit: limits.pageMax })) {
      if (board.status === "draft") continue
      keys.push(board.key)
      for (const window of board.windows) {
        const kind = typeof window === "object" ? "days" : window
        written += await this.#writeKind(board, kind)
      }
    }
    await this.#deleteOthers(keys)
    await this.#client.query(
      "UPDATE sync SET boards_at = now() WHERE project = $1 AND environment = $2",
      [...this.#values],
    )
    return written
  }

  /** Writes the windows of a kind, the oldest first. Returns how many there were. */
  async #writeKind(board: LeaderboardDefinition, kind: Kind): Promise<number> {
    const { rows } = await this.#client.query<{ readonly starts_at: Date | null }>(
      `SELECT NULLIF(starts_at, '-infinity') AS starts_at FROM leaderboard_windows
WHERE project = $1 AND environment = $2 AND leaderboard = $3 AND "window" = $4 AND closed
ORDER BY leaderboard_windows.starts_at DESC LIMIT 1`,
      [...this.#values, board.key, kind],
    )
    const final = rows.length === 0 ? undefined : (rows[0]!.starts_at?.getTime() ?? 0)
    const windows = await this.#windowsAfter(board, kind, final)
    for (const { at, first } of windows) await this.#write(board, kind, at, first)
    return windows.length
  }

  /**
   * The windows after the last final one, the oldest first, each with its first page; without `at` the
   * present one. Windows before the board was made are empty and left out.
   */
  async #windowsAfter(
    board: LeaderboardDefinition,
    kind: Kind,
    final: number | undefined,
  ): Promise<ReadonlyArray<{ readonly at: string | undefined; readonly first: Page }>> {
    const begin = Date.parse(board.startsAt ?? board.createdAt)
    const windows: Array<{ readonly at: string | undefined; readonly first: Page }> = []
    let at: string | undefined
    const kept = kind === "all_time" ? 0 : (board.keepWindows ?? keptByDefault[kind])
    for (let past = 0; past <= kept; past++) {
      const first = await this.#page(board, kind, at, 0)
      const { endsAt, startsAt } = first.window
      const start = startsAt === null ? 0 : Date.parse(startsAt)
      if (final !== undefined && start <= final) break
      if (endsAt !== null && Date.parse(endsAt) <= begin) break
      windows.unshift({ at, first })
      if (startsAt === null) break
      at = new Date(start - 1).toISOString()
    }
    return windows
  }

  async #write(
    board: LeaderboardDefinition,
    kind: Kind,
    at: string | undefined,
    first: Page,
  ): Promise<void> {
    const read = new Map<string, object>()
    let page = first
    let offset = 0
    while (true) {
      for (const row of rowsOf(page)) read.set(row.entrant, row)
      offset += page.entries.length
      if (!page.hasMore || offset >= this.#entries) break
      page = await this.#page(board, kind, at, offset)
    }
    // The window may have closed after its first page was read.
    const { closed, paying, total, window } = first
    const startsAt = window.startsAt ?? "-infinity"
    const place = { leaderboard: board.key, window: kind, starts_at: startsAt }
    await inTransaction(this.#client, async () => {
      // The lock of the row makes a second process wait that writes the same window.
      await this.#client.query(
        `INSERT INTO leaderboard_windows VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now())
ON CONFLICT (project, environment, leaderboard, "window", starts_at) DO UPDATE SET
ends_at = excluded.ends_at, closed = excluded.closed, total = excluded.total, read_at = excluded.read_at`,
        [
          ...this.#values,
          board.key,
          kind,
          startsAt,
          window.endsAt,
          closed && !paying,
          total,
          board.entrants,
        ],
      )
      await this.#client.query(
        `DELETE FROM leaderboard_entries WHERE project = $1 AND environment = $2
AND leaderboard = $3 AND "window" = $4 AND starts_at = $5`,
        [...this.#values, board.key, kind, startsAt],
      )
      const entries = [...read.values()].map((row) => ({ ...place, ...row }))
      await insertRows(this.#client, this.#place, "leaderboard_entries", entries)
    })
  }

  /** Deletes archived boards. */
  async #deleteOthers(keys: ReadonlyArray<string>): Promise<void> {
    await inTransaction(this.#client, async () => {
      for (const table of ["leaderboard_windows", "leaderboard_entries"]) {
        await this.#client.query(
          `DELETE FROM ${table} WHERE project = $1 AND environment = $2 AND leaderboard <> ALL($3)`,
          [...this.#values, keys],
        )
      }
    })
  }

  #page(
    { entrants, key }: LeaderboardDefinition,
    window: Kind,
    at: string | undefined,
    offset: number,
  ): Promise<Page> {
    const { leaderboards } = this.#laurel
    const limit = Math.min(limits.pageMax, this.#entries - offset)
    const query = { window, offset, limit, ...(at !== undefined && { at }) }
    return entrants === "teams" ? leaderboards.teams(key, query) : leaderboards.entries(key, query)
  }
}

/** How many past windows of a kind the server keeps unless the board says otherwise. */
const keptByDefault = {
  daily: limits.boardDailyWindowsKept,
  weekly: limits.boardWeeklyWindowsKept,
  monthly: limits.boardMonthlyWindowsKept,
  days: limits.boardDaysWindowsKept,
}

const rowsOf = ({ entries }: Page) =>
  entries.map((entry) => {
    const { prizes, rank, score } = entry
    if ("team" in entry) {
      const { id } = entry.team
      return { entrant: id, user_id: null, team_id: id, rank, score, prizes }
    }
    const { group = null, groupRank = null, userId } = entry
    const ids = { entrant: userId, user_id: userId, team_id: null }
    return { ...ids, rank, score, prizes, group, group_rank: groupRank }
  })
