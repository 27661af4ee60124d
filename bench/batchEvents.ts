/**
 * Events in batches of 1,000 over HTTP, durable, beside a server that only parses the same bytes,
 * and the peers.
 */
import { randomEvent } from "./events.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import type { BenchOptions } from "./options.ts"
import { answeredBy, closedLines, closedRounds, memoryLines } from "./rounds.ts"
import { withSubjects } from "./subjects.ts"

const events = 1_000

const measure = (options: BenchOptions, withIds: boolean): Promise<ReadonlyArray<BenchLine>> => {
  const { connections = 4, quick = false } = options
  const users = options.users ?? (quick ? 10_000 : 1_000_000)
  // Long enough for a snapshot, which is due after every 200,000 events.
  const seconds = options.seconds ?? (quick ? 3 : 8)
  const work = { kind: "event", events, users, withIds, connections, seconds } as const
  const body = { events: Array.from({ length: events }, () => randomEvent(withIds)) }
  const example = { path: "/v1/events/batch", body, events }
  // The peers need ids.
  const wanted = { ...options, users, example, withPeers: withIds }
  return withSubjects(wanted, async (subjects, filled) => {
    const warm = await closedRounds(subjects, 1, { ...work, seconds: quick ? 3 : 4 })
    const rounds = quick ? 1 : 3
    const closed = await closedRounds(subjects, rounds, work)
    const laurels = subjects.filter(({ isLaurel = false }) => isLaurel)
    const minimal = withIds
      ? await closedRounds(laurels, rounds, { ...work, minimal: true }, subjects)
      : []
    for (const subject of subjects) {
      const { answered, unread } = answeredBy(subject, work, warm, closed, minimal)
      await subject.check(filled(subject) + answered, unread)
    }
    const bench = `batches of ${events.toLocaleString("en-US")} ${withIds ? "with ids" : "without ids"}`
    return [
      ...closedLines(bench, "event", closed),
      ...memoryLines(bench, subjects),
      ...(withIds ? closedLines(`${bench}, return=minimal`, "event", minimal) : []),
    ]
  })
}

/** Measures all lines; about six minutes with all peers. */
export const batchEvents = async (
  options: BenchOptions = {},
): Promise<ReadonlyArray<BenchLine>> => [
  ...(await measure(options, true)),
  ...(await measure(options, false)),
]

if (import.meta.main) for (const line of await batchEvents()) console.log(formatLine(line))
