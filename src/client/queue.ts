import { type EventQueue, makeQueue, type QueueOptions } from "./queue/EventQueue.ts"
import { indexedDbStorage } from "./queue/IndexedDbStorage.ts"
import type { QueueStorage } from "./queue/QueueStorage.ts"

export type { EventQueue, QueueOptions } from "./queue/EventQueue.ts"
export type { QueuedEvent, QueueEntry, QueueStorage } from "./queue/QueueStorage.ts"

/**
 * Starts a queue that keeps events in `storage` and sends them: at once, when the network is back,
 * and after failures with growing pauses of at most a minute. Each event counts once, whatever
 * fails in between. Default of `storage`: IndexedDB, which only browsers have.
 *
 * ```ts
 * const queue = createQueue({ laurel, onRefused: (event, { code }) => report(event, code) })
 * await queue.add({ userId: "ada", action: "LESSON_DONE" }) // resolves once the event is stored
 * ```
 */
export const createQueue = ({
  name = "laurel",
  storage = indexedDbStorage(name),
  ...options
}: QueueOptions & { readonly storage?: QueueStorage }): EventQueue =>
  makeQueue(storage, { ...options, name })
