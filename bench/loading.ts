/**
 * Loading new users, each server by its best way, and how soon it answers after it was ended,
 * beside the peers.
 */
import { fill } from "./fill.ts"
import { type BenchLine, formatLine } from "./Line.ts"
import { processorUs } from "./load/processorTime.ts"
import type { BenchOptions } from "./options.ts"
import { lineOf } from "./rounds.ts"
import { firstAnswerMs, withEachStored } from "./stored.ts"

/** Measures all lines; about eight minutes with all peers. */
export const loading = async ({
  quick = false,
}: BenchOptions = {}): Promise<ReadonlyArray<BenchLine>> => {
  const users = quick ? 20_000 : 1_000_000
  // Before the kill, so that some events are in no snapshot.
  const late = quick ? 10_000 : 100_000
  const measured = await withEachStored(async (subject) => {
    const before = processorUs(subject.roots)
    const startedAt = performance.now()
    const refused = await subject.load(users)
    const seconds = (performance.now() - startedAt) / 1_000
    const costUs = (processorUs(subject.roots) - before) / users
    await subject.check(users, 0)
    await subject.end("in order")
    const orderlyMs = await firstAnswerMs(subject)
    await fill(subject.answer, late)
    await subject.end("killed")
    const killedMs = await firstAnswerMs(subject)
    // PostgreSQL and Redis `always` lose nothing; `everysec` may lose the last second.
    const lost = subject.name.endsWith("everysec") ? late : 0
    await subject.check(users + late - lost, lost)
    return {
      subject,
      rounds: [{ costUs, perSecond: users / seconds, refused, orderlyMs, killedMs }],
    }
  })
  const count = users.toLocaleString("en-US")
  return [
    lineOf(`loading ${count} new users: processor time`, "µs/user", measured, (r) => r.costUs),
    lineOf(`loading ${count} new users: rate`, "/s", measured, (r) => r.perSecond),
    lineOf(`loading ${count} new users: batches refused`, "batches", measured, (r) => r.refused, {
      goal: "0",
    }),
    lineOf(`restart with ${count} users: first answer after`, "ms", measured, (r) => r.orderlyMs),
    lineOf(`restart after a kill: first answer after`, "ms", measured, (r) => r.killedMs),
  ]
}

if (import.meta.main) for (const line of await loading()) console.log(formatLine(line))
