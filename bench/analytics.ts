/**
 * What analytics cost: their part of an event, the counts over all users, the dashboard's overview with many users, and
 * ten experiments beside none.
 */
import { inProcess } from "./children.ts"
import { Visitor } from "./dashboard.ts"
import { lessonXp } from "./events.ts"
import { fill } from "./fill.ts"
import { type BenchLine, comparing, formatLine } from "./Line.ts"
import { checkTotal, type Laurel, startLaurel } from "./laurel.ts"
import { withTemporaryFolder } from "./millionUsers.ts"
import type { BenchOptions } from "./options.ts"
import type { AnalyticsOptions, AnalyticsReport } from "./processes/analytics.ts"
import { batchRounds, type Project } from "./projects.ts"
import { lineOf } from "./rounds.ts"
import { median } from "./statistics.ts"

const grouped = (count: number): string => count.toLocaleString("en-US")

const full: AnalyticsOptions = { users: 1_000_000, events: 200_000, rounds: 9 }
const quickly: AnalyticsOptions = { users: 20_000, events: 20_000, rounds: 3 }

/** Measures all lines. */
export const analytics = async ({
  quick = false,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const options = quick ? quickly : full
  const report = await inProcess<AnalyticsReport>("analytics", options)
  const part = comparing("analytics", "the whole event, without HTTP and disk")
  const count = comparing(`analytics of ${grouped(options.users)} users`, "a decode of every state")
  return [
    part("active days in an event", "µs", report.activityUs, report.eventUs, "≤ 0.03×"),
    part("the reach of a rule in an event", "µs", report.reachUs, report.eventUs, "≤ 0.03×"),
    ...report.counts.flatMap(({ ms, turnMs, what }) => [
      count(
        what,
        "ms",
        ms,
        report.decodeMs,
        what === "active users and retention" ? "≤ 1,000 ms" : undefined,
      ),
      comparing("analytics", "the whole")(`the longest turn of ${what}`, "ms", turnMs, ms),
    ]),
  ]
}

/* The overview. */

const place = "/dashboard/throwaway/sandbox"
const pageReads = 40

/** The time of each of some reads, one after the other. */
const latencies = async (read: () => Promise<unknown>): Promise<ReadonlyArray<number>> => {
  const all: Array<number> = []
  for (let n = 0; n < pageReads; n++) {
    const startedAt = performance.now()
    await read()
    all.push(performance.now() - startedAt)
  }
  return all
}

/** How long it takes until nothing is counted any more, from the first read on. */
const countedIn = async (request: Laurel["request"], address: string): Promise<number> => {
  const startedAt = performance.now()
  let counting = true
  while (counting) {
    const read = (await request(address)) as { counting: boolean; countedAt: string | null }
    counting = read.counting || read.countedAt === null
  }
  return performance.now() - startedAt
}

/** Measures all lines. */
export const overview = ({
  quick = false,
  users = quick ? 10_000 : 1_000_000,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> =>
  withTemporaryFolder(async (directory) => {
    const laurel = await startLaurel({ directory, settings: { LAUREL_DASHBOARD: "on" } })
    try {
      const visitor = new Visitor(laurel.answer.port)
      await visitor.setUp(directory)
      await fill(laurel.answer, users)
      const read = async (page: string) => (await visitor.get(page)).text()
      const startedAt = performance.now()
      await read(place)
      const firstMs = performance.now() - startedAt
      const cohortsMs = await countedIn(laurel.request, "/v1/analytics/retention?by=week")
      const line = comparing(`overview of ${grouped(users)} users`, "the list of projects")
      const reference = median(await latencies(() => read("/dashboard")))
      const lines = [line("the first read of the page", "ms", firstMs, reference)]
      for (const [name, page, goal] of [
        ["the page", place, "≤ 50 ms"],
        ["retention", `${place}/retention`, undefined],
        ["mechanics", `${place}/mechanics`, undefined],
      ] as const) {
        await read(page)
        lines.push(line(name, "ms", median(await latencies(() => read(page))), reference, goal))
      }
      lines.push(
        line("cohorts, from a read to the count", "ms", cohortsMs, reference, "≤ 1,000 ms"),
      )
      await checkTotal(laurel, users)
      return lines
    } finally {
      await laurel.stop()
    }
  })

/* Experiments. */

const addExperiments = async ({ request }: Laurel): Promise<void> => {
  const variants = ["control", "other"].map((key) => ({ key, weight: 1 }))
  for (let n = 0; n < 10; n++) await request("/v1/experiments", { name: `E ${n}`, variants })
}

const projects: ReadonlyArray<Project> = [
  { name: "no experiment", define: async () => {}, xp: lessonXp },
  { name: "ten experiments", define: addExperiments, xp: lessonXp },
]

/** Measures the line. */
export const experiments = async (
  options: BenchOptions = {},
): Promise<ReadonlyArray<BenchLine>> => {
  // A batch takes a second if the machine is busy.
  const [none, ten] = await batchRounds(projects, options, 5)
  const question = "batches, ten experiments that each user has entered: processor time"
  return [lineOf(question, "µs/event", [ten!, none!], ({ costUs }) => costUs, { goal: "≤ 1.1×" })]
}

if (import.meta.main) {
  for (const bench of [analytics, overview, experiments]) {
    for (const line of await bench()) console.log(formatLine(line))
  }
}
