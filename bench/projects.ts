/** The cost of events in different projects, each on a server of its own; the servers are measured in turn. */
import { fill } from "./fill.ts"
import { checkTotal, type Laurel, startLaurel } from "./laurel.ts"
import type { BenchOptions } from "./options.ts"
import { answeredBy, type ClosedRound, closedRounds, type Measured } from "./rounds.ts"
import type { Subject } from "./Subject.ts"

export interface Project {
  readonly name: string
  readonly define: (laurel: Laurel) => Promise<void>
  /** Of an event. */
  readonly xp: number
}

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

/** Rounds of batches in each project. `quickSeconds`: of a round of a quick run. */
export const batchRounds = async (
  projects: ReadonlyArray<Project>,
  options: BenchOptions,
  quickSeconds: number,
): Promise<ReadonlyArray<Measured<ClosedRound>>> => {
  const { quick = false } = options
  const users = options.users ?? (quick ? 10_000 : 100_000)
  const seconds = options.seconds ?? (quick ? quickSeconds : 10)
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
    return measured
  } finally {
    for (const subject of subjects) await subject.stop()
  }
}
