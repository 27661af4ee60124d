/** The disk space of an event once all of it is written, beside the peers. */
import { fill } from "./fill.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import type { BenchOptions } from "./options.ts"
import { lineOf } from "./rounds.ts"
import type { Stored } from "./Subject.ts"
import { bytesOnDisk, firstAnswerMs, withEachStored } from "./stored.ts"

const bytesAtRest = async (subject: Stored): Promise<number> => {
  await subject.settle()
  await subject.end("in order")
  const bytes = bytesOnDisk(subject)
  await firstAnswerMs(subject)
  return bytes
}

/** Measures the line; about four minutes with all peers. */
export const disk = async ({
  quick = false,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const users = quick ? 10_000 : 100_000
  const eventsOfUser = 3
  const measured = await withEachStored(async (subject) => {
    await subject.load(users)
    const before = await bytesAtRest(subject)
    for (let round = 0; round < eventsOfUser; round++) await fill(subject.answer, users)
    const bytes = (await bytesAtRest(subject)) - before
    await subject.check(users * (1 + eventsOfUser), 0)
    return { subject, rounds: [bytes / (users * eventsOfUser)] }
  })
  return [lineOf("disk: bytes of a further event at rest", "B", measured, (bytes) => bytes)]
}

if (import.meta.main) for (const line of await disk()) console.log(formatLine(line))
