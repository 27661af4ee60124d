/**
 * The cost of HTTP without an engine: processor time per single event of bare `node:http`, of
 * Laurel's pipeline, and of Effect's `HttpApiBuilder`, each answering the same request with the
 * same reply.
 */
import { startProcess } from "./children.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { closedLoop } from "./loads.ts"
import type { BenchOptions } from "./options.ts"
import type { HttpServerOptions } from "./processes/httpServer.ts"
import { median } from "./statistics.ts"

const kinds = ["bare", "pipeline", "builder"] as const
type Kind = (typeof kinds)[number]
const names = { bare: "bare node:http", pipeline: "Laurel's pipeline", builder: "HttpApiBuilder" }

const reply = JSON.stringify({
  eventId: "evt_0mws0r6qh4",
  userId: "user-42",
  action: "LESSON_DONE",
  duplicate: false,
  occurredAt: "2026-11-22T10:00:00.000Z",
  receivedAt: "2026-11-22T10:00:00.000Z",
  xp: { earned: 10, total: 1250 },
  points: { earned: 0, total: 0 },
  level: { before: 5, after: 5 },
  badges: [],
  quests: [],
  streaks: [],
})

/** Measures all lines; about a minute and a half. */
export const pipeline = async ({
  quick = false,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const rounds = quick ? 1 : 5
  const seconds = quick ? 1 : 4
  const servers = await Promise.all(
    kinds.map(async (kind) => {
      const options: HttpServerOptions = { kind, reply }
      const server = await startProcess<{ readonly port: number }>("httpServer", options)
      return { kind, server, costs: [] as number[] }
    }),
  )
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const { costs, server } of servers) {
        const before = Number(await server.ask())
        const { answered } = await closedLoop({ ...server.answer, key: "lk_test_bench" }, seconds)
        costs.push((Number(await server.ask()) - before) / answered)
      }
    }
  } finally {
    for (const { server } of servers) await server.stop()
  }
  // The first round warms up.
  const costOf = (kind: Kind) => median(servers.find((each) => each.kind === kind)!.costs.slice(1))
  const bare = costOf("bare")
  return (["pipeline", "builder"] as const).map((kind) => ({
    question: `processor time of HTTP: ${names[kind]}`,
    value: costOf(kind),
    unit: "µs/request",
    reference: { name: names.bare, value: bare, unit: "µs/request" },
    ratio: costOf(kind) / bare,
  }))
}

if (import.meta.main) for (const line of await pipeline()) console.log(formatLine(line))
