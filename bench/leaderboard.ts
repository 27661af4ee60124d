/**
 * The leaderboard at 1,000,000 members with log-normal scores, against what one writes first: a
 * sorted array of objects, binary search, `splice`, and a Map from user id to object. Same ids,
 * same scores, same run. Times are medians of rounds in which both take turns, so that noise of the
 * machine meets both.
 */
import { Leaderboard } from "../src/domain/board/Leaderboard.ts"
import { type BenchLine, formatLine } from "./Line.ts"

const memberCount = 1_000_000
const rounds = 5

/** Xorshift: 0 ≤ number < 1, the same in every run. */
const makeRandom = (): (() => number) => {
  let state = 0x9e3779b9
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

interface BoardEntry {
  readonly rank: number
  readonly userId: string
  readonly score: number
}

/** A page of Laurel's board, as a reader gets it. */
const pageOf = (board: Leaderboard, offset: number, limit: number): Array<BoardEntry> => {
  const entries: Array<BoardEntry> = []
  board.visit(offset, limit, (member, score, rank) => {
    entries.push({ rank, userId: board.members.idOf(member), score })
  })
  return entries
}

interface SortedEntry {
  readonly userId: string
  score: number
  tie: number
}

/** The reference. */
class SortedArrayBoard {
  readonly #entries: Array<SortedEntry> = []
  readonly #byUser = new Map<string, SortedEntry>()

  fill(entries: ReadonlyArray<SortedEntry>): void {
    for (const entry of entries) {
      this.#entries.push(entry)
      this.#byUser.set(entry.userId, entry)
    }
    this.#entries.sort((a, b) => b.score - a.score || a.tie - b.tie)
  }

  set(userId: string, score: number, tie: number): void {
    const entry = this.#byUser.get(userId)!
    if (entry.score === score) return
    this.#entries.splice(this.#place(entry.score, entry.tie), 1)
    entry.score = score
    entry.tie = tie
    this.#entries.splice(this.#place(score, tie), 0, entry)
  }

  scoreOf(userId: string): number {
    return this.#byUser.get(userId)!.score
  }

  rankOf(userId: string): number {
    return 1 + this.#place(this.#byUser.get(userId)!.score, -1)
  }

  page(offset: number, limit: number): Array<BoardEntry> {
    let rank = 0
    let scoreBefore = -1
    return this.#entries.slice(offset, offset + limit).map(({ userId, score }, index) => {
      if (score !== scoreBefore) rank = index === 0 ? this.rankOf(userId) : offset + index + 1
      scoreBefore = score
      return { rank, userId, score }
    })
  }

  #place(score: number, tie: number): number {
    let low = 0
    let high = this.#entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const entry = this.#entries[middle]!
      if (entry.score > score || (entry.score === score && entry.tie < tie)) low = middle + 1
      else high = middle
    }
    return low
  }
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >>> 1]!

/** Mean microseconds of `operate`, called `count` times. */
const timed = (count: number, operate: () => unknown): number => {
  const start = performance.now()
  for (let n = 0; n < count; n++) operate()
  return ((performance.now() - start) / count) * 1_000
}

/** The bytes that `make`'s result keeps alive, for each member. */
const bytesPerMember = <A>(make: () => A): readonly [made: A, bytes: number] => {
  const used = (): number => {
    if (globalThis.gc === undefined) throw new Error("Memory needs node --expose-gc")
    globalThis.gc()
    globalThis.gc()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const before = used()
  const made = make()
  return [made, (used() - before) / memberCount]
}

/** The time that all but one in 1,000 calls of `operate` stay below, in milliseconds. */
const nearlySlowest = (count: number, operate: () => unknown): number => {
  const times = Float64Array.from({ length: count }, () => {
    const start = performance.now()
    operate()
    return performance.now() - start
  })
  return times.sort()[count - 1 - Math.floor(count / 1_000)]!
}

/** Measures all lines; about 25 seconds. */
export const leaderboard = async (): Promise<ReadonlyArray<BenchLine>> => {
  const random = makeRandom()
  const logNormal = (): number => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    return Math.max(1, Math.round(Math.exp(6 + 1.5 * normal)))
  }
  // Through a buffer: strings as they come from the network, not as they were concatenated.
  const ids = Array.from({ length: memberCount }, (_, n) =>
    Buffer.from(`user_${n.toString(36)}_${Math.floor(random() * 2 ** 32).toString(36)}`).toString(),
  )
  const scores = Float64Array.from({ length: memberCount }, logNormal)
  const anyone = (): number => Math.floor(random() * memberCount)
  let sequence = memberCount
  const lines: Array<BenchLine> = []
  const compare = (
    question: string,
    unit: string,
    value: number,
    name: string,
    reference: number,
    goal?: string,
  ): void => {
    lines.push({
      question: `leaderboard: ${question}`,
      value,
      unit,
      reference: { name, value: reference, unit },
      ratio: value / reference,
      ...(goal === undefined ? {} : { goal }),
    })
  }

  // Building, and what it keeps alive beside the ids' own text.
  const buildMs: Array<number> = []
  const build = (): Leaderboard => {
    const start = performance.now()
    const built = Leaderboard.fromEntries(
      ids.map((userId, n) => ({ userId, score: scores[n]!, tieSequence: n })),
    )
    buildMs.push(performance.now() - start)
    return built
  }
  build()
  build()
  const [board, bytes] = bytesPerMember(build)
  const naiveBuildMs: Array<number> = []
  const [naive, naiveBytes] = bytesPerMember(() => {
    const start = performance.now()
    const built = new SortedArrayBoard()
    built.fill(ids.map((userId, n) => ({ userId, score: scores[n]!, tie: n })))
    naiveBuildMs.push(performance.now() - start)
    return built
  })

  const race = (
    question: string,
    counts: readonly [ours: number, reference: number],
    ours: () => unknown,
    reference: () => unknown,
    goal?: string,
  ): void => {
    const times: Array<number> = []
    const referenceTimes: Array<number> = []
    // The first round only warms up.
    for (let round = 0; round <= rounds; round++) {
      const [time, referenceTime] = [timed(counts[0], ours), timed(counts[1], reference)]
      if (round > 0) times.push(time)
      if (round > 0) referenceTimes.push(referenceTime)
    }
    compare(question, "µs", median(times), "sorted array", median(referenceTimes), goal)
  }
  const naiveAdd = (): void => {
    const userId = ids[anyone()]!
    naive.set(userId, naive.scoreOf(userId) + 10, sequence++)
  }
  race(
    "add 10 to a random member",
    [200_000, 200],
    () => {
      const member = anyone()
      board.set(member, board.score(member) + 10, sequence++)
    },
    naiveAdd,
    "≤ 2.8 µs",
  )
  race(
    "add 10 by user id",
    [200_000, 200],
    () => {
      const userId = ids[anyone()]!
      board.setUser(userId, board.scoreOf(userId) + 10, sequence++)
    },
    naiveAdd,
  )
  race(
    "set a random score",
    [200_000, 200],
    () => board.set(anyone(), logNormal(), sequence++),
    () => naive.set(ids[anyone()]!, logNormal(), sequence++),
    "≤ 2.8 µs",
  )
  race(
    "rank of a random member",
    [300_000, 100_000],
    () => board.rank(anyone()),
    () => naive.rankOf(ids[anyone()]!),
    "≤ 1.1 µs",
  )
  race(
    "rank by user id",
    [300_000, 100_000],
    () => board.rankOf(ids[anyone()]!),
    () => naive.rankOf(ids[anyone()]!),
  )
  compare(
    "the slowest in 1,000 random scores set",
    "ms",
    nearlySlowest(200_000, () => board.set(anyone(), logNormal(), sequence++)),
    "sorted array",
    nearlySlowest(2_000, () => naive.set(ids[anyone()]!, logNormal(), sequence++)),
    "< 1 ms",
  )
  for (const offset of [0, 500_000]) {
    race(
      `page of 100 at offset ${offset.toLocaleString("en-US")}`,
      [20_000, 20_000],
      () => pageOf(board, offset, 100),
      () => naive.page(offset, 100),
      "≤ 1.8 µs",
    )
  }
  compare("build from unsorted entries", "ms", median(buildMs), "sorted array", naiveBuildMs[0]!)
  compare("bytes per member with id lookup", "B", bytes, "sorted array and Map", naiveBytes)

  // A further window over the same members costs the order alone; random moves leave its chunks
  // part empty.
  const [, windowBytes] = bytesPerMember(() => {
    const window = new Leaderboard(board.members)
    for (let member = 0; member < memberCount; member++) window.set(member, logNormal(), member)
    for (let n = 0; n < memberCount; n++) window.set(anyone(), logNormal(), memberCount + n)
    return window
  })
  lines.push({
    question: "leaderboard: bytes per member of a further window",
    value: windowBytes,
    unit: "B",
    goal: "≤ 35 B",
  })
  return lines
}

if (import.meta.main) for (const line of await leaderboard()) console.log(formatLine(line))
