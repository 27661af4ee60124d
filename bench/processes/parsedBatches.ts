/** What no server of batches can do without: parses their bytes and adds each event to its user in a Map. */
import { answer } from "../children.ts"
import { lessonXp, randomEvent } from "../events.ts"

export interface ParsedBatchesOptions {
  readonly eventsPerBatch: number
  readonly withIds: boolean
  readonly warmUpMs: number
  readonly measureMs: number
}

await answer(({ eventsPerBatch, measureMs, warmUpMs, withIds }: ParsedBatchesOptions) => {
  const bodies = Array.from({ length: 64 }, () => {
    const events = Array.from({ length: eventsPerBatch }, () => randomEvent(withIds))
    return Buffer.from(JSON.stringify({ events }))
  })
  const users = new Map<string, { xp: number; events: number }>()
  const parse = (body: Buffer): void => {
    const { events } = JSON.parse(body.toString()) as {
      readonly events: ReadonlyArray<{ readonly userId: string }>
    }
    for (const { userId } of events) {
      const user = users.get(userId)
      if (user === undefined) users.set(userId, { xp: lessonXp, events: 1 })
      else {
        user.xp += lessonXp
        user.events++
      }
    }
  }
  const runFor = (ms: number): number => {
    const startedAt = performance.now()
    let batches = 0
    let elapsedMs = 0
    while (elapsedMs < ms) {
      parse(bodies[batches++ % bodies.length]!)
      elapsedMs = performance.now() - startedAt
    }
    return (batches * eventsPerBatch * 1_000) / elapsedMs
  }
  runFor(warmUpMs)
  return { eventsPerSecond: runFor(measureMs) }
})
