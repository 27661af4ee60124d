/**
 * What an event costs in a project that uses many kinds of definitions, and in one that has them
 * unused, beside an event that only earns xp. The projects are on servers of their own, which are
 * measured in turn.
 */
import { lessonAction, lessonXp } from "./events.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import type { Laurel } from "./laurel.ts"
import type { BenchOptions } from "./options.ts"
import { batchRounds, type Project } from "./projects.ts"
import { type ClosedRound, lineOf, type Measured } from "./rounds.ts"

const dayMs = 86_400_000
/** Factor of the boost of the rich project. */
const factor = 2

/** Each event changes two further currencies and two metrics, and a boost multiplies its xp. */
const addRich = async ({ request }: Laurel): Promise<void> => {
  for (const key of ["gems", "coins"]) {
    await request("/v1/currencies", { key, name: key, spendable: true })
  }
  await request("/v1/rules", {
    action: lessonAction,
    reward: { currencies: { gems: 1, coins: 2 } },
  })
  const actions = [lessonAction]
  await request("/v1/metrics", { name: "Lessons", aggregate: "count", actions })
  await request("/v1/metrics", {
    name: "Seconds",
    aggregate: "sum",
    actions,
    value: "durationSeconds",
  })
  await request("/v1/boosts", { name: "Happy year", currencies: ["xp"], factor })
}

/** Definitions that no event uses, as many as an environment may have. */
const addUnused = async ({ request }: Laurel): Promise<void> => {
  const conditions = [{ kind: "level", op: "gte", value: 2 }]
  const startsAt = new Date(Date.now() + 30 * dayMs).toISOString()
  for (let n = 0; n < 100; n++) {
    await request("/v1/metrics", { name: `M ${n}`, aggregate: "count", actions: [`OTHER_${n}`] })
    await request("/v1/segments", { name: `S ${n}`, match: "all", conditions })
  }
  for (let n = 0; n < 50; n++) {
    await request("/v1/boosts", { name: `B ${n}`, currencies: ["xp"], factor, startsAt })
  }
}

const projects: ReadonlyArray<Project> = [
  { name: "events that only earn xp", define: async () => {}, xp: lessonXp },
  { name: "rich", define: addRich, xp: lessonXp * factor },
  { name: "unused definitions", define: addUnused, xp: lessonXp },
]

/** Measures both lines; about four minutes. */
export const rich = async (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const [plain, full, unused] = await batchRounds(projects, options, 1)
  const line = (question: string, project: Measured<ClosedRound>, goal: string): BenchLine =>
    lineOf(question, "µs/event", [project, plain!], ({ costUs }) => costUs, { goal })
  return [
    line("batches, two currencies more, two metrics, a boost: processor time", full!, "≤ 1.5×"),
    line("batches, 250 unused definitions: processor time", unused!, "≤ 1.05×"),
  ]
}

if (import.meta.main) for (const line of await rich()) console.log(formatLine(line))
