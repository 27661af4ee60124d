/**
 * A leaderboard of many members, Laurel's or one of `peers/boards.mjs`: each message to the process
 * asks for a round of all operations, and what each costs.
 */
import { Leaderboard } from "../../src/domain/board/Leaderboard.ts"
import { answer } from "../children.ts"
import { heapBytes } from "../heap.ts"

export type BoardKind = "laurel" | "zset" | "skipList" | "orderedMap"

export interface BoardOptions {
  readonly kind: BoardKind
  readonly members: number
  /** Of Redis. */
  readonly socket?: string
}

/** Microseconds of processor time of one operation, that of Redis included. */
export interface BoardRound {
  readonly addUs: number
  readonly rankUs: number
  readonly firstPageUs: number
  readonly deepPageUs: number
}

export interface BoardStart {
  readonly buildMs: number
  readonly bytesPerMember: number
}

interface Row {
  readonly rank: number
  readonly userId: string
  readonly score: number
}

/** Lists, so that a server gets all of one at once. */
interface Board {
  fill(ids: ReadonlyArray<string>, scores: Float64Array): void | Promise<void>
  add(ids: ReadonlyArray<string>, by: number): unknown
  ranks(ids: ReadonlyArray<string>): unknown
  pages(offsets: ReadonlyArray<number>, limit: number): unknown
  processorUs?(): Promise<number>
}

const laurel = (): Board => {
  let board = Leaderboard.fromEntries([])
  let sequence = 0
  const page = (offset: number, limit: number): ReadonlyArray<Row> => {
    const rows: Array<Row> = []
    board.visit(offset, limit, (member, score, rank) => {
      rows.push({ rank, userId: board.members.idOf(member), score })
    })
    return rows
  }
  return {
    fill: (ids, scores) => {
      const entries = ids.map((userId, n) => ({ userId, score: scores[n]!, tieSequence: n }))
      board = Leaderboard.fromEntries(entries)
      sequence = ids.length
    },
    add: (ids, by) => {
      for (const userId of ids) board.setUser(userId, board.scoreOf(userId) + by, sequence++)
    },
    ranks: (ids) => ids.map((userId) => board.rankOf(userId)),
    pages: (offsets, limit) => offsets.map((offset) => page(offset, limit)),
  }
}

const peerOf = async ({ kind, socket }: BoardOptions): Promise<Board> => {
  // By a name that is computed: the packages are not installed where types are checked.
  const { href } = new URL("../peers/boards.mjs", import.meta.url)
  const peers = await import(href)
  if (kind === "zset") return peers.openZset(socket)
  return kind === "skipList" ? peers.openSkipList() : peers.openOrderedMap()
}

/** Xorshift: the same in each process. */
let state = 0x9e3779b9
const random = (): number => {
  state ^= state << 13
  state ^= state >>> 17
  state ^= state << 5
  return (state >>> 0) / 2 ** 32
}

const logNormal = (): number => {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return Math.max(1, Math.round(Math.exp(6 + 1.5 * normal)))
}

const pageLength = 100
/** A round of an operation ends with the list after that time. */
const roundMsMax = 1_000

const run = async (options: BoardOptions): Promise<BoardStart> => {
  const { members } = options
  // Through a buffer: strings as they come from the network, not as they were concatenated.
  const ids = Array.from({ length: members }, (_, n) => Buffer.from(`user_${n}`).toString())
  const scores = Float64Array.from({ length: members }, logNormal)
  const board = options.kind === "laurel" ? laurel() : await peerOf(options)
  const processorUs = async () => {
    const { system, user } = process.cpuUsage()
    return system + user + ((await board.processorUs?.()) ?? 0)
  }
  /** Microseconds for each of `count` operations, given in lists of `together`. */
  const cost = async (count: number, together: number, use: (length: number) => unknown) => {
    const before = await processorUs()
    const startedAt = performance.now()
    let done = 0
    for (; done < count && performance.now() - startedAt < roundMsMax; done += together) {
      await use(together)
    }
    return ((await processorUs()) - before) / done
  }
  const anyone = () => Math.floor(random() * members)
  const some = (length: number) => Array.from({ length }, () => ids[anyone()]!)

  const bytesBefore = heapBytes()
  const startedAt = performance.now()
  await board.fill(ids, scores)
  const buildMs = performance.now() - startedAt
  const bytesPerMember = (heapBytes() - bytesBefore) / members

  const round = async (): Promise<BoardRound> => ({
    addUs: await cost(100_000, 1_000, (length) => board.add(some(length), 10)),
    rankUs: await cost(100_000, 1_000, (length) => board.ranks(some(length))),
    firstPageUs: await cost(5_000, 50, (length) => board.pages(Array(length).fill(0), pageLength)),
    deepPageUs: await cost(5_000, 50, (length) =>
      board.pages(Array(length).fill(members / 2), pageLength),
    ),
  })
  process.on("message", async () => process.send!(await round()))
  return { buildMs, bytesPerMember }
}

await answer(run)
