/**
 * The effect of hostile callers on others: 1,000 events a second of one project, alone and beside
 * 10 requests a second (1 %) of three other projects that aim at processor time and memory.
 */
import { writeFileSync } from "node:fs"
import path from "node:path"
import { Effect } from "effect"
import { readServerFile } from "../src/cli/process/AdminRequest.ts"
import type { Tier } from "../src/domain/project/Directory.ts"
import { limits } from "../src/Limits.ts"
import { inProcess } from "./children.ts"
import { type BenchLine, comparing, formatLine } from "./Line.ts"
import { checkTotal, createKey, startLaurel } from "./laurel.ts"
import { closedLoop, closedLoopConnections, openLoop } from "./loads.ts"
import { longestTurn, longestTurnSettings } from "./longestTurn.ts"
import { withTemporaryFolder } from "./millionUsers.ts"
import type { BenchOptions } from "./options.ts"
import type { HostileCaller, HostileOptions, HostileReport } from "./processes/hostile.ts"

const rules = 2_000
/** The maximum number of rules of one action. */
const textSearches = limits.textSearchesOfActionMax
const eventsOfBatch = 400
const membersOfBody = 700_000
const floodTogether = 200
/**
 * Interval of each of the four callers: 10 requests a second together, and the flood sends 200 per
 * request.
 */
const everyMs = 400
const load = { connections: 300, perSecond: 1_000, warmUpSeconds: 2 }

const limitProject = async (directory: string, project: string, tier: Tier): Promise<void> => {
  const { adminUrl, token } = (await Effect.runPromise(readServerFile(directory)))!
  const reply = await fetch(`${adminUrl}/admin/projects/${project}/limit`, {
    method: "PUT",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ tier }),
  })
  if (!reply.ok) throw new Error(`No limit: ${reply.status}`)
}

/** Rules that each event of the project evaluates. */
const createRules = async (port: number, key: string): Promise<void> => {
  for (let number = 0; number < rules; number++) {
    const condition =
      number < textSearches
        ? { op: "contains", value: `nothing-${number}` }
        : { op: "lt", value: `a${number}` }
    const rule = {
      action: "HOSTILE",
      where: [{ path: "metadata.text", ...condition }],
      reward: { xp: 1 },
    }
    const reply = await fetch(`http://127.0.0.1:${port}/v1/rules`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(rule),
    })
    const text = await reply.text()
    if (!reply.ok) throw new Error(`No rule: ${reply.status} ${text}`)
  }
}

/** The kinds of hostile callers, in projects of their own. */
const hostileCallers = async (
  directory: string,
  port: number,
): Promise<ReadonlyArray<HostileCaller>> => {
  const ingest = await createKey(directory, "bodies", { scope: "ingest" })
  await limitProject(directory, "bodies", "free")
  const ruled = await createKey(directory, "rules", { scope: "full" })
  const flood = await createKey(directory, "flood", { scope: "full" })
  await createRules(port, ruled)
  const members = Array.from({ length: membersOfBody }, (_, n) => `"m${n}":0`).join()
  const event = `{"userId":"u","action":"HOSTILE","metadata":{"text":"${"x".repeat(500)}"}}`
  const kinds = [
    {
      name: "a body of 700,000 members in metadata",
      key: ingest,
      body: `{"events":[{"userId":"u","action":"A","metadata":{${members}}}]}`,
    },
    {
      name: "a body of 700,000 unknown members",
      key: ingest,
      body: `{"events":[{"userId":"u","action":"A"}],${members}}`,
    },
    {
      name: "400 events against 2,000 rules",
      key: ruled,
      body: `{"events":[${Array(eventsOfBatch).fill(event).join()}]}`,
    },
    {
      name: "200 events at once",
      key: flood,
      body: '{"userId":"u","action":"A"}',
      path: "/v1/events",
      together: floodTogether,
    },
  ]
  return kinds.map(({ body, ...kind }, index) => {
    const bodyFile = path.join(directory, `hostile-${index}.json`)
    writeFileSync(bodyFile, body)
    return { path: "/v1/events/batch", together: 1, ...kind, bodyFile }
  })
}

const describe = (report: HostileReport): string =>
  Object.entries(report)
    .map(([name, { accepted, refused, sent, skipped }]) => {
      return `${name}: ${sent} sent, ${accepted} accepted, ${refused} refused, ${skipped} skipped`
    })
    .join("; ")

/** Measures all lines; about a minute. */
export const hostile = ({ quick = false }: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (directory) => {
    const measured = { ...load, measureSeconds: quick ? 4 : 15 }
    const file = path.join(directory, "longest-turn")
    const settings = longestTurnSettings(file)
    const laurel = await startLaurel({ directory: path.join(directory, "data"), settings })
    try {
      const { answer } = laurel
      const callers = await hostileCallers(path.join(directory, "data"), answer.port)
      const warm = await closedLoop(answer, quick ? 2 : 9)
      await longestTurn(laurel, file)
      const quiet = await openLoop(answer, measured)
      const quietTurn = await longestTurn(laurel, file)
      const options: HostileOptions = { port: answer.port, everyMs, callers }
      const measuring = openLoop(answer, measured)
      const report = await inProcess<HostileReport>("hostile", options, measuring)
      const beside = await measuring
      const turn = await longestTurn(laurel, file)
      console.error(describe(report))
      if (quiet.broken + beside.broken === 0) {
        const accepted = quiet.acceptedInAll + beside.acceptedInAll
        await checkTotal(laurel, warm.answered + accepted, closedLoopConnections)
      }
      const counts = Object.values(report)
      const turns = counts.reduce((sum, count) => sum + count.turns, 0)
      const skipped = counts.reduce((sum, count) => sum + count.skipped, 0)
      const line = comparing("1 % hostile", "none of them")
      const lost = ({ accepted, offered }: typeof quiet) => (1 - accepted / offered) * 100
      return [
        line(
          "99 % of 1,000 events/s of others within",
          "ms",
          beside.whole.p99Ms,
          quiet.whole.p99Ms,
          "≤ 2×",
        ),
        line("median of others' events", "ms", beside.whole.p50Ms, quiet.whole.p50Ms),
        line("others' events refused or not sent", "%", lost(beside), lost(quiet), "0 %"),
        line(
          "longest turn, processor time",
          "ms",
          turn.processorMs,
          quietTurn.processorMs,
          "≤ 50 ms",
        ),
        line("longest turn, wall clock", "ms", turn.clockMs, quietTurn.clockMs),
        {
          question: "1 % hostile: hostile requests left out, the last one had no reply",
          value: (skipped / Math.max(1, turns)) * 100,
          unit: "%",
          goal: "< 10 %, else the load was lighter than said",
        },
        line(
          "longest time that the load stood still",
          "ms",
          beside.longestPauseMs,
          quiet.longestPauseMs,
          "< 50 ms, else the machine was busy",
        ),
      ]
    } finally {
      await laurel.stop()
    }
  })

if (import.meta.main) for (const line of await hostile()) console.log(formatLine(line))
