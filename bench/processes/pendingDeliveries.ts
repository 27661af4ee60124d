/** Memory of pending deliveries: receivers answer 503 to everything, and events continue. */
import { Effect } from "effect"
import { answer } from "../children.ts"
import { randomEvent } from "../events.ts"
import { heapBytes } from "../heap.ts"
import { environment } from "../millionUsers.ts"
import { delivering, outcome, webhookTo } from "./deliveries.ts"

export interface PendingOptions {
  readonly directory: string
  readonly webhooks: number
  readonly events: number
}

export interface PendingReport {
  readonly pending: number
  /** Additional live bytes after garbage collection. */
  readonly bytes: number
}

const together = 1_000

await answer(({ directory, events, webhooks }: PendingOptions) =>
  delivering(
    directory,
    (_, settle) => setImmediate(() => settle(outcome(503))),
    ({ deliveries, engine }) =>
      Effect.gen(function* () {
        const track = Effect.gen(function* () {
          for (let sent = 0; sent < events; sent += together) {
            const messages = Array.from({ length: together }, () => {
              const { userId, ...event } = randomEvent(false)
              return { userId, command: { kind: "event" as const, ...event } }
            })
            yield* engine.askUsers(environment, messages)
          }
        })
        // The same events without webhooks, so that users and journal take their memory before.
        yield* track
        const made = Array.from({ length: webhooks }, (_, index) =>
          webhookTo(`https://receiver-${index}.example.com/`, "event.tracked"),
        )
        for (const webhook of made) yield* engine.askProject(environment, webhook)
        const before = heapBytes()
        yield* track
        const count = Effect.gen(function* () {
          let pending = 0
          for (const { webhook } of made) {
            const stats = yield* deliveries.stats(environment, webhook.id)
            pending += stats?.stored.pending ?? 0
          }
          return pending
        })
        let pending = 0
        while (pending < events * webhooks) {
          yield* Effect.sleep(100)
          pending = yield* count
        }
        return { pending, bytes: heapBytes() - before } satisfies PendingReport
      }),
  ),
)
