/**
 * A steady load on many users: what reaches the disk for an event, how long the event loop is held,
 * and how late replies are, with snapshots alone and while an archive is made. A round is as long
 * as a cycle of snapshots, the pause and the paced writing, so it has the writes of one snapshot,
 * wherever in the cycle it begins.
 *
 * The device counts what all processes write. So the bench also prints what it wrote while all
 * servers were suspended, at the same rate for each event: that part is not theirs.
 */
import { mkdirSync } from "node:fs"
import path from "node:path"
import { fill } from "./fill.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { bytesAtRest, deviceBytes } from "./load/deviceWrites.ts"
import { anonymousBytes, processorUs } from "./load/processorTime.ts"
import { closedLoop, openLoop, snapshotCycleSeconds } from "./loads.ts"
import { type LongestTurn, longestTurn, longestTurnSettings } from "./longestTurn.ts"
import { makeArchive } from "./makeArchive.ts"
import { withTemporaryFolder } from "./millionUsers.ts"
import type { BenchOptions, Variant } from "./options.ts"
import type { OpenLoadReport } from "./processes/openLoad.ts"
import { inTurn, lineOf, type Measured } from "./rounds.ts"
import type { Subject } from "./Subject.ts"
import { startVariant } from "./subjects.ts"

interface Server extends Subject {
  readonly folder: string
}

interface Round {
  readonly report: OpenLoadReport
  /** Written to the device for an event. */
  readonly bytes: number
  readonly costUs: number
  readonly turn: LongestTurn
}

const connections = 300
const warmUpSeconds = 1
/** Every user in memory. */
const residents = { LAUREL_RESIDENT_USERS_MAX: "5000000", LAUREL_ARCHIVE_INTERVAL: "off" }

const start = async (variant: Variant, folder: string): Promise<Server> => {
  mkdirSync(folder)
  const own = longestTurnSettings(path.join(folder, "turn"))
  const given = variant.settings.NODE_OPTIONS ?? ""
  const settings = { ...residents, ...own, ...variant.settings }
  const NODE_OPTIONS = `${own.NODE_OPTIONS} ${given}`.trim()
  const subject = await startVariant(
    { ...variant, settings: { ...settings, NODE_OPTIONS } },
    folder,
  )
  return { ...subject, folder }
}

/** Measures all lines; about ten minutes for each server. */
export const steady = (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (folder) => {
    const { quick = false, variants = [] } = options
    const users = options.users ?? (quick ? 10_000 : 1_000_000)
    const perSecond = options.rate ?? (quick ? 300 : 1_700)
    const measureSeconds = options.seconds ?? (quick ? 3 : snapshotCycleSeconds - warmUpSeconds)
    const answered = new Map<string, number>()
    const servers: Array<Server> = []
    const round = async (
      server: Server,
      beforeUs: number,
      withArchive: boolean,
    ): Promise<Round> => {
      const file = path.join(server.folder, "turn")
      const pid = server.roots[0]!
      await longestTurn({ pid }, file)
      const bytesBefore = await deviceBytes(folder)
      const load = { users, perSecond, connections, warmUpSeconds, measureSeconds }
      const loading = openLoop(server.answer, load)
      if (withArchive) await makeArchive(path.join(server.folder, "data"))
      const report = await loading
      if (report.broken > 0) throw new Error(`${server.name}: ${report.broken} connections broke`)
      answered.set(server.name, answered.get(server.name)! + report.acceptedInAll)
      const costUs = (processorUs(server.roots) - beforeUs) / report.acceptedInAll
      const turn = await longestTurn({ pid }, file)
      const bytes = ((await deviceBytes(folder)) - bytesBefore) / report.acceptedInAll
      return { report, bytes, costUs, turn }
    }
    try {
      for (const variant of [{ name: "Laurel", settings: {} }, ...variants]) {
        const server = await start(variant, path.join(folder, String(servers.length)))
        servers.push(server)
        await fill(server.answer, users)
        const warm = await closedLoop(server.answer, quick ? 1 : 5, { users })
        answered.set(server.name, users + warm.answered)
      }
      const memory = servers.map((subject) => {
        return { subject, rounds: [anonymousBytes(subject.roots) / 2 ** 20] }
      })
      const rest = (await bytesAtRest(servers, folder, quick ? 1 : 10)) / perSecond
      const rounds = quick ? 1 : 3
      const calm = await inTurn(servers, rounds, (server, beforeUs) =>
        round(server as Server, beforeUs, false),
      )
      const archiving = await inTurn(servers, rounds, (server, beforeUs) =>
        round(server as Server, beforeUs, true),
      )
      for (const server of servers) await server.check(answered.get(server.name)!, 64)
      const of = `${perSecond.toLocaleString("en-US")}/s of ${users.toLocaleString("en-US")} users`
      return [
        lineOf(`${of}: private memory, all in memory`, "MiB", memory, (mebibytes) => mebibytes, {
          goal: "≤ 1,000 MiB of 1,000,000",
        }),
        ...linesOf(of, calm),
        lineOf(`${of}: written to the device`, "B/event", calm, ({ bytes }) => bytes, {
          goal: "≤ 1,500 B",
        }),
        {
          question: `${of}: written while the servers are suspended`,
          value: rest,
          unit: "B/event",
        },
        ...linesOf(`${of}, an archive beside`, archiving),
      ]
    } finally {
      for (const server of servers) await server.stop()
    }
  })

const linesOf = (bench: string, measured: ReadonlyArray<Measured<Round>>) => [
  lineOf(`${bench}: processor time`, "µs/event", measured, ({ costUs }) => costUs),
  lineOf(`${bench}: 99 % within`, "ms", measured, ({ report }) => report.whole.p99Ms),
  lineOf(`${bench}: 99.9 % within`, "ms", measured, ({ report }) => report.whole.p999Ms),
  lineOf(`${bench}: longest turn, processor time`, "ms", measured, (r) => r.turn.processorMs, {
    goal: "≤ 25 ms",
  }),
  lineOf(`${bench}: longest turn, wall clock`, "ms", measured, ({ turn }) => turn.clockMs),
  lineOf(`${bench}: longest stop of the load`, "ms", measured, (r) => r.report.longestPauseMs),
]

if (import.meta.main) for (const line of await steady()) console.log(formatLine(line))
