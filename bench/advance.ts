/**
 * An advance of a sandbox's test clock that breaks the streaks of all its users: its cost, how long
 * it holds the event loop, and how late events of another project are meanwhile, beside the same
 * events without an advance.
 *
 * The cost includes the snapshots during the advance, which also write the events before it. The
 * load of the other project begins with the advance and ends with the first whole second
 * after it, so of a short advance the latencies have up to a second without it.
 */
import path from "node:path"
import { Effect } from "effect"
import { readServerFile } from "../src/cli/process/AdminRequest.ts"
import { fill } from "./fill.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import {
  checkTotal,
  createKey,
  type Laurel,
  lessonRule,
  requesting,
  startLaurel,
  totalXpOf,
} from "./laurel.ts"
import { processorUs } from "./load/processorTime.ts"
import { openLoop } from "./loads.ts"
import { type LongestTurn, longestTurn, longestTurnSettings } from "./longestTurn.ts"
import { withTemporaryFolder } from "./millionUsers.ts"
import type { BenchOptions } from "./options.ts"
import type { OpenLoadReport } from "./processes/openLoad.ts"
import { lineOf } from "./rounds.ts"

/** A streak of one day breaks at the second midnight after it. */
const days = 3
const dayMs = 86_400_000
const perSecond = 500
const connections = 300
const advanceSecondsMax = 240

/** An advance while nothing else is asked of the server. */
interface Advance {
  readonly ms: number
  readonly records: number
  readonly recordUs: number
  readonly turn: LongestTurn
}

interface Clock {
  readonly now: string
  readonly status: "ready" | "advancing"
}

/** Durable records since the data directory was created. */
const recordsIn = async (directory: string): Promise<number> => {
  const { adminUrl } = (await Effect.runPromise(readServerFile(directory)))!
  const text = await (await fetch(`${adminUrl}/metrics`)).text()
  return Number(/^laurel_journal_records_total (\d+)$/m.exec(text)![1])
}

/** Advances the clock by three days. A repeat of a target waits for its advance. */
const advanceClock = async ({ request }: Laurel): Promise<void> => {
  const { now } = (await request("/v1/test-clock")) as Clock
  const advanceTo = new Date(Date.parse(now) + days * dayMs).toISOString()
  const ask = async () => (await request("/v1/test-clock", { advanceTo })) as Clock
  while ((await ask()).status === "advancing");
}

/** Measures all lines; about three minutes. */
export const advance = ({ quick = false }: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (folder) => {
    const users = quick ? 2_000 : 100_000
    const rounds = quick ? 1 : 3
    const quietSeconds = quick ? 2 : 10
    const directory = path.join(folder, "data")
    const file = path.join(folder, "turn")
    const laurel = await startLaurel({ directory, settings: longestTurnSettings(file) })
    const roots = [laurel.pid]
    try {
      await laurel.request("/v1/streaks", { key: "daily", name: "Daily" })
      const other = {
        ...laurel.answer,
        key: await createKey(directory, "other", { scope: "full" }),
      }
      const requestOther = requesting(`http://127.0.0.1:${other.port}`, other.key)
      await requestOther("/v1/rules", lessonRule)
      let fills = 0
      let answered = 0
      /** Gives each user a streak of a day. */
      const begin = async () => {
        await fill(laurel.answer, users)
        fills++
      }
      const load = async (measureSeconds: number, over?: Promise<unknown>) => {
        const rate = { perSecond, connections, warmUpSeconds: 0, measureSeconds }
        const report = await openLoop(other, rate, over)
        if (report.broken > 0) throw new Error(`${report.broken} connections broke`)
        answered += report.acceptedInAll
        return report
      }
      const advanceAlone = async (): Promise<Advance> => {
        await begin()
        await longestTurn(laurel, file)
        const before = { records: await recordsIn(directory), us: processorUs(roots) }
        const startedAt = performance.now()
        await advanceClock(laurel)
        const ms = performance.now() - startedAt
        const us = processorUs(roots) - before.us
        const records = (await recordsIn(directory)) - before.records
        if (records < users) throw new Error(`${records} records of ${users} broken streaks`)
        return { ms, records, recordUs: us / records, turn: await longestTurn(laurel, file) }
      }
      const loadBeside = async () => {
        await begin()
        const advancing = advanceClock(laurel)
        const report = await load(advanceSecondsMax, advancing)
        await advancing
        return report
      }

      // Warms up: the code of the server, and the users of the other project.
      await load(quietSeconds)
      await advanceAlone()
      const advances: Array<Advance> = []
      const quiet: Array<OpenLoadReport> = []
      const beside: Array<OpenLoadReport> = []
      for (let round = 0; round < rounds; round++) {
        advances.push(await advanceAlone())
        quiet.push(await load(quietSeconds))
        beside.push(await loadBeside())
      }
      await checkTotal(laurel, fills * users)
      await checkTotal({ totalXp: () => totalXpOf(requestOther) }, answered)
      return [...costLines(users, advances), ...loadLines(users, beside, quiet)]
    } finally {
      await laurel.stop()
    }
  })

const benchOf = (users: number): string =>
  `an advance of ${days} days, ${users.toLocaleString("en-US")} streaks break`

const costLines = (users: number, rounds: ReadonlyArray<Advance>): ReadonlyArray<BenchLine> => {
  const line = (
    question: string,
    unit: string,
    pick: (round: Advance) => number,
    more: { readonly goal?: string } = {},
  ) =>
    lineOf(
      `${benchOf(users)}: ${question}`,
      unit,
      [{ subject: { name: "Laurel" }, rounds }],
      pick,
      more,
    )
  return [
    line("processor time", "µs/record", ({ recordUs }) => recordUs),
    line("records", "records", ({ records }) => records),
    line("until it is ready", "ms", ({ ms }) => ms),
    line("longest turn, processor time", "ms", ({ turn }) => turn.processorMs, { goal: "≤ 25 ms" }),
    line("longest turn, wall clock", "ms", ({ turn }) => turn.clockMs),
  ]
}

/** Of events of another project, beside an advance and without. */
const loadLines = (
  users: number,
  beside: ReadonlyArray<OpenLoadReport>,
  quiet: ReadonlyArray<OpenLoadReport>,
): ReadonlyArray<BenchLine> => {
  const measured = [
    { subject: { name: "Laurel" }, rounds: beside },
    { subject: { name: "without an advance" }, rounds: quiet },
  ]
  const line = (
    question: string,
    unit: string,
    pick: (round: OpenLoadReport) => number,
    more: { readonly goal?: string } = {},
  ) => lineOf(`${benchOf(users)}: ${question}`, unit, measured, pick, more)
  return [
    line(
      `99 % of another project's ${perSecond} events/s within`,
      "ms",
      ({ whole }) => whole.p99Ms,
      { goal: "≤ 2×" },
    ),
    line("the longest of them", "ms", ({ whole }) => whole.maxMs),
    line("their share refused or not sent", "%", (r) => (1 - r.accepted / r.offered) * 100),
    line("longest stop of the load", "ms", ({ longestPauseMs }) => longestPauseMs),
  ]
}

if (import.meta.main) for (const line of await advance()) console.log(formatLine(line))
