/**
 * What an event costs in a project that uses many kinds of definitions, and in one that has them
 * unused, beside an event that only earns xp. The projects are on servers of their own, which are
 * measured in turn.
 */
import { lessonAction, lessonXp } from "./events.ts"
import { fill } from "./fill.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { checkTotal, type Laurel, startLaurel } from "./laurel.ts"
import type { BenchOptions } from "./options.ts"
import { answeredBy, type ClosedRound, closedRounds, lineOf, type Measured } from "./rounds.ts"
import type { Subject } from "./Subject.ts"

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

interface Project {
  readonly name: string
  readonly define: (laurel: Laurel) => Promise<void>
  /** Of an event. */
  readonly xp: number
}

const projects: ReadonlyArray<Project> = [
  { name: "events that only earn xp", define: async () => {}, xp: lessonXp },
  { name: "rich", define: addRich, xp: lessonXp * factor },
  { name: "unused definitions", define: addUnused, xp: lessonXp },
]

const start = async ({ define, name, xp }: Project): Promise<Subject> => {
  const laurel = await startLaurel()
  await define(laurel)
  return {
    ...laurel,
    name,
    roots: [laurel.pid],
    check: (answered, unread) => checkTotal(laurel, answered, unread, xp),
  }
}

/** Measures both lines; about four minutes. */
export const rich = async (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const { quick = false } = options
  const users = options.users ?? (quick ? 10_000 : 100_000)
  const seconds = options.seconds ?? (quick ? 1 : 10)
  const work = {
    kind: "event",
    minimal: true,
    users,
    seconds,
    connections: 4,
    events: 1_000,
  } as const
  const subjects: Array<Subject> = []
  try {
    for (const project of projects) subjects.push(await start(project))
    for (const { answer } of subjects) await fill(answer, users)
    const warmUp = await closedRounds(subjects, 1, work)
    const measured = await closedRounds(subjects, quick ? 1 : 3, work)
    for (const subject of subjects) {
      const { answered, unread } = answeredBy(subject, work, warmUp, measured)
      await subject.check(users + answered, unread)
    }
    const [plain, full, unused] = measured
    const line = (question: string, project: Measured<ClosedRound>, goal: string): BenchLine =>
      lineOf(question, "µs/event", [project, plain!], ({ costUs }) => costUs, { goal })
    return [
      line("batches, two currencies more, two metrics, a boost: processor time", full!, "≤ 1.5×"),
      line("batches, 250 unused definitions: processor time", unused!, "≤ 1.05×"),
    ]
  } finally {
    for (const subject of subjects) await subject.stop()
  }
}

if (import.meta.main) for (const line of await rich()) console.log(formatLine(line))
