/**
 * Batches of many users beside batches of few of them, on the same server in the same run: what it
 * costs that a user was not used for a while. It flatters a server that moves work out of the
 * round, such as to a snapshot that is due later: a round ends with its last reply.
 */
import { fill } from "./fill.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { processorUs } from "./load/processorTime.ts"
import { wrk } from "./load/wrk.ts"
import type { BenchOptions, Variant } from "./options.ts"
import { lineOf } from "./rounds.ts"
import type { Subject } from "./Subject.ts"
import { alone, startVariant } from "./subjects.ts"

const events = 1_000
const connections = 4
const few = 5_000

interface Round {
  readonly manyUs: number
  readonly fewUs: number
}

/** Measures both lines; about five minutes for each server. */
export const crowd = async (options: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const { quick = false, variants = [] } = options
  const many = options.users ?? (quick ? 20_000 : 400_000)
  const seconds = options.seconds ?? (quick ? 1 : 10)
  const work = { kind: "event", events, minimal: true, connections } as const
  const subjects: Array<Subject> = []
  const answered = new Map<Subject, number>()
  const cost = async (subject: Subject, users: number): Promise<number> => {
    const before = processorUs(subject.roots)
    const { requests } = await wrk({ ...subject.answer, ...work, users, seconds })
    answered.set(subject, answered.get(subject)! + requests * events)
    return (processorUs(subject.roots) - before) / (requests * events)
  }
  try {
    const all: ReadonlyArray<Variant> = [{ name: "Laurel", settings: {} }, ...variants]
    const measured: Array<{ readonly subject: Subject; readonly rounds: Array<Round> }> = []
    for (const variant of all) {
      const subject = await startVariant(variant)
      subjects.push(subject)
      measured.push({ subject, rounds: [] })
      await fill(subject.answer, many)
      answered.set(subject, many)
    }
    let loops = 0
    // The first round warms up.
    for (let round = 0; round <= (quick ? 1 : 3); round++, loops += 2) {
      for (const { rounds, subject } of measured) {
        await alone(subject, subjects, async () => {
          const manyUs = await cost(subject, many)
          const fewUs = await cost(subject, few)
          if (round > 0) rounds.push({ manyUs, fewUs })
        })
      }
    }
    for (const subject of subjects) {
      await subject.check(answered.get(subject)!, loops * connections * events)
    }
    const ofMany = `batches of ${many.toLocaleString("en-US")} users`
    const ofFew = `${few.toLocaleString("en-US")} of them`
    return [
      lineOf(`${ofMany}: processor time`, "µs/event", measured, (round) => round.manyUs),
      lineOf(`batches of ${ofFew}: processor time`, "µs/event", measured, (round) => round.fewUs),
      lineOf(`${ofMany}: beside ${ofFew}`, "×", measured, (round) => round.manyUs / round.fewUs, {
        goal: "≤ 1.2×",
      }),
    ]
  } finally {
    for (const subject of subjects) await subject.stop()
  }
}

if (import.meta.main) for (const line of await crowd()) console.log(formatLine(line))
