/**
 * A generated year of a product (`test/http/year/Plan.ts`): imported, then lived through by a test
 * clock. Each figure of analytics, experiments and recaps must equal the construction, also after a
 * restart, or the bench fails. Measures what the events cost, and how long the figures take.
 */
import { compare, type Differences } from "../test/http/year/compare.ts"
import { Expected } from "../test/http/year/Expected.ts"
import { type Plan, planOf } from "../test/http/year/Plan.ts"
import { baseAfter, type Call, endOf, play } from "../test/http/year/play.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { type Laurel, startLaurel } from "./laurel.ts"
import { processorUs } from "./load/processorTime.ts"
import { withTemporaryFolder } from "./millionUsers.ts"
import type { BenchOptions } from "./options.ts"
import { median } from "./statistics.ts"

/** 100,000 users in all: those of the second experiment are twice as many as of a variant of the first. */
const large = { users: 80_000, perVariant: 5_000, few: 50, zoneShare: 0.05 }
const small = { users: 1_100, perVariant: 200, few: 8, zoneShare: 0.3 }
const recaps = 200
const reads = 20

const paths = (base: string): ReadonlyArray<readonly [name: string, path: string]> => [
  ["active users of 30 days", "/v1/analytics/activity"],
  ["retention by week and its curve", "/v1/analytics/retention?by=week"],
  ["all mechanics", "/v1/analytics/mechanics?days=90"],
  ["an experiment, its metric", `${base}?metric=lessons`],
  ["an experiment, retention", `${base}?retention=D7`],
  ["the recap of the year", "/v1/recap"],
]

/** Sends again what met a connection that was just closed: every request of the year is safe to repeat. */
const patiently = async (url: string, request: RequestInit): Promise<Response> => {
  for (let left = 3; ; left--) {
    try {
      return await fetch(url, request)
    } catch (error) {
      if (left === 0) throw error
    }
  }
}

const callingTo =
  ({ answer: { key, port } }: Laurel): Call =>
  async (method, path, body) => {
    const response = await patiently(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        ...(path.startsWith("/v1/events/") && { prefer: "return=minimal" }),
      },
    })
    const text = await response.text()
    if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === "" ? undefined : JSON.parse(text)
  }

/** Time of the clock and of the processors, in milliseconds. */
class Meter {
  readonly #roots: ReadonlyArray<number>
  #at = performance.now()
  #us: number

  constructor({ pid }: Laurel) {
    this.#roots = [pid]
    this.#us = processorUs(this.#roots)
  }

  /** Since the last lap. */
  lap(): { readonly ms: number; readonly processorMs: number } {
    const [at, us] = [performance.now(), processorUs(this.#roots)]
    const lap = { ms: at - this.#at, processorMs: (us - this.#us) / 1_000 }
    this.#at = at
    this.#us = us
    return lap
  }
}

const check = (when: string, { compared, found }: Differences): void => {
  console.error(`${when}: ${compared} figures compared, ${found.length} differ`)
  if (found.length > 0) throw new Error(found.slice(0, 20).join("\n"))
}

/** Plays the plan; the lines say what its events cost. */
const played = async (laurel: Laurel, plan: Plan): Promise<ReadonlyArray<BenchLine>> => {
  const imported = plan.acts.filter(({ sent }) => sent < 0).length
  const lines: Array<BenchLine> = []
  const meter = new Meter(laurel)
  const line = (what: string, events: number) => {
    const { ms, processorMs } = meter.lap()
    lines.push(
      { question: `year: ${what}, events`, value: events, unit: "events" },
      { question: `year: ${what}`, value: ms / 1_000, unit: "s" },
      {
        question: `year: ${what}: processor time, all threads`,
        value: (processorMs * 1_000) / events,
        unit: "µs/event",
      },
    )
  }
  await play(callingTo(laurel), plan, (what) => {
    if (what === "history") line("import of 270 days", imported)
    else if (what.endsWith("0")) console.error(what)
  })
  line("95 days with ticks and a look at each user", plan.acts.length - imported)
  return lines
}

/** The first read of each figure, which counts all users, and later ones. */
const timed = async (laurel: Laurel): Promise<ReadonlyArray<BenchLine>> => {
  const call = callingTo(laurel)
  const lines: Array<BenchLine> = []
  for (const [name, path] of paths("/v1/experiments/year/results")) {
    const meter = new Meter(laurel)
    await call("GET", path)
    const { ms, processorMs } = meter.lap()
    const again: Array<number> = []
    for (let n = 0; n < reads; n++) {
      const began = performance.now()
      await call("GET", path)
      again.push(performance.now() - began)
    }
    lines.push(
      { question: `year: ${name}, first read`, value: ms, unit: "ms" },
      { question: `year: ${name}, first read: processor time`, value: processorMs, unit: "ms" },
      {
        question: `year: ${name}, read again`,
        value: median(again),
        unit: "ms",
        rounds: again,
        goal: "≤ 50 ms",
      },
    )
  }
  return lines
}

/** Measures all lines; about ten minutes. */
export const year = ({ quick = false }: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (directory) => {
    const seed = Number(process.env.LAUREL_TEST_SEED ?? Math.floor(Math.random() * 2 ** 32))
    const first = await startLaurel({ directory })
    let laurel = first
    try {
      const { now } = await callingTo(laurel)("GET", "/v1/test-clock")
      const base = baseAfter(Date.parse(now))
      const plan = planOf(seed, base, quick ? small : large)
      const expected = new Expected(plan, endOf(base))
      console.error(`LAUREL_TEST_SEED=${seed}: ${plan.people.size} ids, ${plan.acts.length} events`)
      const lines = [...(await played(laurel, plan)), ...(await timed(laurel))]
      for (const line of lines) console.error(formatLine(line))
      check("after the year", await compare(callingTo(laurel), expected, recaps))
      await laurel.stop()
      laurel = await startLaurel({ directory })
      check("after a restart", await compare(callingTo(laurel), expected, recaps))
      return lines
    } finally {
      await laurel.stop()
    }
  })

if (import.meta.main) {
  const quick = process.argv.includes("--quick")
  for (const line of await year({ quick })) console.log(formatLine(line))
}
