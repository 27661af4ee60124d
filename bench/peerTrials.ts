/**
 * The peers with each driver, and PostgreSQL with several numbers of connections: the basis of
 * `tuned` in `peers.ts`.
 */
import { type BenchLine, formatLine } from "./Line.ts"
import { closedLoopConnections } from "./loads.ts"
import type { BenchOptions } from "./options.ts"
import { type PeerTuning, peers } from "./peers.ts"
import { closedLines, closedRounds } from "./rounds.ts"

const users = 100_000

const trials: ReadonlyArray<
  readonly [name: keyof typeof peers, tunings: ReadonlyArray<PeerTuning>]
> = [
  [
    "postgres",
    (["postgres", "pg"] as const).flatMap((driver) =>
      [4, 8, 16, 32].map((connections) => ({ driver, connections })),
    ),
  ],
  [
    "always",
    [
      { driver: "ioredis", connections: 1 },
      { driver: "redis", connections: 1 },
    ],
  ],
]

/** Measures all lines; about three minutes. */
export const peerTrials = async ({
  quick = false,
  seconds = quick ? 2 : 8,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const lines: Array<BenchLine> = []
  for (const [kind, tunings] of trials) {
    const peer = peers[kind]
    if ("missing" in peer) {
      console.error(peer.missing)
      continue
    }
    for (const tuning of tunings) {
      const subject = await peer.start(tuning)
      try {
        const work = { kind: "event", users, connections: closedLoopConnections } as const
        await closedRounds([subject], 1, { ...work, seconds: quick ? 1 : 4 })
        const measured = await closedRounds([subject], quick ? 1 : 3, { ...work, seconds })
        const { connections, driver } = tuning
        const bench = `${subject.name}, ${driver}, ${connections} connections`
        lines.push(...closedLines(bench, "event", measured).slice(0, 2))
      } finally {
        await subject.stop()
      }
    }
  }
  return lines
}

if (import.meta.main) for (const line of await peerTrials()) console.log(formatLine(line))
