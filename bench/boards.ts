/**
 * Laurel's leaderboard beside a sorted set of Redis, pipelined, and npm packages with ranks; and the
 * cost of the leaderboards of a project.
 */
import { inProcess, type Running, startProcess } from "./children.ts"
import { programOf, startRedis } from "./databases.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import type { BenchOptions } from "./options.ts"
import { peersAreInstalled } from "./peers.ts"
import type { BoardKind, BoardOptions, BoardRound, BoardStart } from "./processes/boards.ts"
import type { ProjectBoardsOptions, ProjectBoardsReport } from "./processes/projectBoards.ts"
import { lineOf } from "./rounds.ts"

const names = {
  laurel: "Laurel",
  zset: "Redis ZSET, pipelined",
  skipList: "tlhunter-sorted-set",
  orderedMap: "@js-sdsl/ordered-map",
} satisfies Record<BoardKind, string>

interface Started extends Running<BoardStart> {
  readonly name: string
  readonly ask: () => Promise<unknown>
}

/** Measures all lines; about three minutes. */
export const boards = async (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => [
  ...(await besidePeers(options)),
  ...(await ofProject(options)),
]

const ofProject = async ({ quick = false }: BenchOptions): Promise<ReadonlyArray<BenchLine>> => {
  const options: ProjectBoardsOptions = quick
    ? { users: 1_000, events: 5_000, rounds: 1 }
    : { users: 10_000, events: 100_000, rounds: 5 }
  const report = await inProcess<ProjectBoardsReport>("projectBoards", options)
  const { aroundUs, bytesPerRow, oneUs, pageUs, threeUs } = report
  return [
    {
      question: "leaderboards of a project: an event on three",
      value: threeUs,
      unit: "µs/event",
      reference: { name: "an event on one", value: oneUs, unit: "µs/event" },
      ratio: threeUs / oneUs,
      goal: "≤ 1.5×",
    },
    {
      question: "leaderboards of a project: memory of a row of a window",
      value: bytesPerRow,
      unit: "B",
      goal: "≤ 40 B",
    },
    { question: "99 leaderboards of a project: page of 100", value: pageUs, unit: "µs" },
    { question: "99 leaderboards of a project: page around a user", value: aroundUs, unit: "µs" },
  ]
}

const besidePeers = async ({ quick = false }: BenchOptions): Promise<ReadonlyArray<BenchLine>> => {
  const members = quick ? 20_000 : 1_000_000
  const program = programOf("redis-server")
  if (program === undefined) console.error("Redis is left out: apt-get install redis-server")
  if (!peersAreInstalled) console.error("The packages are left out: npm ci --prefix bench/peers")
  const redis =
    program !== undefined && peersAreInstalled ? await startRedis(program, "off") : undefined
  const kinds = (Object.keys(names) as ReadonlyArray<BoardKind>).filter((kind) => {
    return kind === "laurel" || (kind === "zset" ? redis !== undefined : peersAreInstalled)
  })
  const all: Array<Started> = []
  try {
    for (const kind of kinds) {
      const socket = kind === "zset" ? { socket: redis!.socket } : {}
      const options: BoardOptions = { kind, members, ...socket }
      all.push({ name: names[kind], ...(await startProcess<BoardStart>("boards", options)) })
    }
    const measured = all.map((subject) => ({ subject, rounds: [] as Array<BoardRound> }))
    // The first round warms up.
    for (let round = 0; round <= (quick ? 1 : 5); round++) {
      for (const { rounds, subject } of measured) {
        const report = (await subject.ask()) as BoardRound
        if (round > 0) rounds.push(report)
      }
    }
    const bench = `a board of ${members.toLocaleString("en-US")}`
    const line = (question: string, pick: (round: BoardRound) => number) =>
      lineOf(`${bench}: ${question}`, "µs", measured, pick)
    return [
      line("add 10 to a user", (round) => round.addUs),
      line("rank of a user", (round) => round.rankUs),
      line("first page of 100", (round) => round.firstPageUs),
      line("page of 100 in the middle", (round) => round.deepPageUs),
    ]
  } finally {
    for (const each of all) await each.stop()
    await redis?.stop()
  }
}

if (import.meta.main) for (const line of await boards()) console.log(formatLine(line))
