/**
 * Reads over HTTP: a user, and a page of 100 members anywhere on the leaderboard, beside the peers.
 */
import { userIdAt } from "./events.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import type { BenchOptions } from "./options.ts"
import { closedLines, closedRounds } from "./rounds.ts"
import type { Subject } from "./Subject.ts"
import { bareSubject, replyOf, withSubjects } from "./subjects.ts"

interface Read {
  readonly bench: string
  readonly kind: "user" | "page"
}

/** One after the other on the same servers; a bare server for each, since it gives one reply. */
const measure = (
  users: number,
  reads: readonly [Read, ...ReadonlyArray<Read>],
  options: BenchOptions,
): Promise<ReadonlyArray<BenchLine>> => {
  const { connections = 64, quick = false } = options
  const seconds = options.seconds ?? (quick ? 1 : 8)
  const pathOf = ({ kind }: Read) =>
    kind === "user"
      ? `/v1/users/${userIdAt(0)}`
      : `/v1/leaderboard?limit=100&offset=${Math.floor(users / 2)}`
  const example = { path: pathOf(reads[0]), events: 0 }
  // Each read has a bare server, also alone.
  const wanted = { ...options, users, example, alone: false, withPeers: !options.alone }
  return withSubjects(wanted, async (subjects) => {
    const [laurel, first, ...peers] = subjects as [Subject, Subject, ...ReadonlyArray<Subject>]
    const lines: Array<BenchLine> = []
    for (const read of reads) {
      const bare =
        read === reads[0] ? first : await bareSubject(await replyOf(laurel, pathOf(read)))
      try {
        const all = [laurel, bare, ...peers]
        const work = { kind: read.kind, users, connections, seconds } as const
        await closedRounds(all, 1, { ...work, seconds: quick ? 1 : 4 })
        lines.push(
          ...closedLines(read.bench, read.kind, await closedRounds(all, quick ? 1 : 3, work)),
        )
      } finally {
        if (bare !== first) await bare.stop()
      }
    }
    return lines
  })
}

/**
 * About seven minutes with all peers.
 */
export const reads = async (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const [warm, many] = options.quick ? [5_000, 10_000] : [100_000, 1_000_000]
  const of = (users: number) => users.toLocaleString("en-US")
  return [
    ...(await measure(warm, [{ bench: `a user of ${of(warm)}`, kind: "user" }], options)),
    ...(await measure(
      many,
      [
        { bench: `a user of ${of(many)}`, kind: "user" },
        { bench: `100 members of ${of(many)}`, kind: "page" },
      ],
      options,
    )),
  ]
}

if (import.meta.main) for (const line of await reads()) console.log(formatLine(line))
