import type { Event } from "../generated/types.ts"

/** An event with its id. The server treats a second event with the same id as a duplicate. */
export interface QueuedEvent extends Event {
  readonly id: string
}

/** A stored event. Later events have larger keys. */
export interface QueueEntry {
  readonly key: number
  readonly event: QueuedEvent
}

/**
 * Stores the events of a queue until the server has them. Each promise resolves when the operation
 * is durable and rejects with the error of the storage. Implement it for platforms without
 * IndexedDB:
 *
 * ```ts
 * const storage: QueueStorage = {
 *   add: (event) => db.run("INSERT INTO queue (event) VALUES (?)", JSON.stringify(event)),
 *   first: async (count) =>
 *     (await db.all("SELECT key, event FROM queue ORDER BY key LIMIT ?", count)).map(
 *       ({ event, key }) => ({ key, event: JSON.parse(event) }),
 *     ),
 *   remove: (keys) => db.run(`DELETE FROM queue WHERE key IN (${keys.join()})`),
 * }
 * ```
 */
export interface QueueStorage {
  /** Appends the event. Rejects if there is no space. */
  add(event: QueuedEvent): Promise<unknown>
  /** Resolves with the oldest entries, oldest first, at most `count`. */
  first(count: number): Promise<ReadonlyArray<QueueEntry>>
  /** Removes the entries with these keys; ignores unknown keys. */
  remove(keys: ReadonlyArray<number>): Promise<unknown>
}

/** The maximum number of events in a queue. */
export const eventsMax = 10_000

/** The error that browsers throw when their storage is full. */
export const queueFull = (): Error =>
  Object.assign(new Error("Queue full"), { name: "QuotaExceededError" })
